/* Fills a store with a generated day (store/model.h) and asks it questions: one engine a run, for bench/store.sh, which compares them.
 *
 *   store run ENGINE SIZE HOURS DIR [LIBRARY|MEMORY]     prints "key value" lines; SIZE: also the path of a recording, from / on
 *   store ask …                                          the same of what `run` left in DIR
 *   store agents|kept DIR MEMORY                         fills ours with messages of single agents (store/agents.h): "agents ROWS CLOCK CPU";
 *                                                        kept: agents that keep their profiles
 *   store folded SIZE ROWS                               rows with whole stacks as text, tab-separated
 *
 * Lines: `stacks`; `hour ROWS CLOCK CPU`: what adding took in the hour that is asked for, seconds on the clock and of CPU time, in batches of 100 s;
 * `others …`: the same of the other hours, in the engine's batches; `finish CPU`; `QUESTION N SUM CHECK FIRST BEST GROWN`: the answer, seconds of CPU
 * time the first time and the best of the next ones, bytes that the process grew by when it was asked once more. */
#include "store/agents.h"
#include "store/engine.h"

#include "base/clock.h"
#include "base/mem.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_WINDOWS = 10, ROUNDS = 4, MOST_ROUNDS = 50, MIDDLE_HOUR_OF_24 = 14, SOME_HOURS = 3 };
/* Questions that take less altogether are asked more often: a moment of others' work does not count then. */
#define SHORT_S 1.0
/* The counted ones are more than an hour: what an hour's end brings is among them. */
enum { AGENT_ROUNDS_BEFORE = 60, AGENT_ROUNDS = 380 };

static const struct engine_ops *const engines[] = { &naive_engine, &sqlite_engine, &duckdb_engine,
						    &our_engine };

static double cpu_seconds_since(uint64_t start_ns)
{
	return (clock_cpu_ns() - start_ns) / 1e9;
}

/* --- memory ---
 */

static uint64_t status_bytes(const char *field)
{
	char line[256];
	unsigned long long kib = 0;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, field, strlen(field)))
			kib = strtoull(line + strlen(field), NULL, 10);
	if (f)
		fclose(f);
	return kib << 10;
}

/* The peak is counted from now on. */
static uint64_t restart_peak(void)
{
	FILE *f = fopen("/proc/self/clear_refs", "w");
	if (f) {
		fputs("5\n", f);
		fclose(f);
	}
	return status_bytes("VmRSS:");
}

/* --- one engine ---
 */

static struct asked what_to_ask(const struct model *m)
{
	uint32_t windows = model_windows(m), hour = 3600 / MODEL_WINDOW_S;
	uint32_t from = windows / hour * MIDDLE_HOUR_OF_24 / 24 * hour;
	uint32_t some = from >= 2 * hour ? from - 2 * hour : 0;
	return (struct asked){
		.series = 0, /* the busiest of its node */
		.from = from,
		.to = from + hour,
		.some_from = some,
		.some_to = some + SOME_HOURS * hour < windows ? some + SOME_HOURS * hour : windows,
		.word = model_word(m),
	};
}

static uint64_t *make_name_keys(const struct model *m)
{
	char name[MODEL_NAME_BYTES], binary[MODEL_NAME_BYTES], file[MODEL_NAME_BYTES];
	uint64_t *keys = xcalloc(model_functions(m), sizeof *keys);
	for (uint32_t i = 0; i < model_functions(m); i++)
		keys[i] = name_key(model_function_name(m, i, name),
				   model_binary_name(m, model_function_binary(m, i), binary),
				   model_file_name(m, i, file));
	return keys;
}

/* What adding took. */
struct added {
	uint64_t rows, clock_ns, cpu_ns;
};

static void put_added(const char *what, const struct added *a)
{
	printf("%s %llu %.3f %.3f\n", what, (unsigned long long)a->rows, a->clock_ns / 1e9,
	       a->cpu_ns / 1e9);
	fflush(stdout);
}

static void add(const struct engine_ops *ops, void *engine, const model_rows *rows, struct added *a)
{
	if (ops->prepare)
		ops->prepare(engine, rows->v, rows->n);
	uint64_t start_ns = clock_mono_ns(), start_cpu_ns = clock_cpu_ns();
	ops->add(engine, rows->v, rows->n);
	a->clock_ns += clock_mono_ns() - start_ns;
	a->cpu_ns += clock_cpu_ns() - start_cpu_ns;
	a->rows += rows->n;
}

/* The next batch ends where the hour begins or ends. */
static uint32_t windows_at(const struct engine_ops *ops, const struct asked *asked, uint32_t at)
{
	if (at >= asked->from && at < asked->to)
		return BATCH_WINDOWS;
	uint32_t left = at < asked->from ? asked->from - at : UINT32_MAX;
	return left < ops->batch_windows ? left : ops->batch_windows;
}

/* has_all: the engine has the rows already; only the model has to know its stacks. */
static void fill(const struct engine_ops *ops, void *engine, struct model *m,
		 const struct asked *asked, bool has_all)
{
	model_rows rows = { 0 };
	struct added others = { 0 }, hour = { 0 };
	for (uint32_t at = 0; model_next(m, windows_at(ops, asked, at), &rows);
	     at = model_window(m)) {
		bool in_hour = at >= asked->from && at < asked->to;
		bool is_some = at >= asked->some_from && at < asked->some_to;
		if (!has_all && (!ops->only_some || is_some))
			add(ops, engine, &rows, in_hour ? &hour : &others);
	}
	vec_done(&rows);
	printf("stacks %u\n", model_stacks(m));
	put_added("hour", &hour);
	put_added("others", &others);
	uint64_t start_ns = clock_cpu_ns();
	if (ops->finish && !has_all)
		ops->finish(engine);
	printf("finish %.3f\n", cpu_seconds_since(start_ns));
	fflush(stdout);
}

/* Once more, without a look at the time: memory that was given back before is not warm. */
static int64_t ask_for_memory(const struct engine_ops *ops, void *engine, enum question q, int way)
{
	if (ops->forget)
		ops->forget(engine);
	malloc_trim(0);
	uint64_t before = restart_peak();
	ops->ask(engine, q, way);
	return status_bytes("VmHWM:") - before;
}

static void put_question(const struct engine_ops *ops, void *engine, enum question q, int way)
{
	struct answer answer = { 0 };
	double first = 0, best = 1e9, spent = 0;
	for (int i = 0; i < ROUNDS || (spent < SHORT_S && i < MOST_ROUNDS); i++) {
		if (ops->forget)
			ops->forget(engine);
		uint64_t start_ns = clock_cpu_ns();
		if (!ops->ask(engine, q, way))
			return;
		double s = cpu_seconds_since(start_ns);
		spent += s;
		if (i == 0)
			first = s;
		else
			best = s < best ? s : best;
	}
	int64_t grown = ask_for_memory(ops, engine, q, way);
	ops->answer(engine, q, &answer);
	printf("%s%s %llu %lld %llu %.6f %.6f %lld\n", way ? ops->other_way : "", question_names[q],
	       (unsigned long long)answer.n, (long long)answer.sum,
	       (unsigned long long)answer.check, first, best, (long long)grown);
	fflush(stdout);
}

static int run(const struct engine_ops *ops, bool has_all, char **args, int n)
{
	struct model_opts model_opts = { .size = atof(args[0]),
					 .hours = atol(args[1]),
					 .recording = *args[0] == '/' ? args[0] : NULL,
					 .seed = 1 };
	struct model *m = model_new(&model_opts);
	uint64_t *name_keys = make_name_keys(m);
	struct engine_opts opts = { .m = m,
				    .name_keys = name_keys,
				    .asked = what_to_ask(m),
				    .has_all = has_all,
				    .dir = args[2],
				    .last = n > 3 ? args[3] : "" };
	void *engine = ops->open(&opts);
	fill(ops, engine, m, &opts.asked, has_all);
	for (int way = 0; way < ENGINE_WAYS && (!way || ops->other_way); way++)
		for (int q = 0; q < QUESTIONS; q++)
			put_question(ops, engine, q, way);
	if (ops->report)
		ops->report(engine);
	ops->close(engine);
	model_free(m);
	free(name_keys);
	return 0;
}

/* --- rows as text ---
 */

static void put_folded(const struct model *m, const struct model_row *r)
{
	char name[MODEL_NAME_BYTES];
	uint32_t n, pool = model_series_pool(r->series);
	const uint32_t *frames = model_stack_frames(m, r->stack, &n);
	printf("node-%02u\t%s\t%u\t%lld\t", model_series_node(r->series),
	       model_program_name(pool / MODEL_TYPES, name), pool % MODEL_TYPES,
	       MODEL_START_NS / 1000000000 + r->window * MODEL_WINDOW_S);
	for (uint32_t i = 0; i < n; i++)
		printf("%s%s", i ? ";" : "",
		       model_function_name(m, frames[i] / MODEL_FRAMES_PER_FUNCTION, name));
	printf("\t%lld\n", (long long)r->value);
}

static int folded(double size, uint64_t n)
{
	struct model_opts opts = { .size = size, .hours = 24, .seed = 1 };
	struct model *m = model_new(&opts);
	model_rows rows = { 0 };
	while (n && model_next(m, 1, &rows))
		for (size_t i = 0; n && i < rows.n; i++, n--)
			put_folded(m, &rows.v[i]);
	vec_done(&rows);
	model_free(m);
	return fflush(stdout) ? 1 : 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "folded"))
		return folded(atof(argv[2]), strtoull(argv[3], NULL, 10));
	bool keep = argc == 4 && !strcmp(argv[1], "kept");
	if (argc == 4 && (keep || !strcmp(argv[1], "agents"))) {
		agents_run(argv[2], strtoull(argv[3], NULL, 10) << 20, keep, AGENT_ROUNDS_BEFORE,
			   AGENT_ROUNDS);
		return 0;
	}
	for (size_t i = 0; argc >= 6 && i < sizeof engines / sizeof *engines; i++)
		if (!strcmp(argv[2], engines[i]->name))
			return run(engines[i], !strcmp(argv[1], "ask"), argv + 3, argc - 3);
	fprintf(stderr, "usage: store run|ask ENGINE SIZE HOURS DIR [LIBRARY|MEMORY]\n"
			"       store agents|kept DIR MEMORY\n"
			"       store folded SIZE ROWS\n");
	return 2;
}
