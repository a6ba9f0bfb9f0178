/* Waits are added as differences between neighbouring cells, so a wait of a day costs as much as
 * one of a second. */
#include "profile/tree/heatmap.h"

#include "base/mem.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/sum.h"
#include "profile/tree/time_range.h"
#include "profile/tree/tree.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

enum { SECOND_NS = 1000000000 };

struct filler {
	const struct profile *p;
	const struct tree_opts *opts;
	struct heatmap *h;
	size_t n;
	__int128 *cell; /* amount added to a cell */
	__int128 *step; /* amount added to this and all later cells */
};

/* Returns the i-th possible width of a column; beyond a day each is twice the previous one. */
static int64_t column_width(int i)
{
	static const int seconds[] = { 1,   2,   5,    10,   15,   30,    60,    120,   300,
				       600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400 };
	enum { N = sizeof seconds / sizeof *seconds };
	return i < N ? (int64_t)seconds[i] * SECOND_NS
		     : ((int64_t)seconds[N - 1] * SECOND_NS) << (i - N + 1);
}

/* Picks the narrowest width. The loop ends before the width overflows: two columns cover the range
 * of int64_t long before that. */
static void settle_axis(struct heatmap *h, uint32_t max_columns)
{
	uint64_t columns = UINT64_MAX;
	for (int i = 0; columns > max_columns; i++) {
		h->column_ns = column_width(i);
		h->start_ns = h->from_ns - h->from_ns % h->column_ns;
		columns = (uint64_t)(h->to_ns - 1 - h->start_ns) / h->column_ns + 1;
	}
	h->columns = columns;
	h->row_ns = h->column_ns / HEATMAP_ROWS;
}

static size_t cell_at(const struct filler *f, int64_t ns)
{
	return (uint64_t)(ns - f->h->start_ns) / f->h->row_ns;
}

/* Adds equal parts to the cells first … first + n - 1, and the remainder to the first of them. */
static void add_evenly(struct filler *f, size_t first, size_t n, int64_t value)
{
	int64_t each = value / (int64_t)n, left = value % (int64_t)n;
	int64_t one = left < 0 ? -1 : 1;
	f->step[first] += each + one;
	f->step[first + left * one] -= one;
	f->step[first + n] -= each;
}

/* Adds a sample that covers from_ns … to_ns, entirely on the axis. */
static void add_wait(struct filler *f, int64_t from_ns, int64_t to_ns, int64_t value)
{
	int64_t length = to_ns - from_ns, row_ns = f->h->row_ns;
	size_t first = cell_at(f, from_ns), last = cell_at(f, to_ns - 1);
	if (first == last) {
		f->cell[first] += value;
		return;
	}
	int64_t second_ns = f->h->start_ns + (int64_t)(first + 1) * row_ns;
	int64_t last_ns = f->h->start_ns + (int64_t)last * row_ns;
	int64_t head = sample_worth_up_to(value, length, second_ns - from_ns);
	int64_t body = sample_worth_up_to(value, length, last_ns - from_ns);
	f->cell[first] += head;
	f->cell[last] += (__int128)value - body;
	if (last > first + 1)
		add_evenly(f, first + 1, last - first - 1, body - head);
}

static void add_sample(struct filler *f, const struct tree_sample *s)
{
	struct heatmap *h = f->h;
	struct sample_part part;
	if (!sample_part_in(f->p, s->row, f->opts, &part))
		return;
	int64_t from = sum_sub(part.time_ns, f->p->meta.start_mono_ns);
	int64_t to = sum_add(from, part.length_ns), value = s->value;
	if (part.length_ns ? to <= h->from_ns : from < h->from_ns) {
		h->outside = sum_add(h->outside, value);
		return;
	}
	if (from < h->from_ns) {
		int64_t before = sample_worth_up_to(value, to - from, h->from_ns - from);
		h->outside = sum_add(h->outside, before);
		value -= before;
		from = h->from_ns;
	}
	to = to < h->to_ns ? to : h->to_ns; /* only near INT64_MAX */
	if (to > from)
		add_wait(f, from, to, value);
	else
		f->cell[cell_at(f, from < h->to_ns ? from : h->to_ns - 1)] += value;
}

static int64_t clamp(__int128 v)
{
	return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

static void fill(struct filler *f, const struct tree_samples *samples)
{
	struct heatmap *h = f->h;
	__int128 run = 0;
	f->n = (size_t)h->columns * HEATMAP_ROWS;
	f->cell = xcalloc(f->n + 1, sizeof *f->cell);
	f->step = xcalloc(f->n + 1, sizeof *f->step);
	for (size_t i = 0; i < samples->rows.n; i++)
		add_sample(f, &samples->rows.v[i]);
	h->cells = xcalloc(f->n, sizeof *h->cells);
	for (size_t i = 0; i < f->n; i++) {
		run += f->step[i];
		h->cells[i] = clamp(f->cell[i] + run);
		h->max = h->cells[i] > h->max ? h->cells[i] : h->max;
	}
	free(f->cell);
	free(f->step);
}

int heatmap_build(struct profile *p, const struct tree_opts *opts, uint32_t max_columns,
		  struct heatmap *out, struct err *err)
{
	struct filler f = { .p = p, .opts = opts, .h = out };
	struct tree_samples samples = { 0 };
	assert(max_columns >= 2 && max_columns <= HEATMAP_MAX_COLUMNS);
	*out = (struct heatmap){ .epoch_ns = p->meta.start_wall_ns ? p->meta.start_wall_ns
								   : p->meta.start_mono_ns };
	int rc = tree_build_samples(p, opts, &out->tree, &samples, err);
	if (rc == 0) {
		time_range_shown(p, opts, &samples, &out->from_ns, &out->to_ns);
		settle_axis(out, max_columns);
		fill(&f, &samples);
	}
	vec_done(&samples.rows);
	return rc;
}

void heatmap_done(struct heatmap *h)
{
	tree_free(h->tree);
	free(h->cells);
	*h = (struct heatmap){ 0 };
}

bool heatmap_cell_range(const struct heatmap *h, uint32_t column, uint32_t row, int64_t *from_ns,
			int64_t *to_ns)
{
	int64_t from = sum_add(h->start_ns, sum_mul(column, h->column_ns));
	from = sum_add(from, sum_mul(row, h->row_ns));
	int64_t to = sum_add(from, h->row_ns);
	*from_ns = from > h->from_ns ? from : h->from_ns;
	*to_ns = to < h->to_ns ? to : h->to_ns;
	return *to_ns > *from_ns;
}
