/* A profile as a source. Rows are sorted once, by series, then time. For rows that cover time the
 * maximum end so far is stored as well, so that both ends of a range are found by binary search. */
#include "base/err.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/sum.h"
#include "profile/tree/time_range.h"
#include "profile/weight.h"
#include "query/source.h"
#include "query/time.h"
#include "store/codec/metric_samples.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- readings ---
 *
 * Readings of a profile (profile/readings.h) become series of its catalog, so queries for metrics
 * find them as in a store. */

struct source_readings {
	struct metric_points *of; /* by series of the profile; without points: not a reading */
	uint32_t n;
};

/* Adds to p a type for each name, and a series for each reading. Points are in time order, shifted
 * by shift_ns, without duplicate times. */
static void source_readings_init(struct source_readings *r, struct profile *p, int64_t shift_ns)
{
	uint32_t *series = xcalloc(p->readings.all.n + 1, sizeof *series);
	for (size_t i = 0; i < p->readings.all.n; i++)
		series[i] = metric_series_of_reading(p, &p->readings.all.v[i].key);
	*r = (struct source_readings){ .n = p->series.series.n };
	r->of = xcalloc(r->n + 1, sizeof *r->of);
	for (size_t i = 0; i < p->readings.all.n; i++) {
		const struct reading_series *from = &p->readings.all.v[i];
		struct metric_points *to = &r->of[series[i]];
		for (size_t k = 0; k < from->points.n; k++)
			vec_push(to, (struct metric_point){
					     sum_add(from->points.v[k].time_ns, shift_ns),
					     from->points.v[k].value });
		metric_points_order(to);
	}
	free(series);
}

/* Extends a range to include all readings. */
static void source_readings_reach(const struct source_readings *r, int64_t *from_ns, int64_t *to_ns)
{
	for (uint32_t i = 0; i < r->n; i++) {
		const struct metric_points *p = &r->of[i];
		if (!p->n)
			continue;
		*from_ns = p->v[0].time_ns < *from_ns ? p->v[0].time_ns : *from_ns;
		int64_t end_ns = sum_add(p->v[p->n - 1].time_ns, 1);
		*to_ns = end_ns > *to_ns ? end_ns : *to_ns;
	}
}

static size_t first_point_from(const struct metric_points *p, int64_t time_ns)
{
	return vec_lower(p, time_ns, time_ns);
}

enum { STOP_EVERY = 1 << 14 }; /* rows between two checks of stop */

struct source_profile {
	struct source base;
	struct profile *p;
	bool has_times;
	int64_t shift_ns;       /* added to a sample's time gives Unix time */
	int64_t from_ns, to_ns; /* of all data */
	uint32_t *rows;         /* by series, then time */
	size_t *start;          /* by series: index of its first in rows; then the end */
	/* by index in rows: the maximum end of its series so far; NULL: no row covers time */
	int64_t *end_max_ns;
	struct sample_weight *weight; /* by series */
	uint32_t *slot;               /* by stack, during a merge: index in sums.all + 1 */
	struct source_readings readings;
};

/* --- times --- */

static int64_t row_time_ns(const struct source_profile *s, uint32_t row)
{
	return s->has_times ? sum_add(s->p->samples.time_ns[row], s->shift_ns) : s->from_ns;
}

static int64_t row_length_ns(const struct source_profile *s, uint32_t row)
{
	int64_t length = sample_length_ns(&s->p->samples, row);
	return length > 0 ? length : 0;
}

/* Returns the first time after a row. */
static int64_t row_end_ns(const struct source_profile *s, uint32_t row)
{
	int64_t length = row_length_ns(s, row);
	return sum_add(row_time_ns(s, row), length ? length : 1);
}

static void find_extent(struct source_profile *s)
{
	const struct profile_meta *m = &s->p->meta;
	size_t n = s->p->samples.n;
	if (!n && !m->duration_ns)
		return;
	s->from_ns = m->start_wall_ns;
	s->to_ns = sum_add(m->start_wall_ns, m->duration_ns > 0 ? m->duration_ns : 1);
	for (uint32_t row = 0; s->has_times && row < n; row++) {
		int64_t from = row_time_ns(s, row), to = row_end_ns(s, row);
		s->from_ns = from < s->from_ns ? from : s->from_ns;
		s->to_ns = to > s->to_ns ? to : s->to_ns;
	}
	if (s->has_times)
		source_readings_reach(&s->readings, &s->from_ns, &s->to_ns);
}

/* --- the index --- */

static int row_cmp(const void *a, const void *b, void *ctx)
{
	const struct sample_columns *c = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (c->time_ns[x] != c->time_ns[y])
		return c->time_ns[x] < c->time_ns[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Counting sort by series; retains the order of rows, which is by time in most files. */
static void place_rows(struct source_profile *s)
{
	const struct sample_columns *c = &s->p->samples;
	size_t n_series = s->p->series.series.n;
	size_t *next = xcalloc(n_series + 1, sizeof *next);
	s->start = xcalloc(n_series + 1, sizeof *s->start);
	s->rows = xreallocarray(NULL, c->n, sizeof *s->rows);
	for (size_t row = 0; row < c->n; row++)
		s->start[c->series[row] + 1]++;
	for (size_t i = 0; i < n_series; i++)
		s->start[i + 1] += s->start[i];
	memcpy(next, s->start, n_series * sizeof *next);
	for (size_t row = 0; row < c->n; row++)
		s->rows[next[c->series[row]]++] = row;
	free(next);
}

static void sort_series(struct source_profile *s, size_t first, size_t end)
{
	const int64_t *time = s->p->samples.time_ns;
	for (size_t i = first + 1; i < end; i++) {
		if (time[s->rows[i - 1]] <= time[s->rows[i]])
			continue;
		qsort_r(s->rows + first, end - first, sizeof *s->rows, row_cmp, &s->p->samples);
		return;
	}
}

static void index_rows(struct source_profile *s)
{
	const struct sample_columns *c = &s->p->samples;
	place_rows(s);
	if (c->length_ns)
		s->end_max_ns = xreallocarray(NULL, c->n, sizeof *s->end_max_ns);
	for (size_t i = 0; i < s->p->series.series.n; i++) {
		sort_series(s, s->start[i], s->start[i + 1]);
		int64_t most = INT64_MIN;
		for (size_t k = s->start[i]; s->end_max_ns && k < s->start[i + 1]; k++) {
			int64_t to = row_end_ns(s, s->rows[k]);
			most = to > most ? to : most;
			s->end_max_ns[k] = most;
		}
	}
}

static void weigh_series(struct source_profile *s)
{
	size_t n = s->p->series.series.n;
	s->weight = xreallocarray(NULL, n, sizeof *s->weight);
	for (uint32_t i = 0; i < n; i++) {
		bool has_times = false;
		for (size_t k = s->start[i]; k < s->start[i + 1] && !has_times; k++)
			has_times = s->p->samples.time_ns[s->rows[k]] != 0;
		s->weight[i] = series_weight(s->p, i, has_times);
	}
}

/* --- ranges --- */

/* Rows of a series that may be in a range: rows[first … end). */
struct row_span {
	size_t first, end;
};

/* Returns the first index whose row ends after from_ns. */
static size_t first_behind(const struct source_profile *s, size_t low, size_t high, int64_t from_ns)
{
	if (s->end_max_ns)
		return search_first(i, low, high, s->end_max_ns[i] > from_ns);
	return search_first(i, low, high, row_end_ns(s, s->rows[i]) > from_ns);
}

static struct row_span find_rows(const struct source_profile *s, uint32_t series, int64_t from_ns,
				 int64_t to_ns)
{
	size_t first = s->start[series], end = s->start[series + 1];
	bool touches = from_ns < s->to_ns && to_ns > s->from_ns;
	if (!s->has_times)
		return (struct row_span){ first, touches ? end : first };
	end = search_first(i, first, end, row_time_ns(s, s->rows[i]) >= to_ns);
	return (struct row_span){ first_behind(s, first, end, from_ns), end };
}

/* Clips a row to the range; without times rows are never clipped. */
static bool part_of_row(const struct source_profile *s, uint32_t row, int64_t from_ns,
			int64_t to_ns, struct sample_part *out)
{
	*out = (struct sample_part){ row_time_ns(s, row), row_length_ns(s, row),
				     s->p->samples.value[row] };
	return !s->has_times || sample_part_cut(out, from_ns, to_ns);
}

static int canceled(struct err *err)
{
	return err_set(err, ECANCELED, "the query was stopped");
}

static bool stops_at(const struct source_profile *s, size_t i)
{
	return i % STOP_EVERY == 0 && source_is_stopped(&s->base);
}

/* --- the operations --- */

static struct source_profile *of(struct source *base)
{
	return (struct source_profile *)base;
}

static const struct profile *profile_catalog(struct source *base)
{
	return of(base)->p;
}

static void profile_range(struct source *base, int64_t *from_ns, int64_t *to_ns)
{
	*from_ns = of(base)->from_ns;
	*to_ns = of(base)->to_ns;
}

struct stack_row {
	uint32_t stack;
	int64_t value;
	double count, squares;
	uint32_t rows;
};
struct merging {
	struct source_profile *s;
	int64_t from_ns, to_ns;
	bool weighted;
	VEC(struct stack_row) all;
};

static void merge_row(struct merging *m, uint32_t row, struct sample_weight each)
{
	struct source_profile *s = m->s;
	uint32_t stack = s->p->samples.stack[row];
	struct sample_part part;
	if (!part_of_row(s, row, m->from_ns, m->to_ns, &part) || !part.value)
		return;
	if (!s->slot[stack]) {
		vec_push(&m->all, (struct stack_row){ .stack = stack });
		s->slot[stack] = m->all.n;
	}
	struct stack_row *sum = &m->all.v[s->slot[stack] - 1];
	double value = fabs((double)part.value), weight = row_weight(s->p, each, stack, value);
	sum->value = sum_add(sum->value, part.value);
	m->weighted |= part.value < 0; /* then the sum is not a number of samples */
	sum->rows++;
	sum->count += value / weight;
	sum->squares += value * weight;
}

static int merge_series(struct merging *m, uint32_t series, struct err *err)
{
	struct row_span span = find_rows(m->s, series, m->from_ns, m->to_ns);
	m->weighted |= m->s->weight[series].each != 1;
	for (size_t i = span.first; i < span.end; i++) {
		if (stops_at(m->s, i))
			return canceled(err);
		merge_row(m, m->s->rows[i], m->s->weight[series]);
	}
	return 0;
}

static int stack_row_cmp(const void *a, const void *b)
{
	const struct stack_row *x = a, *y = b;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void take_sums(const struct merging *m, struct source_sums *out)
{
	size_t n = m->all.n;
	if (n)
		qsort(m->all.v, n, sizeof *m->all.v, stack_row_cmp);
	*out = (struct source_sums){ .dict = m->s->p, .n = n };
	out->stack = xreallocarray(NULL, n, sizeof *out->stack);
	out->value = xreallocarray(NULL, n, sizeof *out->value);
	out->rows = xreallocarray(NULL, n, sizeof *out->rows);
	if (m->weighted) {
		out->count = xreallocarray(NULL, n, sizeof *out->count);
		out->squares = xreallocarray(NULL, n, sizeof *out->squares);
	}
	for (size_t i = 0; i < n; i++) {
		const struct stack_row *row = &m->all.v[i];
		out->stack[i] = row->stack;
		out->value[i] = row->value;
		out->rows[i] = row->rows;
		if (!m->weighted)
			continue;
		out->count[i] = row->count;
		out->squares[i] = row->squares;
	}
}

static int profile_merge_sums(struct source *base, const bool *wanted, int64_t from_ns,
			      int64_t to_ns, struct source_merged *out, struct err *err)
{
	struct source_profile *s = of(base);
	struct merging m = { .s = s, .from_ns = from_ns, .to_ns = to_ns };
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < s->p->series.series.n; i++)
		if (wanted[i])
			rc = merge_series(&m, i, err);
	for (size_t i = 0; i < m.all.n; i++)
		s->slot[m.all.v[i].stack] = 0;
	if (rc == 0) {
		bool is_cut = from_ns > s->from_ns || to_ns < s->to_ns;
		*out = (struct source_merged){ .parts = xcalloc(1, sizeof *out->parts),
					       .n = 1,
					       .rounded = !s->has_times && m.all.n && is_cut };
		take_sums(&m, out->parts);
	}
	vec_done(&m.all);
	return rc;
}

static int profile_steps(struct source *base, const uint32_t *group, int64_t from_ns,
			 int64_t step_ns, size_t steps, int64_t *sums, struct err *err)
{
	struct source_profile *s = of(base);
	struct step_axis axis = { from_ns, step_ns, steps };
	for (uint32_t i = 0; i < s->p->series.series.n; i++) {
		if (group[i] == UINT32_MAX)
			continue;
		struct row_span span = find_rows(s, i, from_ns, step_axis_end_ns(&axis));
		for (size_t k = span.first; k < span.end; k++) {
			uint32_t row = s->rows[k];
			if (stops_at(s, k))
				return canceled(err);
			step_axis_add(&axis, row_time_ns(s, row), row_length_ns(s, row),
				      s->p->samples.value[row], sums + group[i] * steps);
		}
	}
	return 0;
}

struct source_row source_profile_row(struct profile *p, size_t row, const struct sample_part *part)
{
	const struct sample_columns *c = &p->samples;
	return (struct source_row){ .dict = p,
				    .time_ns = part->time_ns,
				    .length_ns = part->length_ns,
				    .value = part->value,
				    .series = c->series[row],
				    .stack = c->stack[row],
				    .pid = c->pid[row],
				    .tid = c->tid[row],
				    .cpu = c->cpu[row],
				    .link = link_get(&p->links, sample_link(c, row)) };
}

/* Returns the part of a row in a range, or all of a row that starts there. */
typedef bool (*row_in_range)(const struct source_profile *s, uint32_t row, int64_t from_ns,
			     int64_t to_ns, struct sample_part *out);

static bool whole_row(const struct source_profile *s, uint32_t row, int64_t from_ns, int64_t to_ns,
		      struct sample_part *out)
{
	*out = (struct sample_part){ row_time_ns(s, row), row_length_ns(s, row),
				     s->p->samples.value[row] };
	return !s->has_times || (out->time_ns >= from_ns && out->time_ns < to_ns);
}

static int give_rows(struct source *base, const bool *wanted, int64_t from_ns, int64_t to_ns,
		     row_in_range in_range, source_row_fn row, void *ctx, struct err *err)
{
	struct source_profile *s = of(base);
	struct sample_part part;
	for (uint32_t i = 0; i < s->p->series.series.n; i++) {
		struct row_span span = { 0 };
		if (wanted[i])
			span = find_rows(s, i, from_ns, to_ns);
		for (size_t k = span.first; k < span.end; k++) {
			if (stops_at(s, k))
				return canceled(err);
			if (!in_range(s, s->rows[k], from_ns, to_ns, &part))
				continue;
			struct source_row out = source_profile_row(s->p, s->rows[k], &part);
			int rc = row(ctx, &out);
			if (rc)
				return rc;
		}
	}
	return 0;
}

static int profile_rows(struct source *base, const bool *wanted, int64_t from_ns, int64_t to_ns,
			source_row_fn row, void *ctx, struct err *err)
{
	return give_rows(base, wanted, from_ns, to_ns, part_of_row, row, ctx, err);
}

static int profile_whole_rows(struct source *base, const bool *wanted, int64_t from_ns,
			      int64_t to_ns, source_row_fn row, void *ctx, struct err *err)
{
	return give_rows(base, wanted, from_ns, to_ns, whole_row, row, ctx, err);
}

static int profile_points(struct source *base, uint32_t series, int64_t from_ns, int64_t to_ns,
			  source_points_fn points, void *ctx, struct err *err)
{
	const struct metric_points *p = &of(base)->readings.of[series];
	size_t first = first_point_from(p, from_ns), end = first_point_from(p, to_ns);
	(void)err;
	return end > first ? points(ctx, p->v + first, end - first) : 0;
}

static void profile_close(struct source *base)
{
	struct source_profile *s = of(base);
	for (uint32_t i = 0; i < s->readings.n; i++)
		vec_done(&s->readings.of[i]);
	free(s->readings.of);
	free(s->rows);
	free(s->start);
	free(s->end_max_ns);
	free(s->weight);
	free(s->slot);
	free(s);
}

static const struct source_ops profile_ops = {
	.catalog = profile_catalog,
	.range = profile_range,
	.merge = profile_merge_sums,
	.steps = profile_steps,
	.rows = profile_rows,
	.whole_rows = profile_whole_rows,
	.points = profile_points,
	.close = profile_close,
};

struct source *source_of_profile(struct profile *p)
{
	struct source_profile *s = xcalloc(1, sizeof *s);
	s->base.ops = &profile_ops;
	s->p = p;
	s->has_times = p->samples.n && profile_has_times(p);
	s->base.is_block = !s->has_times;
	s->base.since_start = !p->meta.start_wall_ns;
	s->shift_ns = sum_sub(p->meta.start_wall_ns, p->meta.start_mono_ns);
	s->slot = xcalloc(p->stacks.stacks.n, sizeof *s->slot);
	source_readings_init(&s->readings, p, s->shift_ns);
	find_extent(s);
	index_rows(s);
	weigh_series(s);
	return &s->base;
}
