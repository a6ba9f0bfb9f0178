/* Reads points, reduces them per step, and sums groups. */
#include "query/metrics.h"

#include "base/err.h"
#include "base/mem.h"
#include "profile/sum.h"
#include "query/groups.h"
#include "query/guard.h"
#include "query/query.h"
#include "store/codec/metric_samples.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct measuring {
	const struct query *q;
	struct guard guard;
	struct groups groups;
	struct metric_steps_opts opts;
	double *sums; /* [group * steps + step]; NaN: nothing yet */
	double *one;  /* [step]: of the current series */
	struct err *err;
};

/* --- a series --------------------------------------------------------------------------------- */

static int add_points(void *ctx, const struct metric_point *points, size_t n)
{
	metric_steps_add(ctx, points, n);
	return 0;
}

static int add_series(struct measuring *m, uint32_t series, uint32_t group)
{
	struct source *s = m->q->source;
	int64_t from_ns = m->opts.from_ns, gap_ns = m->opts.max_gap_ns;
	int64_t end_ns = sum_add(from_ns, sum_mul(m->opts.step_ns, m->opts.n));
	double *sums = m->sums + group * m->opts.n;
	struct metric_steps steps;

	metric_steps_init(&steps, &m->opts);
	/* Adjacent points outside form pairs with points inside. */
	int rc = s->ops->points(s, series, sum_sub(from_ns, gap_ns), sum_add(end_ns, gap_ns),
				add_points, &steps, m->err);
	if (rc == 0)
		metric_steps_get(&steps, m->one);
	for (size_t i = 0; rc == 0 && i < m->opts.n; i++)
		if (!isnan(m->one[i]))
			sums[i] = isnan(sums[i]) ? m->one[i] : sums[i] + m->one[i];
	metric_steps_done(&steps);
	return rc ? rc : guard_check(&m->guard, m->err);
}

/* pid, tid and cpu are columns of samples; a metric can only have them as labels. */
static uint32_t group_of(struct measuring *m, uint32_t series)
{
	const struct source_row row = {
		.series = series, .pid = SAMPLE_NO_ID, .tid = SAMPLE_NO_ID, .cpu = SAMPLE_NO_ID
	};

	return m->groups.wanted[series] ? groups_of_row(&m->groups, &row) : GROUP_NONE;
}

/* --- all -------------------------------------------------------------------------------------- */

static int make_sums(struct measuring *m)
{
	size_t n = m->groups.n * m->opts.n;
	int rc = groups_check(&m->groups, m->err);

	if (rc == 0)
		rc = guard_rows(&m->guard, n, m->err);
	if (rc == 0)
		rc = guard_memory(&m->guard, (n + 3 * m->opts.n) * sizeof *m->sums, m->err);
	if (rc)
		return rc;
	m->sums = xcalloc(n + 1, sizeof *m->sums);
	m->one = xcalloc(m->opts.n + 1, sizeof *m->one);
	for (size_t i = 0; i < n; i++)
		m->sums[i] = NAN;
	return 0;
}

static int add_all(struct measuring *m)
{
	uint32_t n = m->groups.catalog->series.series.n;
	uint32_t *group = xcalloc(n + 1, sizeof *group);

	for (uint32_t i = 0; i < n; i++)
		group[i] = group_of(m, i);
	int rc = make_sums(m);
	for (uint32_t i = 0; rc == 0 && i < n; i++)
		if (group[i] != GROUP_NONE)
			rc = add_series(m, i, group[i]);
	free(group);
	return rc;
}

static int settle(struct measuring *m, enum metric_reduction reduction, int64_t step_ns)
{
	const struct query *q = m->q;
	const struct profile *catalog = q->source->ops->catalog(q->source);
	__int128 n = ((__int128)q->to_ns - q->from_ns + step_ns - 1) / step_ns;

	if (q->to_ns <= q->from_ns)
		return err_set(m->err, EINVAL, "the range ends before it starts");
	if (n > QUERY_MAX_STEPS) {
		err_set(m->err, E2BIG, "more than %d steps in the range", QUERY_MAX_STEPS);
		return err_hint(m->err, "use longer steps, or a shorter range");
	}
	if (q->from_ns + n * step_ns > INT64_MAX)
		return err_set(m->err, EINVAL, "the range ends too late");
	m->opts = (struct metric_steps_opts){
		.kind = metric_kind_of(&catalog->series.types.v[q->type]),
		.reduction = reduction,
		.from_ns = q->from_ns,
		.step_ns = step_ns,
		.n = (size_t)n,
		.max_gap_ns = step_ns > QUERY_METRIC_GAP_NS ? step_ns : QUERY_METRIC_GAP_NS,
	};
	return 0;
}

/* --- the response ----------------------------------------------------------------------------- */

static const char *kept(struct arena *a, const char *text)
{
	return arena_dup(a, text, strlen(text));
}

static int order_cmp(const void *a, const void *b, void *ctx)
{
	const struct query_metric *m = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	for (uint32_t i = 0; i < m->n_by; i++) {
		int order = strcmp(m->names[x * m->n_by + i], m->names[y * m->n_by + i]);
		if (order)
			return order;
	}
	return x < y ? -1 : x > y;
}

static bool has_any(const struct query_metric *m, uint32_t group)
{
	for (size_t i = 0; i < m->steps; i++)
		if (!isnan(m->values[group * m->steps + i]))
			return true;
	return false;
}

static void take_answer(struct measuring *m, struct query_metric *out)
{
	const struct profile *catalog = m->groups.catalog;
	const struct type *t = &catalog->series.types.v[m->q->type];
	uint32_t n = m->groups.n * m->q->n_by;

	*out = (struct query_metric){ .from_ns = m->opts.from_ns,
				      .step_ns = m->opts.step_ns,
				      .steps = m->opts.n,
				      .groups = m->groups.n,
				      .n_by = m->q->n_by };
	out->name = kept(&out->arena, profile_str(catalog, t->name));
	out->unit = kept(&out->arena, profile_str(catalog, t->unit));
	out->values = arena_dup(&out->arena, m->sums, out->groups * out->steps * sizeof *m->sums);
	out->names = arena_alloc(&out->arena, (n + 1) * sizeof *out->names);
	for (uint32_t i = 0; i < n; i++)
		out->names[i] =
			kept(&out->arena, groups_text(&m->groups, i / out->n_by, i % out->n_by));
	out->order = arena_alloc(&out->arena, out->groups * sizeof *out->order + 1);
	for (uint32_t i = 0; i < out->groups; i++)
		if (has_any(out, i))
			out->order[out->n_shown++] = i;
	qsort_r(out->order, out->n_shown, sizeof *out->order, order_cmp, out);
}

int query_metric(const struct query *q, enum metric_reduction reduction, int64_t step_ns,
		 struct query_metric *out, struct err *err)
{
	struct measuring m = { .q = q, .err = err };

	if (!q->source->ops->points)
		return err_set(err, EINVAL, "no metrics");
	guard_begin(&m.guard, &q->limits, q->source);
	int rc = settle(&m, reduction, step_ns);
	if (rc == 0)
		rc = groups_init(&m.groups, q, err);
	if (rc == 0)
		rc = add_all(&m);
	if (rc == 0)
		take_answer(&m, out);
	guard_end(&m.guard, q->source);
	groups_done(&m.groups);
	free(m.sums);
	free(m.one);
	return rc;
}

void query_metric_done(struct query_metric *m)
{
	arena_done(&m->arena);
	*m = (struct query_metric){ 0 };
}

const char *const query_reductions[] = { "auto", "avg", "min", "max", "rate", NULL };

enum metric_reduction query_reduction(const struct query *q, int word)
{
	const struct profile *p = q->source->ops->catalog(q->source);
	if (word)
		return (enum metric_reduction)(word - 1);
	return metric_kind_of(&p->series.types.v[q->type]) == METRIC_COUNTER ? METRIC_RATE
									     : METRIC_AVG;
}
