#include "cmd/query_columns.h"

#include "base/str.h"
#include "format/columns.h"

enum { PLAIN_WIDTH = 100 };

uint32_t query_columns_fit(const struct query_cmd *c, const struct query_columns *cols)
{
	uint32_t width = c->line->term.width_out ? c->line->term.width_out : PLAIN_WIDTH;
	uint32_t n = width > QUERY_TIME_WIDTH + QUERY_VALUE_WIDTH
			     ? (width - QUERY_TIME_WIDTH) / (QUERY_VALUE_WIDTH + 1)
			     : 1;

	n = c->opts->top_n && c->opts->top_n < n ? c->opts->top_n : n;
	return cols->n_shown < n ? cols->n_shown : n;
}

/* Of one group: its names, or the unit where there are no groups. */
static void head_cell(const struct query_columns *cols, uint32_t group, struct buf *b)
{
	struct buf name = { 0 };

	for (uint32_t k = 0; k < cols->n_by; k++)
		buf_addf(&name, "%s%s", k ? " " : "", cols->names[group * cols->n_by + k]);
	buf_addc(b, ' ');
	columns_right(b, cols->n_by ? (name.len ? buf_cstr(&name) : "?") : cols->unit,
		      QUERY_VALUE_WIDTH);
	buf_done(&name);
}

void query_columns_head(const struct query_columns *cols, uint32_t n, struct buf *b)
{
	columns_left(b, cols->title, QUERY_TIME_WIDTH);
	for (uint32_t i = 0; i < n; i++)
		head_cell(cols, cols->order[i], b);
	buf_addc(b, '\n');
}

void query_columns_rest(const struct query_columns *cols, uint32_t n, struct buf *b)
{
	if (n == cols->n_shown)
		return;
	buf_adds(b, "(+");
	fmt_count(b, cols->n_shown - n);
	buf_adds(b, " groups)\n");
}
