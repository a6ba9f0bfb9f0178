/* Gives the samples of a profile that was read: types, CPU and wall times, losses. */
#include "base/err.h"
#include "base/json/json_read.h"
#include "base/vec.h"
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

enum { FX_NS_PER_MS = 1000000 };
#define FX_FIRST_DATE_MS 946684800000.0 /* of 2000: earlier times are since the boot */

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
			   struct fx_libs libs, struct fx_stacks *s)
{
	*s = (struct fx_stacks){ .own = own,
				 .shared = &p->shared,
				 .libs = libs.n ? p->libs.v + libs.first : NULL,
				 .n_libs = libs.n,
				 .by_start = p->by_start.v,
				 .n_by_start = p->by_start.n,
				 .kinds = p->kinds.v,
				 .n_kinds = p->kinds.n,
				 .texts = &f->texts,
				 .sink = f->sink,
				 .here = f->here };
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
	double covered_ns;           /* since the previous sample; NAN: not known */
	double spare_ns;             /* of it, and of the samples before, without CPU time */
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

/* Cuts CPU time to the time that has passed: a thread uses one CPU. Its clock is read a little
 * before or after that of the samples, so time that the samples before left may also be used, up to
 * an interval. */
static double fx_possible_ns(struct fx_giving *g, double cpu_ns, double passed_ns)
{
	double most_ns = fmax(passed_ns, 0) + g->spare_ns;
	if (isnan(passed_ns))
		return cpu_ns;
	if (cpu_ns >= most_ns + 1) {
		g->f->too_large++;
		g->f->too_large_ns += cpu_ns - most_ns;
		cpu_ns = most_ns;
	}
	double left_ns = most_ns - cpu_ns;
	g->spare_ns = left_ns < 0 ? 0 : left_ns < g->interval_ns ? left_ns : g->interval_ns;
	return cpu_ns;
}

/* CPU time by threadCPUDelta, and the time that the sample stands for as wall time, of which a
 * thread that was on a CPU for less than half is waiting. */
static void fx_give_times(struct fx_giving *g, double weight, double delta)
{
	struct sink *s = g->f->sink;
	bool is_first = isnan(g->covered_ns);
	double whole_ns = g->interval_ns > 0 ? weight * g->interval_ns
			  : is_first         ? 0
					     : g->covered_ns;
	double passed_ns = !is_first ? g->covered_ns : g->interval_ns > 0 ? whole_ns : NAN;
	double cpu_ns = isnan(delta) ? 0 : delta * g->cpu_unit_ns;
	cpu_ns = fx_possible_ns(g, cpu_ns, passed_ns);
	if (is_first) /* the time before has no samples */
		g->spare_ns = 0;
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
	size_t n_times = k->measures[FX_TIME].n > k->measures[FX_TIME_DELTA].n
				 ? k->measures[FX_TIME].n
				 : k->measures[FX_TIME_DELTA].n;
	double ms = 0, before_ms = NAN;
	struct fx_giving g;
	fx_giving_init(&g, f, t);
	for (size_t i = 0; i < k->columns[FX_SAMPLE_STACK].n; i++) {
		int32_t row = k->columns[FX_SAMPLE_STACK].v[i];
		ms = fx_measure(k, FX_TIME, i, ms + fx_measure(k, FX_TIME_DELTA, i, 0));
		double ns = round((ms + start_ms) * FX_NS_PER_MS);
		double weight = fx_measure(k, FX_WEIGHT, i, 1);
		g.covered_ns = i < n_times ? (ms - before_ms) * FX_NS_PER_MS : NAN;
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
		fx_stacks_init(f, p, &t->tables, t->libs.n ? t->libs : p->own, &own);
		fx_give_samples(f, t, &own);
		fx_stacks_done(&own);
	} else {
		if (!p->shared_stacks.own)
			fx_stacks_init(f, p, &p->shared, p->own, &p->shared_stacks);
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

int fx_give(struct fx_reader *f, const char *name)
{
	for (size_t i = 0; i < f->processes.n; i++) {
		struct fx_process *p = f->processes.v[i];
		if (!p->libs.n)
			continue;
		vec_append(&p->by_start, p->libs.v, p->libs.n);
		qsort(p->by_start.v, p->by_start.n, sizeof *p->by_start.v, fx_lib_cmp);
	}
	fx_find_cpu_times(f);
	for (size_t i = 0; i < f->threads.n; i++)
		fx_give_thread(f, f->threads.v[i]);
	f->budget.skipped += json_was_cut(f->json);
	if (f->budget.skipped)
		f->sink->ops->loss(f->sink, LOSS_INPUT_SKIPPED, f->budget.skipped);
	if (f->too_large) {
		f->sink->ops->loss(f->sink, LOSS_INPUT_TOO_LARGE, f->too_large);
		f->sink->ops->loss_time(f->sink, LOSS_INPUT_TOO_LARGE,
					value_clamp(round(f->too_large_ns)));
	}
	if (f->given == 0)
		return err_set(f->err, EBADMSG, "%s: no thread of the profile has a sample", name);
	struct profile_meta *meta = f->sink->ops->meta(f->sink);
	fx_give_start(f, meta);
	meta->duration_ns = f->last_ns > 0 ? f->last_ns : 0;
	return 0;
}
