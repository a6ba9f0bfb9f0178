/* Our store, by its library: batches are profiles with a dictionary of their own, as they come from the network, so that resolving stacks,
 * names and series is part of adding them. What store_maintain does meanwhile is, too: a tenth of a second of it at most for each batch. */
#include "engine.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "profile/tree/tree_stacks.h"
#include "profile/tree/tree_sums.h"
#include "store/codec/store.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WINDOW_NS      (MODEL_WINDOW_S * 1000000000ll)
#define MAINTENANCE_NS 100000000ll
/* When nothing of the day is young any more. */
#define LATER_NS       (3 * 86400000000000ll)

/* Of the rows of one dictionary, by stack. */
struct row_totals {
	const struct profile *dict;
	VEC(int64_t) by_stack;
};
struct ours {
	struct engine_opts opts;
	struct store *store;
	struct model_writer *writer;
	struct profile *batch; /* prepared */
	int64_t now_ns;        /* of the store's clock */
	uint64_t ingest_ns, maintain_ns, bytes_before;
	uint64_t tree_ns; /* the best of the trees of everything, without what is merged for them */
	/* The last answer. */
	struct store_view *view;
	struct store_merged merged, older;
	struct tree *tree;
	int64_t *steps;
	VEC(struct row_totals) totals;
};

static void check(int rc, const struct err *err)
{
	if (rc < 0)
		bench_fail("%s", err->text);
}

/* --- a life ---
 */

static int64_t now_ns(void *ctx)
{
	return ((struct ours *)ctx)->now_ns;
}

static void *open_engine(const struct engine_opts *opts)
{
	struct ours *e = xcalloc(1, sizeof *e);
	struct err err = { 0 };
	e->opts = *opts;
	e->now_ns = MODEL_START_NS + (opts->has_all ? LATER_NS : 0);
	e->writer = model_writer_new(opts->m);
	char *dir = xasprintf("%s/store", opts->dir);
	struct store_opts store_opts = { .memory_bytes = strtoull(opts->last, NULL, 10) << 20,
					 .disk_bytes = 100ull << 30,
					 .now_ns = now_ns,
					 .ctx = e };
	check(store_open(dir, &store_opts, &e->store, &err), &err);
	free(dir);
	return e;
}

static void forget(void *engine)
{
	struct ours *e = engine;
	store_merged_done(&e->merged);
	store_merged_done(&e->older);
	tree_free(e->tree);
	free(e->steps);
	e->tree = NULL;
	e->steps = NULL;
	for (size_t i = 0; i < e->totals.n; i++)
		vec_done(&e->totals.v[i].by_stack);
	vec_done(&e->totals);
	store_view_close(e->view);
	e->view = NULL;
}

static void close_engine(void *engine)
{
	struct ours *e = engine;
	struct err err = { 0 };
	forget(e);
	if (e->store)
		check(store_close(e->store, &err), &err);
	profile_free(e->batch);
	model_writer_free(e->writer);
	free(e);
}

static void prepare(void *engine, const struct model_row *rows, size_t n)
{
	struct ours *e = engine;
	profile_free(e->batch);
	e->batch = model_write_profile(e->writer, rows, n);
	e->now_ns = MODEL_START_NS + (rows[n - 1].window + 1) * WINDOW_NS;
}

static void add(void *engine, const struct model_row *rows, size_t n)
{
	struct ours *e = engine;
	struct err err = { 0 };
	bool duplicate;
	struct store_batch batch = { .p = e->batch };
	(void)rows;
	(void)n;
	uint64_t start_ns = clock_mono_ns();
	check(store_ingest(e->store, &batch, 1, &duplicate, &err), &err);
	uint64_t middle_ns = clock_mono_ns();
	check(store_maintain(e->store, MAINTENANCE_NS, &err), &err);
	e->ingest_ns += middle_ns - start_ns;
	e->maintain_ns += clock_mono_ns() - middle_ns;
}

/* Everything that time brings. */
static void finish(void *engine)
{
	struct ours *e = engine;
	struct err err = { 0 };
	int rc;
	profile_free(e->batch);
	e->batch = NULL;
	e->now_ns = MODEL_START_NS + LATER_NS;
	while ((rc = store_maintain(e->store, MAINTENANCE_NS, &err)) > 0)
		;
	check(rc, &err);
}

/* --- bytes ---
 */

static uint64_t bytes_in(const char *dir, const char *part_of_name)
{
	uint64_t sum = 0;
	struct dirent *entry;
	struct stat st;
	DIR *d = opendir(dir);
	while (d && (entry = readdir(d))) {
		char *path = xasprintf("%s/%s", dir, entry->d_name);
		if (strstr(entry->d_name, part_of_name) && !stat(path, &st) && S_ISREG(st.st_mode))
			sum += st.st_size;
		free(path);
	}
	if (d)
		closedir(d);
	return sum;
}

static void report(void *engine)
{
	struct ours *e = engine;
	struct err err = { 0 };
	forget(e);
	check(store_close(e->store, &err), &err); /* logs become part of their files */
	e->store = NULL;
	static const char *const kinds[][2] = { { "store", "inbox" },   { "store", "meta" },
						{ "store", "names" },   { "store/p", "" },
						{ "store/p", ".det." }, { "store/hot", "" } };
	static const char *const names[] = {
		"inbox", "catalog", "names", "parts", "detail", "hot"
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *dir = xasprintf("%s/%s", e->opts.dir, kinds[i][0]);
		printf("%s_bytes %llu\n", names[i], (unsigned long long)bytes_in(dir, kinds[i][1]));
		free(dir);
	}
	printf("tree_alone %.6f\n", e->tree_ns / 1e9);
	printf("ingest %.3f\nmaintain %.3f\n", e->ingest_ns / 1e9, e->maintain_ns / 1e9);
}

/* --- questions ---
 */

static int64_t time_of(uint32_t window)
{
	return MODEL_START_NS + window * WINDOW_NS;
}

static const struct profile *open_view(struct ours *e)
{
	struct err err = { 0 };
	check(store_view_open(e->store, &e->view, &err), &err);
	return store_view_catalog(e->view);
}

/* The model's number of a series of the catalog, by its labels. */
static uint32_t series_of(const struct profile *c, uint32_t series)
{
	const struct series *s = &c->series.series.v[series];
	const struct label *host =
		label_find(&c->series, s->labels, strtab_find(&c->strings, "host"));
	const struct label *process =
		label_find(&c->series, s->labels, strtab_find(&c->strings, "process"));
	const char *type = profile_str(c, c->series.types.v[s->type].name);
	uint32_t node = strtoul(profile_str(c, host->str) + strlen("node-"), NULL, 10);
	uint32_t program = strtoul(profile_str(c, process->str) + strlen("service-"), NULL, 10);
	return node * MODEL_POOLS + program * MODEL_TYPES + (*type == 'o');
}

/* Every series, or only the one that is asked for. */
static bool *wanted_series(const struct ours *e, const struct profile *c, bool all)
{
	uint32_t n = c->series.series.n;
	bool *wanted = xcalloc(n ? n : 1, sizeof *wanted);
	for (uint32_t i = 0; i < n; i++)
		wanted[i] = all || series_of(c, i) == e->opts.asked.series;
	return wanted;
}

static void merge(struct ours *e, const bool *wanted, uint32_t from, uint32_t to,
		  struct store_merged *out)
{
	struct err err = { 0 };
	check(store_merge(e->view, wanted, time_of(from), time_of(to), out, &err), &err);
}

static struct stack_values sums_of(const struct store_sums *s)
{
	return (struct stack_values){ .n = s->n,
				      .stack = s->stack,
				      .value = s->value,
				      .count = s->count,
				      .squares = s->squares,
				      .factor = 1 };
}

static void make_tree(struct ours *e, double min_share)
{
	struct err err = { 0 };
	struct tree_opts tree_opts = { .min_share = min_share };
	struct tree_sums sums;
	check(tree_sums_begin(&sums, &tree_opts, &err), &err);
	for (size_t i = 0; i < e->merged.n; i++) {
		struct stack_values part = sums_of(&e->merged.parts[i]);
		tree_sums_add(&sums, e->merged.parts[i].dict, TREE_ROOT, &part);
	}
	e->tree = tree_sums_end(&sums);
}

static void make_tree_of_all(struct ours *e)
{
	uint64_t start_ns = clock_cpu_ns();
	make_tree(e, SHOWN_SHARE);
	uint64_t took_ns = clock_cpu_ns() - start_ns;
	e->tree_ns = e->tree_ns && e->tree_ns < took_ns ? e->tree_ns : took_ns;
}

/* As SQL engines answer: of stacks that do not pass there is nothing. */
static void filter(struct profile *dict, struct store_sums *part, const struct tree_opts *tree_opts)
{
	struct err err = { 0 };
	struct tree_filter f = { 0 };
	struct tree_stacks stacks;
	struct tree *t = tree_new();
	check(tree_filter_init(&f, tree_opts, &err), &err);
	tree_stacks_init(&stacks, dict, t, tree_opts, &f, part->stack, part->n);
	for (uint32_t i = 0; i < part->n; i++)
		if (!tree_stacks_pass(&stacks, tree_stacks_number(&stacks, part->stack[i])))
			part->value[i] = 0;
	tree_stacks_done(&stacks);
	tree_filter_done(&f);
	tree_free(t);
}

static struct row_totals *totals_of(struct ours *e, const struct profile *dict)
{
	for (size_t i = e->totals.n; i--;)
		if (e->totals.v[i].dict == dict)
			return &e->totals.v[i];
	struct row_totals fresh = { .dict = dict };
	fresh.by_stack.n = fresh.by_stack.cap = dict->stacks.stacks.n;
	fresh.by_stack.v = xcalloc(fresh.by_stack.n, sizeof *fresh.by_stack.v);
	vec_push(&e->totals, fresh);
	return &e->totals.v[e->totals.n - 1];
}

static int add_columns(void *ctx, const struct store_columns *c)
{
	int64_t *by_stack = totals_of(ctx, c->dict)->by_stack.v;
	const uint32_t *stack = c->stack;
	const int64_t *value = c->value;
	for (size_t i = 0, n = c->n; i < n; i++)
		by_stack[stack[i]] += value[i];
	return 0;
}

static int add_row(void *ctx, const struct store_row *row)
{
	struct ours *e = ctx;
	struct row_totals *t = e->totals.n ? &e->totals.v[e->totals.n - 1] : NULL;
	if (!t || t->dict != row->dict)
		t = totals_of(e, row->dict);
	t->by_stack.v[row->stack] += row->value;
	return 0;
}

static void ask_rows(struct ours *e, const bool *wanted)
{
	struct err err = { 0 };
	const struct store_taker taker = { .row = add_row, .columns = add_columns, .ctx = e };
	check(store_columns(e->view, wanted, time_of(0), time_of(model_windows(e->opts.m)), &taker,
			    &err),
	      &err);
}

static void ask_steps(struct ours *e, const struct profile *c, uint32_t from, uint32_t to)
{
	struct err err = { 0 };
	uint32_t n = c->series.series.n, steps = (to - from) / STEP_WINDOWS;
	uint32_t *group = xcalloc(n ? n : 1, sizeof *group);
	for (uint32_t i = 0; i < n; i++)
		group[i] = model_series_pool(series_of(c, i));
	e->steps = xcalloc((size_t)MODEL_POOLS * steps, sizeof *e->steps);
	check(store_steps(e->view, group, time_of(from), STEP_WINDOWS * WINDOW_NS, steps, e->steps,
			  &err),
	      &err);
	free(group);
}

static void ask_merge(struct ours *e, enum question q, const bool *wanted)
{
	const struct asked *a = &e->opts.asked;
	switch (q) {
	case Q_TREE:
		merge(e, wanted, a->from, a->to, &e->merged);
		make_tree(e, 0);
		break;
	case Q_DIFF:
		merge(e, wanted, a->from, a->to, &e->merged);
		merge(e, wanted, a->from - (a->to - a->from), a->from, &e->older);
		break;
	case Q_SOME_MERGE:
		merge(e, wanted, a->some_from, a->some_to, &e->merged);
		break;
	default:
		merge(e, wanted, 0, model_windows(e->opts.m), &e->merged);
		for (size_t i = 0; q == Q_FILTER && i < e->merged.n; i++)
			filter(e->merged.parts[i].dict, &e->merged.parts[i],
			       &(struct tree_opts){ .focus = a->word });
		if (q == Q_TREE_ALL)
			make_tree_of_all(e);
	}
}

static bool ask(void *engine, enum question q, int way)
{
	struct ours *e = engine;
	const struct asked *a = &e->opts.asked;
	(void)way;
	const struct profile *c = open_view(e);
	bool *wanted = wanted_series(e, c, q != Q_TREE && q != Q_DIFF);
	if (q == Q_STEPS)
		ask_steps(e, c, 0, model_windows(e->opts.m));
	else if (q == Q_SOME_STEPS)
		ask_steps(e, c, a->some_from, a->some_to);
	else if (q == Q_ROWS)
		ask_rows(e, wanted);
	else
		ask_merge(e, q, wanted);
	free(wanted);
	return true;
}

/* --- answers ---
 */

/* The model's number of a stack; one more than it has for those it never gave. */
static uint32_t stack_of(const struct ours *e, const struct profile *dict, uint32_t stack)
{
	uint32_t frames[MODEL_MAX_DEPTH], n = stack_depth(&dict->stacks, stack);
	if (n > MODEL_MAX_DEPTH)
		bench_fail("a stack of %u frames", n);
	stack_frames(&dict->stacks, stack, frames);
	for (uint32_t i = 0; i < n; i++)
		frames[i] = model_frame_at(dict->frames.frames.v[frames[i]].offset);
	uint32_t found = model_find_stack(e->opts.m, frames, n);
	return found == UINT32_MAX ? model_stacks(e->opts.m) : found;
}

static void answer_tree(const struct tree *t, struct answer *out)
{
	uint64_t *keys = xcalloc(t->nodes.n, sizeof *keys);
	for (uint32_t i = 1; i < t->nodes.n; i++) {
		const struct tree_node *node = &t->nodes.v[i];
		const struct tree_func *f = &t->funcs.v[node->func];
		uint64_t key = name_key(strtab_get(&t->strings, f->name),
					strtab_get(&t->strings, f->binary),
					strtab_get(&t->strings, f->file));
		keys[i] = node_key(keys[node->parent], key);
		if (f->kind != FRAME_REST)
			answer_add(out, keys[i], node->total);
	}
	free(keys);
}

static void answer_steps(const struct ours *e, uint32_t from, uint32_t to, struct answer *out)
{
	uint32_t steps = (to - from) / STEP_WINDOWS;
	for (uint32_t pool = 0; pool < MODEL_POOLS; pool++)
		for (uint32_t i = 0; i < steps; i++) {
			int64_t value = e->steps[(size_t)pool * steps + i];
			if (value)
				answer_add(out, step_key(pool, from / STEP_WINDOWS + i), value);
		}
}

/* Parts have dictionaries of their own: a stack may be in several of them. */
static int64_t *by_stack(const struct ours *e, const struct store_merged *m)
{
	int64_t *values = xcalloc(model_stacks(e->opts.m) + 1, sizeof *values);
	for (size_t p = 0; p < m->n; p++)
		for (uint32_t i = 0; i < m->parts[p].n; i++)
			if (m->parts[p].value[i])
				values[stack_of(e, m->parts[p].dict, m->parts[p].stack[i])] +=
					m->parts[p].value[i];
	return values;
}

static int64_t *rows_by_stack(const struct ours *e)
{
	int64_t *values = xcalloc(model_stacks(e->opts.m) + 1, sizeof *values);
	for (size_t t = 0; t < e->totals.n; t++)
		for (uint32_t i = 0; i < e->totals.v[t].by_stack.n; i++)
			if (e->totals.v[t].by_stack.v[i])
				values[stack_of(e, e->totals.v[t].dict, i)] +=
					e->totals.v[t].by_stack.v[i];
	return values;
}

static void answer_stacks(const struct ours *e, int64_t *values, bool older, struct answer *out)
{
	for (uint32_t i = 0; i < model_stacks(e->opts.m); i++)
		if (values[i])
			answer_add(out, older ? older_side(i) : i, older ? -values[i] : values[i]);
	free(values);
}

static void answer(void *engine, enum question q, struct answer *out)
{
	const struct ours *e = engine;
	const struct asked *a = &e->opts.asked;
	switch (q) {
	case Q_TREE:
	case Q_TREE_ALL:
		answer_tree(e->tree, out);
		break;
	case Q_STEPS:
		answer_steps(e, 0, model_windows(e->opts.m), out);
		break;
	case Q_SOME_STEPS:
		answer_steps(e, a->some_from, a->some_to, out);
		break;
	case Q_ROWS:
		answer_stacks(e, rows_by_stack(e), false, out);
		break;
	default:
		answer_stacks(e, by_stack(e, &e->merged), false, out);
		answer_stacks(e, by_stack(e, &e->older), true, out);
	}
}

const struct engine_ops our_engine = {
	.name = "ours",
	.batch_windows = 100,
	.open = open_engine,
	.prepare = prepare,
	.add = add,
	.finish = finish,
	.forget = forget,
	.ask = ask,
	.answer = answer,
	.report = report,
	.close = close_engine,
};
