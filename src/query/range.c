/* Totals over time. The sums of a group come from those of its series, separately for each period;
 * for snapshots and columns, row by row. */
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/sum.h"
#include "query/groups.h"
#include "query/guard.h"
#include "query/plan.h"
#include "query/query.h"
#include "query/snapshots.h"
#include "query/time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A group's value in a snapshot. */
struct snapshot {
	uint32_t origin, group;
	int64_t time_ns, value;
};

struct ranging {
	const struct query *q;
	struct guard guard;
	struct groups groups;
	struct step_axis axis;
	VEC(int64_t) sums; /* [group * steps + step] */
	VEC(struct snapshot) snapshots;
	struct snapshots *origins;
	struct err *err;
};

/* Adds zeros for new groups. */
static int grow_sums(struct ranging *r)
{
	size_t n = r->groups.n * r->axis.n, old = r->sums.n;
	int rc = groups_check(&r->groups, r->err);
	if (rc == 0)
		rc = guard_rows(&r->guard, n, r->err);
	if (rc == 0)
		rc = guard_memory(&r->guard, n * sizeof *r->sums.v, r->err);
	if (rc < 0 || n <= old)
		return rc;
	vec_reserve(&r->sums, n);
	memset(r->sums.v + old, 0, (n - old) * sizeof *r->sums.v);
	r->sums.n = n;
	return 0;
}

/* --- by series --- */

static int add_steps(struct ranging *r, const uint32_t *group, int64_t factor)
{
	struct source *s = r->q->source;
	int64_t *sums = r->sums.v;
	if (factor != 1)
		sums = xcalloc(r->sums.n, sizeof *sums);
	int rc = s->ops->steps(s, group, r->axis.from_ns, r->axis.step_ns, r->axis.n, sums, r->err);
	if (factor == 1)
		return rc;
	for (size_t i = 0; i < r->sums.n; i++)
		r->sums.v[i] = sum_add(r->sums.v[i], sum_mul(sums[i], factor));
	free(sums);
	return rc;
}

/* Selects the series with the same factor as the first remaining one. */
static bool next_factor(const struct groups *g, bool *done, uint32_t *group, int64_t *factor)
{
	bool any = false;
	for (uint32_t i = 0; i < g->catalog->series.series.n; i++) {
		group[i] = GROUP_NONE;
		if (!g->wanted[i] || done[i])
			continue;
		if (!any)
			*factor = groups_factor(g, i);
		any = true;
		if (groups_factor(g, i) != *factor)
			continue;
		group[i] = g->of_series[i];
		done[i] = true;
	}
	return any;
}

static int range_of_series(struct ranging *r)
{
	size_t n = r->groups.catalog->series.series.n;
	bool *done = xcalloc(n, sizeof *done);
	uint32_t *group = xcalloc(n, sizeof *group);
	int64_t factor = 1;
	int rc = grow_sums(r);
	while (rc == 0 && next_factor(&r->groups, done, group, &factor)) {
		rc = add_steps(r, group, factor);
		if (rc == 0)
			rc = guard_check(&r->guard, r->err);
	}
	free(done);
	free(group);
	return rc;
}

/* --- by rows --- */

static void add_to_steps(struct ranging *r, uint32_t group, int64_t factor,
			 const struct source_row *row)
{
	step_axis_add(&r->axis, row->time_ns, row->length_ns, sum_mul(row->value, factor),
		      r->sums.v + group * r->axis.n);
}

static int add_row(void *ctx, const struct source_row *row)
{
	struct ranging *r = ctx;
	uint32_t group = groups_of_row(&r->groups, row);
	if (group == GROUP_NONE)
		return groups_check(&r->groups, r->err);
	int rc = grow_sums(r);
	if (rc == 0)
		add_to_steps(r, group, groups_factor(&r->groups, row->series), row);
	return rc;
}

/* All rows are in one group, as windows have no ids. */
static int add_columns(void *ctx, const struct source_columns *c)
{
	struct ranging *r = ctx;
	struct source_row row = source_columns_row(c, 0);
	uint32_t group = groups_of_row(&r->groups, &row);
	if (group == GROUP_NONE)
		return groups_check(&r->groups, r->err);
	int64_t factor = groups_factor(&r->groups, c->series);
	int rc = grow_sums(r);
	for (size_t i = 0; rc == 0 && i < c->n; i++) {
		row = source_columns_row(c, i);
		add_to_steps(r, group, factor, &row);
	}
	return rc;
}

static int range_of_rows(struct ranging *r)
{
	const struct query *q = r->q;
	return groups_read(&r->groups, q->from_ns, q->to_ns, add_row, add_columns, r, r->err);
}

/* --- snapshots --- */

/* A snapshot without data for the query has GROUP_NONE. */
static int note_row(void *ctx, const struct source_row *row)
{
	struct ranging *r = ctx;
	struct snapshot s = { .origin = snapshots_origin(r->origins, row),
			      .group = groups_of_row(&r->groups, row),
			      .time_ns = row->time_ns };
	struct snapshot *last = r->snapshots.n ? &r->snapshots.v[r->snapshots.n - 1] : NULL;
	int64_t value = sum_mul(row->value, groups_factor(&r->groups, row->series));
	if (s.group != GROUP_NONE)
		s.value = value;
	if (last && last->origin == s.origin && last->group == s.group &&
	    last->time_ns == s.time_ns)
		last->value = sum_add(last->value, s.value);
	else
		vec_push(&r->snapshots, s);
	return guard_memory(&r->guard, vec_size_bytes(&r->snapshots), r->err);
}

static int snapshot_cmp(const void *a, const void *b)
{
	const struct snapshot *x = a, *y = b;
	if (x->origin != y->origin)
		return x->origin < y->origin ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Adds the snapshot in rows first … end - 1, which holds until the next one of its origin at
 * next_ns. */
static void add_snapshot(struct ranging *r, size_t first, size_t end, int64_t next_ns)
{
	int64_t time_ns = r->snapshots.v[first].time_ns;
	int64_t stale_ns = sum_add(time_ns, QUERY_STALE_NS);
	size_t step = 0;
	if (time_ns >= r->axis.from_ns)
		step = ((uint64_t)time_ns - r->axis.from_ns) / r->axis.step_ns;
	for (; step < r->axis.n; step++) {
		struct step_axis until = { r->axis.from_ns, r->axis.step_ns, step + 1 };
		int64_t at_ns = step_axis_end_ns(&until);
		if (at_ns > stale_ns || at_ns > next_ns)
			return;
		for (size_t i = first; at_ns > time_ns && i < end; i++) {
			const struct snapshot *s = &r->snapshots.v[i];
			if (s->group == GROUP_NONE)
				continue;
			int64_t *sum = &r->sums.v[s->group * r->axis.n + step];
			*sum = sum_add(*sum, s->value);
		}
	}
}

static void add_snapshots(struct ranging *r)
{
	const struct snapshot *all = r->snapshots.v;
	size_t n = r->snapshots.n, end;
	if (n)
		qsort(r->snapshots.v, n, sizeof *r->snapshots.v, snapshot_cmp);
	for (size_t first = 0; first < n; first = end) {
		for (end = first + 1; end < n && all[end].origin == all[first].origin &&
				      all[end].time_ns == all[first].time_ns;)
			end++;
		bool has_next = end < n && all[end].origin == all[first].origin;
		add_snapshot(r, first, end, has_next ? all[end].time_ns : INT64_MAX);
	}
}

static int range_of_snapshots(struct ranging *r)
{
	struct snapshots origins;
	snapshots_init(&origins, r->q);
	r->origins = &origins;
	int rc = snapshots_rows(&origins, sum_sub(r->q->from_ns, QUERY_STALE_NS), note_row, r,
				r->err);
	snapshots_done(&origins);
	if (rc == 0)
		rc = grow_sums(r);
	if (rc == 0)
		add_snapshots(r);
	return rc;
}

/* --- the response - */

static const char *kept(struct arena *a, const char *text)
{
	return text ? arena_dup(a, text, strlen(text)) : NULL;
}

/* The total of snapshots is the maximum of all steps, as sums over time are meaningless. */
static void take_totals(struct ranging *r, struct query_range *out)
{
	out->totals = arena_zalloc(&out->arena, out->groups * sizeof *out->totals + 1);
	for (size_t i = 0; i < out->groups * out->steps; i++) {
		int64_t *total = &out->totals[i / out->steps];
		if (!query_is_snapshot(r->q))
			*total = sum_add(*total, out->sums[i]);
		else if (out->sums[i] > *total)
			*total = out->sums[i];
	}
}

static int order_cmp(const void *a, const void *b, void *ctx)
{
	const struct query_range *r = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (r->totals[x] != r->totals[y])
		return r->totals[x] > r->totals[y] ? -1 : 1;
	for (uint32_t i = 0; i < r->n_by; i++) {
		int order = strcmp(r->names[x * r->n_by + i], r->names[y * r->n_by + i]);
		if (order)
			return order;
	}
	return x < y ? -1 : x > y;
}

/* Groups without data are left out of the order. */
static void take_order(struct query_range *out)
{
	uint32_t n = 0;
	out->order = arena_alloc(&out->arena, out->groups * sizeof *out->order + 1);
	for (uint32_t i = 0; i < out->groups; i++) {
		bool any = false;
		for (size_t k = 0; k < out->steps && !any; k++)
			any = out->sums[i * out->steps + k] != 0;
		if (any)
			out->order[n++] = i;
	}
	out->n_shown = n;
	qsort_r(out->order, n, sizeof *out->order, order_cmp, out);
}

static void take_range(struct ranging *r, struct query_range *out)
{
	const struct profile *catalog = r->groups.catalog;
	const struct value_scale *scale = &r->groups.scale;
	uint32_t name = catalog->series.types.v[r->q->type].name;
	*out = (struct query_range){ .from_ns = r->axis.from_ns,
				     .step_ns = r->axis.step_ns,
				     .steps = r->axis.n,
				     .groups = r->groups.n,
				     .n_by = r->q->n_by,
				     .ids_missing = r->groups.ids_missing,
				     .scale = scale->scale };
	out->type_name = kept(&out->arena, profile_str(catalog, name));
	out->unit = kept(&out->arena, scale->unit);
	out->scaled_unit = kept(&out->arena, scale->scaled_unit);
	out->sums = arena_dup(&out->arena, r->sums.v, r->sums.n * sizeof *r->sums.v);
	uint32_t n = out->groups * out->n_by;
	out->names = arena_alloc(&out->arena, (n + 1) * sizeof *out->names);
	for (uint32_t i = 0; i < n; i++)
		out->names[i] =
			kept(&out->arena, groups_text(&r->groups, i / out->n_by, i % out->n_by));
	take_totals(r, out);
	take_order(out);
}

/* Rounds down to a multiple of window_ns; 0: no rounding. */
static int64_t round_down(int64_t ns, int64_t window_ns)
{
	int64_t over = window_ns ? ns % window_ns : 0;
	return over < 0 ? sum_sub(ns, over + window_ns) : ns - over;
}

static int settle_axis(struct ranging *r, int64_t step_ns)
{
	const struct query *q = r->q;
	int64_t window_ns = q->source->window_ns, from_ns = round_down(q->from_ns, window_ns);
	__int128 length = (__int128)q->to_ns - from_ns;
	if (q->to_ns <= q->from_ns)
		return err_set(r->err, EINVAL, "the range ends before it starts");
	if (window_ns)
		step_ns = round_down(sum_add(step_ns, window_ns - 1), window_ns);
	__int128 n = (length + step_ns - 1) / step_ns;
	if (n > QUERY_MAX_STEPS) {
		err_set(r->err, E2BIG, "more than %d steps in the range", QUERY_MAX_STEPS);
		err_hint(r->err, "use longer steps, or a shorter range");
		return -E2BIG;
	}
	r->axis = (struct step_axis){ from_ns, step_ns, n };
	return 0;
}

static int answer(struct ranging *r, int64_t step_ns, struct query_range *out)
{
	int rc = settle_axis(r, step_ns);
	if (rc == 0)
		rc = groups_init(&r->groups, r->q, r->err);
	if (rc == 0 && query_is_snapshot(r->q))
		rc = range_of_snapshots(r);
	else if (rc == 0)
		rc = r->groups.by_rows ? range_of_rows(r) : range_of_series(r);
	if (rc == 0)
		take_range(r, out);
	return rc;
}

int query_range(const struct query *q, int64_t step_ns, struct query_range *out, struct err *err)
{
	struct ranging r = { .q = q, .err = err };
	guard_begin(&r.guard, &q->limits, q->source);
	int rc = answer(&r, step_ns, out);
	guard_end(&r.guard, q->source);
	groups_done(&r.groups);
	vec_done(&r.sums);
	vec_done(&r.snapshots);
	return rc;
}

void query_range_done(struct query_range *r)
{
	arena_done(&r->arena);
	*r = (struct query_range){ 0 };
}
