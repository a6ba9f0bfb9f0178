/* Reads Gecko and processed profiles of all versions. */
#include "base/input.h"
#include "base/json/json_read.h"
#include "format/common/value.h"
#include "format/firefox/firefox.h"
#include "format/firefox/firefox_tables.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/state.h"
#include "profile/sum.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FX_NS_PER_MS = 1000000 };
#define FX_FIRST_DATE_MS 946684800000.0 /* of 2000: earlier times are since the boot */

struct fx_thread {
	uint32_t process; /* index */
	uint32_t name, process_name;
	uint32_t pid, tid;
	struct fx_tables tables;
};
/* The file itself, and each process nested in it. */
struct fx_process {
	uint32_t index;
	double start_ms, interval_ms;
	uint32_t cpu_unit; /* of threadCPUDelta */
	VEC(struct fx_lib) libs;
	VEC(uint8_t) kinds;
	struct fx_tables shared;
	struct fx_stacks shared_stacks; /* for threads without their own tables */
};
/* The type in meta.extra of our own writer; 0 if missing. */
struct fx_type {
	uint32_t name, sample_type, unit, period_type, period_unit;
	bool is_said;
	int64_t period;
};

struct fx_reader {
	struct sink *sink;
	struct json_reader *json;
	struct err *err;
	struct strtab texts;
	struct fx_budget budget;
	VEC(struct fx_thread *) threads;
	VEC(struct fx_process *) processes;
	struct fx_type type;
	bool has_cpu_time;      /* a thread has threadCPUDelta */
	double most_cpu_per_ms; /* of the threads with a relative unit */
	uint32_t origin;        /* meta.importedFrom */
	uint64_t given;
	int64_t first_ns, last_ns;
};

/* Reads a member's value into a string of texts; skips values other than text. */
static int fx_read_text(struct fx_reader *f, uint32_t *text)
{
	struct json_value v;
	int rc = json_scalar(f->json, &v, f->err);
	if (rc > 0 && v.token == JSON_STRING)
		*text = strtab_putn(&f->texts, v.text, v.len);
	return rc;
}

static int fx_read_number(struct fx_reader *f, double *number)
{
	struct json_value v;
	int rc = json_scalar(f->json, &v, f->err);
	if (rc > 0 && v.token == JSON_NUMBER && isfinite(json_double(&v)))
		*number = json_double(&v);
	return rc;
}

/* Reads a pid or tid: a number, or text that starts with one ("12.1" for processes that shared a
 * pid). */
static int fx_read_id(struct fx_reader *f, uint32_t *id)
{
	struct json_value v;
	int rc = json_scalar(f->json, &v, f->err);
	if (rc <= 0 || v.len == 0 || v.text[0] < '0' || v.text[0] > '9')
		return rc;
	if (v.token == JSON_NUMBER || v.token == JSON_STRING) {
		unsigned long long n = strtoull(v.text, NULL, 10);
		*id = n < SAMPLE_NO_ID ? n : SAMPLE_NO_ID;
	}
	return rc;
}

/* --- meta, libs ------------------------------------------------------------------------------- */

static uint8_t fx_kind_of_category(const struct strtab *texts, uint32_t name)
{
	for (int kind = 0; kind < FRAME_KINDS; kind++)
		if (strcasecmp(firefox_categories[kind].name, strtab_get(texts, name)) == 0)
			return kind;
	return FRAME_KINDS;
}

static int fx_read_category(struct fx_reader *f, struct fx_process *p)
{
	struct json_value key;
	uint32_t name = 0;
	int rc = json_enter(f->json, JSON_OBJECT, f->err);
	while (rc > 0 && (rc = json_key_next(f->json, &key, f->err)) > 0) {
		rc = json_is(&key, "name") ? fx_read_text(f, &name) : json_skip(f->json, f->err);
		rc = rc < 0 ? rc : 1;
	}
	if (p->kinds.n < UINT16_MAX)
		vec_push(&p->kinds, fx_kind_of_category(&f->texts, name));
	return rc;
}

static int fx_read_lib(struct fx_reader *f, struct fx_process *p)
{
	struct fx_lib lib = { .order = p->libs.n };
	struct json_value key;
	double start = 0, end = 0;
	int rc = json_enter(f->json, JSON_OBJECT, f->err);
	while (rc > 0 && (rc = json_key_next(f->json, &key, f->err)) > 0) {
		if (json_is(&key, "name"))
			rc = fx_read_text(f, &lib.name);
		else if (json_is(&key, "start"))
			rc = fx_read_number(f, &start);
		else if (json_is(&key, "end"))
			rc = fx_read_number(f, &end);
		else
			rc = json_skip(f->json, f->err);
		rc = rc < 0 ? rc : 1;
	}
	if (rc < 0)
		return rc;
	lib.start = start > 0 ? value_clamp(start) : 0;
	lib.end = end > 0 ? value_clamp(end) : 0;
	if (f->budget.cells_left) {
		f->budget.cells_left--;
		vec_push(&p->libs, lib);
	} else {
		f->budget.skipped++;
	}
	return 0;
}

/* Calls read_item for each item of an array. */
static int fx_read_list(struct fx_reader *f, struct fx_process *p,
			int (*read_item)(struct fx_reader *f, struct fx_process *p))
{
	int rc = json_enter(f->json, JSON_ARRAY, f->err);
	if (rc <= 0)
		return rc;
	while ((rc = json_item_next(f->json, f->err)) > 0) {
		rc = read_item(f, p);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static void fx_keep_type(struct fx_reader *f, uint32_t label, uint32_t value)
{
	const struct {
		const char *label;
		uint32_t *to;
	} known[] = { { "type", &f->type.name },
		      { "sample type", &f->type.sample_type },
		      { "unit", &f->type.unit },
		      { "period type", &f->type.period_type },
		      { "period unit", &f->type.period_unit } };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (strcmp(known[i].label, strtab_get(&f->texts, label)) != 0)
			continue;
		*known[i].to = value;
		f->type.is_said = true;
	}
	if (strcmp(strtab_get(&f->texts, label), "period") == 0)
		f->type.period = strtoll(strtab_get(&f->texts, value), NULL, 10);
}

static int fx_read_extra_entry(struct fx_reader *f, struct fx_process *p)
{
	struct json_value key;
	uint32_t label = 0, value = 0;
	int rc = json_enter(f->json, JSON_OBJECT, f->err);
	(void)p;
	while (rc > 0 && (rc = json_key_next(f->json, &key, f->err)) > 0) {
		if (json_is(&key, "label"))
			rc = fx_read_text(f, &label);
		else if (json_is(&key, "value"))
			rc = fx_read_text(f, &value);
		else
			rc = json_skip(f->json, f->err);
		rc = rc < 0 ? rc : 1;
	}
	if (rc == 0)
		fx_keep_type(f, label, value);
	return rc;
}

/* Reads {"label": "cresset", "entries": […]}, in this order. */
static int fx_read_extra(struct fx_reader *f, struct fx_process *p)
{
	struct json_value key;
	uint32_t label = 0;
	int rc = json_enter(f->json, JSON_OBJECT, f->err);
	while (rc > 0 && (rc = json_key_next(f->json, &key, f->err)) > 0) {
		bool ours = strcmp(strtab_get(&f->texts, label), "cresset") == 0;
		if (json_is(&key, "label"))
			rc = fx_read_text(f, &label);
		else if (ours && json_is(&key, "entries"))
			rc = fx_read_list(f, p, fx_read_extra_entry);
		else
			rc = json_skip(f->json, f->err);
		rc = rc < 0 ? rc : 1;
	}
	return rc;
}

/* Reads {"threadCPUDelta": "ns", …}. */
static int fx_read_units(struct fx_reader *f, struct fx_process *p)
{
	struct json_value key;
	int rc = json_enter(f->json, JSON_OBJECT, f->err);
	while (rc > 0 && (rc = json_key_next(f->json, &key, f->err)) > 0) {
		rc = json_is(&key, "threadCPUDelta") ? fx_read_text(f, &p->cpu_unit)
						     : json_skip(f->json, f->err);
		rc = rc < 0 ? rc : 1;
	}
	return rc;
}

static int fx_read_meta(struct fx_reader *f, struct fx_process *p)
{
	struct json_value key;
	int rc = json_enter(f->json, JSON_OBJECT, f->err);
	while (rc > 0 && (rc = json_key_next(f->json, &key, f->err)) > 0) {
		if (json_is(&key, "startTime"))
			rc = fx_read_number(f, &p->start_ms);
		else if (json_is(&key, "interval"))
			rc = fx_read_number(f, &p->interval_ms);
		else if (json_is(&key, "importedFrom"))
			rc = fx_read_text(f, &f->origin);
		else if (json_is(&key, "sampleUnits"))
			rc = fx_read_units(f, p);
		else if (json_is(&key, "categories"))
			rc = fx_read_list(f, p, fx_read_category);
		else if (json_is(&key, "extra"))
			rc = fx_read_list(f, p, fx_read_extra);
		else
			rc = json_skip(f->json, f->err);
		rc = rc < 0 ? rc : 1;
	}
	return rc;
}

/* --- threads ---------------------------------------------------------------------------------- */

static int fx_read_thread_member(struct fx_reader *f, struct fx_process *p, struct fx_thread *t,
				 const struct json_value *key)
{
	if (json_is(key, "name"))
		return fx_read_text(f, &t->name);
	if (json_is(key, "processName"))
		return fx_read_text(f, &t->process_name);
	if (json_is(key, "pid"))
		return fx_read_id(f, &t->pid);
	if (json_is(key, "tid"))
		return fx_read_id(f, &t->tid);
	if (json_is(key, "libs"))
		return fx_read_list(f, p, fx_read_lib);
	int rc = fx_read_table(&t->tables, key, f->json, &f->texts, &f->budget, f->err);
	return rc ? rc : json_skip(f->json, f->err);
}

static int fx_read_thread(struct fx_reader *f, struct fx_process *p)
{
	struct json_value key;
	if (f->threads.n >= FIREFOX_MAX_THREADS) {
		f->budget.skipped++;
		return json_skip(f->json, f->err);
	}
	struct fx_thread *t = xcalloc(1, sizeof *t);
	t->process = p->index;
	t->pid = t->tid = SAMPLE_NO_ID;
	vec_push(&f->threads, t);
	int rc = json_enter(f->json, JSON_OBJECT, f->err);
	while (rc > 0 && (rc = json_key_next(f->json, &key, f->err)) > 0) {
		rc = fx_read_thread_member(f, p, t, &key);
		rc = rc < 0 ? rc : 1;
	}
	return rc;
}

static int fx_read_shared(struct fx_reader *f, struct fx_process *p)
{
	struct json_value key;
	int rc = json_enter(f->json, JSON_OBJECT, f->err);
	while (rc > 0 && (rc = json_key_next(f->json, &key, f->err)) > 0) {
		rc = fx_read_table(&p->shared, &key, f->json, &f->texts, &f->budget, f->err);
		if (rc == 0)
			rc = json_skip(f->json, f->err);
		rc = rc < 0 ? rc : 1;
	}
	return rc;
}

/* Reads a profile: the whole file, or one nested in it, up to the nesting limit of JSON. */
static int fx_read_profile(struct fx_reader *f, struct fx_process *outer)
{
	struct json_value key;
	(void)outer;
	if (f->processes.n >= FIREFOX_MAX_PROCESSES) {
		f->budget.skipped++;
		return json_skip(f->json, f->err);
	}
	struct fx_process *p = xcalloc(1, sizeof *p);
	p->index = f->processes.n;
	vec_push(&f->processes, p);
	int rc = json_enter(f->json, JSON_OBJECT, f->err);
	while (rc > 0 && (rc = json_key_next(f->json, &key, f->err)) > 0) {
		if (json_is(&key, "meta"))
			rc = fx_read_meta(f, p);
		else if (json_is(&key, "libs"))
			rc = fx_read_list(f, p, fx_read_lib);
		else if (json_is(&key, "threads"))
			rc = fx_read_list(f, p, fx_read_thread);
		else if (json_is(&key, "shared"))
			rc = fx_read_shared(f, p);
		else if (json_is(&key, "processes"))
			rc = fx_read_list(f, p, fx_read_profile);
		else if (json_is(&key, "profile")) /* in files saved by the developer tools */
			rc = fx_read_profile(f, p);
		else
			rc = json_skip(f->json, f->err);
		rc = rc < 0 ? rc : 1;
	}
	return rc;
}

/* --- output ----------------------------------------------------------------------------------- */

static uint32_t fx_sink_string(struct fx_reader *f, uint32_t text)
{
	return f->sink->ops->string(f->sink, strtab_get(&f->texts, text),
				    strtab_len(&f->texts, text));
}

static uint32_t fx_labels(struct fx_reader *f, const struct fx_thread *t)
{
	struct sink *s = f->sink;
	struct label labels[2];
	uint32_t n = 0;
	if (t->name)
		labels[n++] = (struct label){ .key = sink_string(s, "comm"),
					      .str = fx_sink_string(f, t->name) };
	if (t->process_name)
		labels[n++] = (struct label){ .key = sink_string(s, "process"),
					      .str = fx_sink_string(f, t->process_name) };
	return s->ops->labels(s, labels, n);
}

/* Python's own sampler (profiling.sampling) takes waiting threads like running ones. */
static bool fx_is_wall(const struct fx_reader *f)
{
	static const char python[] = "Tachyon";
	return strncmp(strtab_get(&f->texts, f->origin), python, strlen(python)) == 0;
}

static struct type fx_default_type(struct fx_reader *f, enum fx_weight weight)
{
	struct sink *s = f->sink;
	static const char *const names[][3] = { [FX_SAMPLES] = { "cpu", "samples", "count" },
						[FX_TRACING_MS] = { "trace", "time",
								    "nanoseconds" },
						[FX_BYTES] = { "memory", "space", "bytes" } };
	struct type type = { .name = sink_string(s, names[weight][0]),
			     .sample_type = sink_string(s, names[weight][1]),
			     .unit = sink_string(s, names[weight][2]) };
	if (weight == FX_SAMPLES && fx_is_wall(f))
		type.name = type.period_type = sink_string(s, "wall");
	return type;
}

/* *scale: the factor from weights to values. */
static uint32_t fx_series(struct fx_reader *f, const struct fx_thread *t, double *scale)
{
	struct sink *s = f->sink;
	enum fx_weight weight = t->tables.weight_type;
	struct type type = fx_default_type(f, weight);
	struct series series = { .labels = fx_labels(f, t) };
	const char *unit = "nanoseconds";
	double interval_ms = f->processes.v[0]->interval_ms;
	if (f->type.is_said) {
		type.name = fx_sink_string(f, f->type.name);
		type.sample_type = fx_sink_string(f, f->type.sample_type);
		type.unit = fx_sink_string(f, f->type.unit);
		type.period_type = fx_sink_string(f, f->type.period_type);
		type.period_unit = fx_sink_string(f, f->type.period_unit);
		series.period = f->type.period;
		unit = strtab_get(&f->texts, f->type.unit);
	} else if (weight == FX_SAMPLES && interval_ms > 0) {
		type.period_type = type.name;
		type.period_unit = sink_string(s, "nanoseconds");
		series.period = value_clamp(round(interval_ms * FX_NS_PER_MS));
	}
	struct value_unit u = value_unit(unit);
	*scale = weight == FX_TRACING_MS ? (double)FX_NS_PER_MS / u.scale
		 : weight == FX_BYTES    ? 1.0 / (f->type.is_said ? u.scale : 1)
					 : 1;
	series.type = s->ops->type(s, &type);
	return s->ops->series(s, &series);
}

/* Selects the tables of a thread's stacks: its own or the shared ones. */
static void fx_stacks_init(struct fx_reader *f, struct fx_process *p, const struct fx_tables *own,
			   struct fx_stacks *s)
{
	*s = (struct fx_stacks){ .own = own,
				 .shared = &p->shared,
				 .libs = p->libs.v,
				 .n_libs = p->libs.n,
				 .kinds = p->kinds.v,
				 .n_kinds = p->kinds.n,
				 .texts = &f->texts,
				 .sink = f->sink };
}

static double fx_measure(const struct fx_tables *t, enum fx_measure m, size_t i, double missing)
{
	return i < t->measures[m].n ? t->measures[m].v[i] : missing;
}

/* The samples of a thread as they become samples of the sink. */
struct fx_giving {
	struct fx_reader *f;
	struct sample out;
	double scale;       /* from weights to values, if there is no CPU time */
	bool is_timed;      /* by threadCPUDelta … */
	double cpu_unit_ns; /* … and its unit */
	double interval_ns; /* 0: not known */
	enum fx_weight weight;
	double covered_ns;           /* since the previous sample */
	uint32_t cpu, wall, off_cpu; /* series; frame */
	bool begun;                  /* threads without samples add no type */
};

static uint32_t fx_time_series(struct fx_reader *f, const struct fx_thread *t, const char *name)
{
	struct sink *s = f->sink;
	struct type type = { .name = sink_string(s, name),
			     .sample_type = sink_string(s, name),
			     .unit = sink_string(s, "nanoseconds") };
	struct series series = { .type = s->ops->type(s, &type), .labels = fx_labels(f, t) };
	return s->ops->series(s, &series);
}

static void fx_begin(struct fx_giving *g, const struct fx_thread *t)
{
	struct sink *s = g->f->sink;
	struct frame marker = { .kind = FRAME_MARKER, .mapping = MAPPING_NONE };
	if (g->begun)
		return;
	g->begun = true;
	if (!g->is_timed) {
		g->out.series = fx_series(g->f, t, &g->scale);
		return;
	}
	g->cpu = fx_time_series(g->f, t, "cpu");
	g->wall = fx_time_series(g->f, t, "wall");
	marker.function = sink_string(s, STATE_OFF_CPU_MARKER);
	g->off_cpu = s->ops->frame(s, &marker);
}

static void fx_give_value(struct fx_giving *g, double value)
{
	struct fx_reader *f = g->f;
	g->out.value = value_clamp(round(value));
	f->sink->ops->sample(f->sink, &g->out);
	f->given++;
}

/* CPU time by threadCPUDelta, and the time that the sample stands for as wall time, of which a
 * thread that was on a CPU for less than half is waiting. */
static void fx_give_times(struct fx_giving *g, double weight, double delta)
{
	struct sink *s = g->f->sink;
	double whole_ns = g->interval_ns > 0 ? weight * g->interval_ns : g->covered_ns;
	double cpu_ns = isnan(delta) ? 0 : delta * g->cpu_unit_ns;
	if (cpu_ns > 0) {
		g->out.series = g->cpu;
		fx_give_value(g, cpu_ns);
	}
	if (whole_ns <= 0)
		return;
	g->out.series = g->wall;
	if (2 * cpu_ns < whole_ns && !isnan(delta))
		g->out.stack = s->ops->stack_above(s, g->out.stack, &g->off_cpu, 1);
	fx_give_value(g, whole_ns);
}

/* Skips a sample, with the time that it stands for. */
static void fx_skip(struct fx_giving *g, double weight)
{
	double unit_ns = g->weight == FX_TRACING_MS ? FX_NS_PER_MS
			 : g->weight == FX_SAMPLES  ? g->interval_ns
						    : 0;
	g->f->budget.skipped++;
	if (!isnan(weight) && unit_ns > 0)
		g->f->sink->ops->loss_time(g->f->sink, LOSS_INPUT_SKIPPED,
					   value_clamp(round(weight * unit_ns)));
}

/* Returns the ns of one unit of the thread's threadCPUDelta, or 0 if it is relative. */
static double fx_thread_unit_ns(const struct fx_reader *f, const struct fx_thread *t)
{
	uint32_t unit = f->processes.v[t->process]->cpu_unit;
	return fx_cpu_unit_ns(strtab_get(&f->texts, unit ? unit : f->processes.v[0]->cpu_unit));
}

static bool fx_counts_samples(const struct fx_reader *f, const struct fx_thread *t)
{
	return !f->type.is_said && t->tables.weight_type == FX_SAMPLES;
}

static void fx_find_cpu_times(struct fx_reader *f)
{
	double interval_ms = f->processes.v[0]->interval_ms;
	for (size_t i = 0; i < f->threads.n; i++) {
		const struct fx_thread *t = f->threads.v[i];
		if (!fx_counts_samples(f, t) || !fx_has_cpu_deltas(&t->tables))
			continue;
		f->has_cpu_time = true;
		if (fx_thread_unit_ns(f, t) > 0)
			continue;
		double most = fx_most_cpu_per_ms(&t->tables, interval_ms);
		f->most_cpu_per_ms = most > f->most_cpu_per_ms ? most : f->most_cpu_per_ms;
	}
}

static void fx_giving_init(struct fx_giving *g, struct fx_reader *f, const struct fx_thread *t)
{
	*g = (struct fx_giving){
		.f = f,
		.out = { .pid = t->pid, .tid = t->tid, .cpu = SAMPLE_NO_ID },
		.scale = 1,
		.interval_ns = f->processes.v[0]->interval_ms * FX_NS_PER_MS,
		.weight = t->tables.weight_type,
		.is_timed = f->has_cpu_time && fx_counts_samples(f, t),
		.cpu_unit_ns = fx_thread_unit_ns(f, t),
	};
	if (g->cpu_unit_ns == 0 && f->most_cpu_per_ms > 0)
		g->cpu_unit_ns = FX_NS_PER_MS / f->most_cpu_per_ms;
}

static void fx_give_samples(struct fx_reader *f, const struct fx_thread *t,
			    struct fx_stacks *stacks)
{
	const struct fx_tables *k = &t->tables;
	double start_ms = f->processes.v[t->process]->start_ms - f->processes.v[0]->start_ms;
	double ms = 0, before_ms = NAN;
	struct fx_giving g;
	fx_giving_init(&g, f, t);
	for (size_t i = 0; i < k->columns[FX_SAMPLE_STACK].n; i++) {
		int32_t row = k->columns[FX_SAMPLE_STACK].v[i];
		ms = fx_measure(k, FX_TIME, i, ms + fx_measure(k, FX_TIME_DELTA, i, 0));
		double ns = round((ms + start_ms) * FX_NS_PER_MS);
		double weight = fx_measure(k, FX_WEIGHT, i, 1);
		g.covered_ns = isnan(before_ms) ? 0 : (ms - before_ms) * FX_NS_PER_MS;
		before_ms = ms;
		g.out.stack =
			row < 0 ? f->sink->ops->stack(f->sink, NULL, 0) : fx_stack(stacks, row);
		if (g.out.stack == STACK_TREE_NONE || isnan(ns) || isnan(weight)) {
			fx_skip(&g, weight);
			continue;
		}
		fx_begin(&g, t);
		g.out.time_ns = value_clamp(ns);
		f->first_ns = g.out.time_ns < f->first_ns ? g.out.time_ns : f->first_ns;
		f->last_ns = g.out.time_ns > f->last_ns ? g.out.time_ns : f->last_ns;
		if (g.is_timed)
			fx_give_times(&g, weight, fx_measure(k, FX_CPU_DELTA, i, NAN));
		else
			fx_give_value(&g, weight * g.scale);
	}
}

static void fx_give_thread(struct fx_reader *f, struct fx_thread *t)
{
	struct fx_process *p = f->processes.v[t->process];
	struct fx_stacks own;
	if (t->tables.columns[FX_SAMPLE_STACK].n == 0)
		return;
	if (t->tables.seen & 1 << FX_STACK_TABLE) {
		fx_stacks_init(f, p, &t->tables, &own);
		fx_give_samples(f, t, &own);
		fx_stacks_done(&own);
	} else {
		if (!p->shared_stacks.own)
			fx_stacks_init(f, p, &p->shared, &p->shared_stacks);
		fx_give_samples(f, t, &p->shared_stacks);
	}
	fx_tables_done(&t->tables);
}

static int fx_lib_cmp(const void *a, const void *b)
{
	const struct fx_lib *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* A double holds today's time in milliseconds with microsecond precision. */
static void fx_give_start(struct fx_reader *f, struct profile_meta *meta)
{
	double start_ms = f->processes.v[0]->start_ms;
	int64_t start_ns = sum_mul(value_clamp(round(start_ms * 1000)), 1000);
	if (start_ms >= FX_FIRST_DATE_MS)
		meta->start_wall_ns = start_ns;
}

static int fx_give(struct fx_reader *f, const char *name)
{
	for (size_t i = 0; i < f->processes.n; i++) {
		struct fx_process *p = f->processes.v[i];
		if (p->libs.n)
			qsort(p->libs.v, p->libs.n, sizeof *p->libs.v, fx_lib_cmp);
	}
	fx_find_cpu_times(f);
	for (size_t i = 0; i < f->threads.n; i++)
		fx_give_thread(f, f->threads.v[i]);
	f->budget.skipped += json_was_cut(f->json);
	if (f->budget.skipped)
		f->sink->ops->loss(f->sink, LOSS_INPUT_SKIPPED, f->budget.skipped);
	if (f->given == 0)
		return err_set(f->err, EBADMSG, "%s: no thread of the profile has a sample", name);
	struct profile_meta *meta = f->sink->ops->meta(f->sink);
	fx_give_start(f, meta);
	meta->duration_ns = f->last_ns > 0 ? f->last_ns : 0;
	return 0;
}

static void fx_reader_done(struct fx_reader *f)
{
	for (size_t i = 0; i < f->threads.n; i++) {
		fx_tables_done(&f->threads.v[i]->tables);
		free(f->threads.v[i]);
	}
	vec_done(&f->threads);
	for (size_t i = 0; i < f->processes.n; i++) {
		struct fx_process *p = f->processes.v[i];
		vec_done(&p->libs);
		vec_done(&p->kinds);
		fx_tables_done(&p->shared);
		fx_stacks_done(&p->shared_stacks);
		free(p);
	}
	vec_done(&f->processes);
	strtab_done(&f->texts);
	json_reader_free(f->json);
}

int firefox_read(struct input *in, struct sink *sink, struct err *err)
{
	struct fx_reader f = { .sink = sink,
			       .json = json_reader_new(in),
			       .err = err,
			       .budget = { .cells_left = FIREFOX_MAX_CELLS },
			       .first_ns = INT64_MAX,
			       .last_ns = INT64_MIN };
	strtab_init(&f.texts);
	json_set_lenient(f.json);
	int rc = fx_read_profile(&f, NULL);
	if (rc == 0)
		rc = fx_give(&f, input_name(in));
	fx_reader_done(&f);
	return rc;
}

/* --- detection -------------------------------------------------------------------------------- */

struct fx_signs {
	bool meta, threads, profile, other;
};

static bool fx_sign(void *ctx, const struct json_value *key, const struct json_value *value,
		    int depth)
{
	struct fx_signs *s = ctx;
	s->other |= depth != 1 || json_is(key, "traceEvents") || json_is(key, "$schema");
	s->meta |= json_is(key, "meta") && value->token == JSON_OBJECT;
	s->threads |= json_is(key, "threads") && value->token == JSON_ARRAY;
	s->profile |= json_is(key, "profile") && value->token == JSON_OBJECT;
	return !s->other;
}

static bool fx_has(const char *head, size_t len, const char *word)
{
	return memmem(head, len, word, strlen(word)) != NULL;
}

bool firefox_detect(const char *head, size_t len)
{
	struct fx_signs s = { 0 };
	if (!json_peek_keys(head, len, fx_sign, &s) || s.other)
		return false;
	return (s.meta &&
		(fx_has(head, len, "\"preprocessedProfileVersion\"") ||
		 fx_has(head, len, "\"stackwalk\"") || fx_has(head, len, "\"interval\""))) ||
	       (s.threads &&
		(fx_has(head, len, "\"stackTable\"") || fx_has(head, len, "\"frameTable\"") ||
		 fx_has(head, len, "\"processType\""))) ||
	       (s.profile &&
		(fx_has(head, len, "\"breakpadId\"") || fx_has(head, len, "\"stackwalk\"")));
}
