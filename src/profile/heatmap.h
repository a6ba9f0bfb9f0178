/* profile/heatmap.h: when things happened: a matrix with time going down its columns, a second each, and from column to column.
 *
 *     offset      0 s   1 s   2 s …
 *     0-20 ms      3     0     4
 *     20-40 ms     0     2     4           a cell is 20 ms of one second
 *     …
 *
 * A sample without a length counts in the cell that holds its moment. One that covers time is spread over the cells that it covers: a
 * cell gets what time_range.h says of its part, where it begins or ends; of the whole cells between each gets the same, and what is
 * left over by whole numbers goes to the first of them, one each. So all cells and `outside` add up to the total.
 *
 * Long recordings have wider columns: the narrowest of 1, 2, 5, 10, 15, 30 s, 1 min … of which there are not too many. Cells are always
 * a column divided by the number of rows, one range of time each. */
#ifndef CRESSET_PROFILE_HEATMAP_H
#define CRESSET_PROFILE_HEATMAP_H

#include "profile/tree.h"

enum {
	HEATMAP_ROWS = 50,
	HEATMAP_MAX_COLUMNS = 3600 /* nobody may ask for more */
};

struct heatmap {
	int64_t epoch_ns;  /* what times here are since: Unix time, or of the source's own clock */
	struct tree *tree; /* of the same samples: type, unit, totals */
	int64_t from_ns, to_ns;    /* what is looked at, since the start */
	int64_t start_ns;          /* of the first column: at or before from_ns */
	int64_t column_ns, row_ns; /* column_ns = HEATMAP_ROWS * row_ns */
	uint32_t columns;
	int64_t *cells;  /* [column * HEATMAP_ROWS + row], in the tree's unit */
	int64_t max;     /* of a cell */
	int64_t outside; /* before the start of the recording */
};

/* At most max_columns columns. Every sample has a time. opts ask for neither inverted nor max_depth. -EINVAL with the words in err for a
 * bad regular expression or type. */
int heatmap_build(struct profile *p, const struct tree_opts *opts, uint32_t max_columns,
		  struct heatmap *out, struct err *err);
void heatmap_done(struct heatmap *h);

/* The part of a cell that is looked at; false when there is none of it. */
bool heatmap_cell_range(const struct heatmap *h, uint32_t column, uint32_t row, int64_t *from_ns,
			int64_t *to_ns);

static inline int64_t heatmap_cell(const struct heatmap *h, uint32_t column, uint32_t row)
{
	return h->cells[(size_t)column * HEATMAP_ROWS + row];
}

#endif
