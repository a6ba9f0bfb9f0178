/* profile/tree/heatmap.h: samples over time, as a matrix: each column is a second, with time going
 * down its rows and then to the next column.
 *
 *     offset      0 s   1 s   2 s …
 *     0-20 ms      3     0     4
 *     20-40 ms     0     2     4           a cell is 20 ms of one second
 *     …
 *
 * A sample without a length counts in the cell of its time. One that covers time is spread over
 * the cells that it covers: its first and last cell get their part as in time_range.h; the whole
 * cells between get equal parts, and the remainder of the division goes to the first of them, one
 * each. So all cells and `outside` add up to the total.
 *
 * Long recordings have wider columns: the narrowest of 1, 2, 5, 10, 15, 30 s, 1 min … that fits
 * max_columns. A cell is always one range of time: a column divided by the number of rows. */
#ifndef CRESSET_PROFILE_TREE_HEATMAP_H
#define CRESSET_PROFILE_TREE_HEATMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct profile;
struct tree_opts;

enum {
	HEATMAP_ROWS = 50,
	HEATMAP_MAX_COLUMNS = 3600 /* limit: columns of a heatmap */
};

struct heatmap {
	int64_t epoch_ns;  /* start of all times here: Unix time, or on the source's own clock */
	struct tree *tree; /* tree of the same samples: type, unit, totals */
	int64_t from_ns, to_ns;    /* the range shown, since the start */
	int64_t start_ns;          /* of the first column: at or before from_ns */
	int64_t column_ns, row_ns; /* column_ns = HEATMAP_ROWS * row_ns */
	uint32_t columns;
	int64_t *cells;  /* [column * HEATMAP_ROWS + row], in the tree's unit */
	int64_t max;     /* of a cell */
	int64_t outside; /* before the start of the recording */
};

/* Builds at most max_columns columns. Every sample must have a time. inverted and max_depth of opts
 * must not be set. Returns -EINVAL with err set for a bad regular expression or type. */
int heatmap_build(struct profile *p, const struct tree_opts *opts, uint32_t max_columns,
		  struct heatmap *out, struct err *err);
void heatmap_done(struct heatmap *h);

/* Sets the part of a cell within the range shown; returns false if none exists. */
bool heatmap_cell_range(const struct heatmap *h, uint32_t column, uint32_t row, int64_t *from_ns,
			int64_t *to_ns);

static inline int64_t heatmap_cell(const struct heatmap *h, uint32_t column, uint32_t row)
{
	return h->cells[(size_t)column * HEATMAP_ROWS + row];
}

#endif
