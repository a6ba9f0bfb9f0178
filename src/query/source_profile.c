/* One profile as a source. Rows are sorted once, by series, then time; of those that cover time the greatest end so far is kept beside
 * them, so that both edges of a range are found by halving. */
#include "profile/sum.h"
#include "profile/time_range.h"
#include "profile/weight.h"
#include "query/source.h"
#include "query/source_readings.h"
#include "query/steps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STOP_EVERY = 1 << 14 }; /* rows between two questions whether to go on */

struct source_profile {
	struct source base;
	struct profile *p;
	bool has_times;
	int64_t shift_ns;       /* added to a sample's time it is Unix time */
	int64_t from_ns, to_ns; /* of all there is */
	uint32_t *rows;         /* by series, then time */
	size_t *start;          /* by series: the first in rows; and the end */
	int64_t *
		end_max_ns; /* by index in rows, of its series up to here; NULL: nothing covers time */
	struct sample_weight *weight; /* by series */
	uint32_t *slot;               /* by stack, while sums are made: index in sums.all + 1 */
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

/* The first moment behind a row. */
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

/* By counting, in the order they have; most files have them by time. */
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

static void note_ends(struct source_profile *s, size_t first, size_t end)
{
	int64_t most = INT64_MIN;
	for (size_t i = first; i < end; i++) {
		int64_t to = row_end_ns(s, s->rows[i]);
		most = to > most ? to : most;
		s->end_max_ns[i] = most;
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
		if (s->end_max_ns)
			note_ends(s, s->start[i], s->start[i + 1]);
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

/* What of the rows of a series may be in a range: rows[first … end). */
struct row_span {
	size_t first, end;
};

/* The first index whose row ends behind from_ns. */
static size_t first_behind(const struct source_profile *s, size_t low, size_t high, int64_t from_ns)
{
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int64_t end =
			s->end_max_ns ? s->end_max_ns[middle] : row_end_ns(s, s->rows[middle]);
		if (end > from_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The first index whose row begins at to_ns or later. */
static size_t first_from(const struct source_profile *s, size_t low, size_t high, int64_t to_ns)
{
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (row_time_ns(s, s->rows[middle]) >= to_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static bool touches(const struct source_profile *s, int64_t from_ns, int64_t to_ns)
{
	return from_ns < s->to_ns && to_ns > s->from_ns;
}

static struct row_span find_rows(const struct source_profile *s, uint32_t series, int64_t from_ns,
				 int64_t to_ns)
{
	size_t first = s->start[series], end = s->start[series + 1];
	if (!s->has_times)
		return (struct row_span){ first, touches(s, from_ns, to_ns) ? end : first };
	end = first_from(s, first, end, to_ns);
	return (struct row_span){ first_behind(s, first, end, from_ns), end };
}

/* Cut to the range; without times nothing is. */
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
	m->weighted |= part.value < 0; /* a sum counts no samples then */
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

static int give_row(struct source_profile *s, uint32_t row, const struct sample_part *part,
		    source_row_fn give, void *ctx)
{
	struct source_row out = source_profile_row(s->p, row, part);
	return give(ctx, &out);
}

/* What of a row is in a range: the part that is, or all of it where it begins there. */
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
	int rc = 0;
	for (uint32_t i = 0; i < s->p->series.series.n; i++) {
		struct row_span span = { 0 };
		if (wanted[i])
			span = find_rows(s, i, from_ns, to_ns);
		for (size_t k = span.first; k < span.end; k++) {
			if (stops_at(s, k))
				return canceled(err);
			if (in_range(s, s->rows[k], from_ns, to_ns, &part))
				rc = give_row(s, s->rows[k], &part, row, ctx);
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
	size_t n;
	const struct metric_point *first =
		source_readings_in(&of(base)->readings, series, from_ns, to_ns, &n);
	(void)err;
	return n ? points(ctx, first, n) : 0;
}

static void profile_close(struct source *base)
{
	struct source_profile *s = of(base);
	source_readings_done(&s->readings);
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
