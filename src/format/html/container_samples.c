/* Columns of samples for the timeline; too many are summed in windows. */
#include "format/html/container.h"

#include "base/buf.h"
#include "base/pb.h"
#include "base/vec.h"
#include "profile/sum.h"
#include "profile/tree/time_range.h"

#include <stdlib.h>

/* Windows grow by this factor until the rows are few enough. The last window is longer than any
 * recording, and one more step would still fit 64 bits. */
enum { WINDOW_GROWTH = 4, WINDOW_STEPS = 21 };
#define WINDOW_FIRST_NS 1000000

/* --- order --- */

static int by_number(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_time(const void *a, const void *b)
{
	const struct container_row *x = a, *y = b;
	int order = by_number(x->time_ns, y->time_ns);
	order = order ? order : by_number(x->thread, y->thread);
	order = order ? order : by_number(x->node, y->node);
	order = order ? order : by_number(x->length_ns, y->length_ns);
	return order ? order : by_number(x->value, y->value);
}

/* --- windows --- */

static int64_t window_start(int64_t time_ns, int64_t window_ns)
{
	int64_t into = time_ns % window_ns;
	return time_ns - (into < 0 ? into + window_ns : into);
}

/* Returns a part of a row as a row that covers its window. */
static struct container_row window_row(const struct container_row *row, int64_t start,
				       int64_t window_ns, int64_t value)
{
	return (struct container_row){ start, window_ns, value, row->thread, row->node };
}

/* Replaces rows shorter than a window by rows of whole windows. */
static void split_rows(const struct container_rows *from, int64_t window_ns,
		       struct container_rows *to)
{
	for (size_t i = 0; i < from->rows.n; i++) {
		const struct container_row *row = &from->rows.v[i];
		int64_t start = window_start(row->time_ns, window_ns), end = start + window_ns;
		if (row->length_ns >= window_ns) {
			vec_push(&to->rows, *row);
			continue;
		}
		struct sample_part first = { row->time_ns, row->length_ns, row->value };
		if (!sample_part_cut(&first, start, end))
			continue;
		vec_push(&to->rows, window_row(row, start, window_ns, first.value));
		if (first.value != row->value)
			vec_push(&to->rows,
				 window_row(row, end, window_ns, row->value - first.value));
	}
}

static bool is_same_place(const struct container_row *a, const struct container_row *b,
			  int64_t window_ns)
{
	return a->time_ns == b->time_ns && a->thread == b->thread && a->node == b->node &&
	       a->length_ns == window_ns && b->length_ns == window_ns;
}

/* Merges sorted rows of the same window, thread and node. */
static void add_up(struct container_rows *r, int64_t window_ns)
{
	size_t n = 0;
	for (size_t i = 0; i < r->rows.n; i++) {
		struct container_row *last = n ? &r->rows.v[n - 1] : NULL, *row = &r->rows.v[i];
		if (last && is_same_place(last, row, window_ns))
			last->value = sum_add(last->value, row->value);
		else
			r->rows.v[n++] = *row;
	}
	r->rows.n = n;
}

void container_rows_finalize(struct container_rows *r, size_t max)
{
	int64_t window_ns = WINDOW_FIRST_NS;
	if (r->rows.n)
		qsort(r->rows.v, r->rows.n, sizeof *r->rows.v, by_time);
	for (int i = 0; i < WINDOW_STEPS && r->rows.n > max; i++, window_ns *= WINDOW_GROWTH) {
		struct container_rows thin = { .window_ns = window_ns };
		split_rows(r, window_ns, &thin);
		qsort(thin.rows.v, thin.rows.n, sizeof *thin.rows.v, by_time);
		add_up(&thin, window_ns);
		vec_done(&r->rows);
		*r = thin;
	}
}

/* --- columns --- */

enum column { COLUMN_TIME, COLUMN_THREAD, COLUMN_NODE, COLUMN_VALUE, COLUMN_LENGTH, COLUMNS };

static uint64_t cell(const struct container_row *row, enum column column,
		     const struct container_row *before)
{
	switch (column) {
	case COLUMN_TIME:
		return before ? (uint64_t)(row->time_ns - before->time_ns) : zigzag(row->time_ns);
	case COLUMN_THREAD:
		return row->thread;
	case COLUMN_NODE:
		return row->node;
	case COLUMN_VALUE:
		return row->value;
	default:
		return row->length_ns;
	}
}

static void put_column(const struct container_rows *r, enum column column, struct buf *b)
{
	const struct container_row *before = NULL;
	struct buf data = { 0 };
	for (size_t i = 0; i < r->rows.n; i++) {
		pb_put_varint(&data, cell(&r->rows.v[i], column, before));
		before = &r->rows.v[i];
	}
	pb_put_varint(b, data.len);
	buf_add(b, data.data, data.len);
	buf_done(&data);
}

bool container_rows_put(const struct container_rows *r, struct buf *b)
{
	bool has_lengths = false;
	for (size_t i = 0; i < r->rows.n && !has_lengths; i++)
		has_lengths = r->rows.v[i].length_ns > 0;
	for (int column = 0; column < (has_lengths ? COLUMNS : COLUMN_LENGTH); column++)
		put_column(r, column, b);
	return has_lengths;
}
