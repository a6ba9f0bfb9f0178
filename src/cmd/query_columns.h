/* cmd/query_columns.h: answers over time as text: a line for each step, a column for each group. */
#ifndef CRESSET_CMD_QUERY_COLUMNS_H
#define CRESSET_CMD_QUERY_COLUMNS_H

#include "base/buf.h"
#include "cmd/query.h"

enum { QUERY_TIME_WIDTH = 24, QUERY_VALUE_WIDTH = 12 };

/* What struct query_range and struct query_metric both have. */
struct query_columns {
	const char *title, *unit;
	const char **names; /* [group * n_by + i] */
	uint32_t n_by;
	const uint32_t *order; /* [n_shown] */
	uint32_t n_shown;
};
/* How many of the first groups have a column. */
uint32_t query_columns_fit(const struct query_cmd *c, const struct query_columns *cols);
void query_columns_head(const struct query_columns *cols, uint32_t n, struct buf *b);
/* How many have none. */
void query_columns_rest(const struct query_columns *cols, uint32_t n, struct buf *b);

#endif
