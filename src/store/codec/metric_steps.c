/* Sums, extremes and increases per step. */
#include "store/codec/metric_steps.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

void metric_steps_init(struct metric_steps *s, const struct metric_steps_opts *opts)
{
	*s = (struct metric_steps){
		.opts = *opts,
		.value = xcalloc(opts->n + 1, sizeof *s->value),
		.weight = xcalloc(opts->n + 1, sizeof *s->weight),
	};
}

void metric_steps_done(struct metric_steps *s)
{
	free(s->value);
	free(s->weight);
	*s = (struct metric_steps){ 0 };
}

static bool is_extreme(const struct metric_steps *s)
{
	return s->opts.reduction == METRIC_MIN || s->opts.reduction == METRIC_MAX;
}

/* weight > 0 */
static void add_to_step(struct metric_steps *s, size_t step, double value, double weight)
{
	double *v = &s->value[step];
	if (!is_extreme(s))
		*v += value * weight;
	else if (s->weight[step] == 0 ||
		 (s->opts.reduction == METRIC_MIN ? value < *v : value > *v))
		*v = value;
	s->weight[step] += weight;
}

/* Time since from_ns, which must not be later. */
static uint64_t since(const struct metric_steps *s, int64_t time_ns)
{
	return (uint64_t)time_ns - (uint64_t)s->opts.from_ns;
}

static void add_point(struct metric_steps *s, const struct metric_point *p)
{
	if (p->time_ns < s->opts.from_ns)
		return;
	uint64_t step = since(s, p->time_ns) / (uint64_t)s->opts.step_ns;
	if (step < s->opts.n)
		add_to_step(s, step, p->value, 1);
}

/* Adds the growth per ns between the last point and this one to all steps between them. */
static void add_pair(struct metric_steps *s, const struct metric_point *p)
{
	const struct metric_steps_opts *o = &s->opts;
	uint64_t length = (uint64_t)p->time_ns - (uint64_t)s->last.time_ns;
	if ((o->max_gap_ns && length > (uint64_t)o->max_gap_ns) || p->time_ns <= o->from_ns)
		return;
	bool again = o->kind == METRIC_COUNTER && p->value < s->last.value;
	if (again && p->value == 0 && is_extreme(s))
		return;
	double slope = (again ? p->value : p->value - s->last.value) / (double)length;
	uint64_t at = s->last.time_ns > o->from_ns ? since(s, s->last.time_ns) : 0;
	uint64_t end = since(s, p->time_ns), step_ns = o->step_ns;
	for (uint64_t step = at / step_ns; step < o->n && at < end; step++) {
		uint64_t step_end = (step + 1) * step_ns, to = end < step_end ? end : step_end;
		add_to_step(s, step, slope, (double)(to - at));
		at = to;
	}
}

static bool has_pairs(const struct metric_steps_opts *o)
{
	return o->kind == METRIC_COUNTER || o->reduction == METRIC_RATE;
}

void metric_steps_add(struct metric_steps *s, const struct metric_point *points, size_t n)
{
	bool pairs = has_pairs(&s->opts);
	for (const struct metric_point *p = points; p < points + n; p++) {
		if (isnan(p->value) || (pairs && isinf(p->value)) ||
		    (s->has_last && p->time_ns <= s->last.time_ns))
			continue;
		if (!pairs)
			add_point(s, p);
		else if (s->has_last)
			add_pair(s, p);
		s->last = *p;
		s->has_last = true;
	}
}

void metric_steps_get(const struct metric_steps *s, double *out)
{
	double scale = has_pairs(&s->opts) ? 1e9 : 1;
	for (size_t i = 0; i < s->opts.n; i++) {
		double v = is_extreme(s) ? s->value[i] : s->value[i] / s->weight[i];
		out[i] = s->weight[i] > 0 ? v * scale : NAN;
	}
}
