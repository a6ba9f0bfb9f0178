/* tui/table.h: rows with columns, as every list of `cresset top` is: made by a view, then sorted, filtered, scrolled, drawn and printed
 * here, so that no view does that by itself.
 *
 *     ▼ self %  total %  function                  binary        the first sortable column sorts until somebody says another
 *        12.30    40.00  parse                     app
 */
#ifndef CRESSET_TUI_TABLE_H
#define CRESSET_TUI_TABLE_H

#include "base/arena.h"
#include "base/json.h"
#include "base/vec.h"
#include "tui/grid.h"
#include "tui/match.h"

#include <stdbool.h>
#include <stdint.h>

enum column_kind {
	COLUMN_TEXT,
	COLUMN_PERCENT,
	COLUMN_COUNT,
	COLUMN_TIME, /* ns */
	COLUMN_ID,   /* SAMPLE_NO_ID: not known */
};
struct column {
	const char *key, *title; /* in JSON; on the screen */
	enum column_kind kind;
	int width;  /* at least; 0: what is left, shared by all of them */
	bool sorts; /* `s` comes to it */
};
enum { TABLE_MAX_COLUMNS = 10 };

struct row {
	double num[TABLE_MAX_COLUMNS];
	const char *text[TABLE_MAX_COLUMNS]; /* of COLUMN_TEXT; the table's or static */
	/* What Enter goes into. */
	uint32_t pid, tid;
	const char *name; /* that filters look at; of functions what they are called */
};
struct tui_table {
	const struct column *columns;
	int n_columns;
	VEC(struct row) rows;
	VEC(uint32_t) shown; /* after sorting and filtering: indices */
	struct arena arena;
	/* Lines below one row: who calls it. */
	const char *expanded; /* name of that row; NULL: none is */
	VEC(const char *) lines;
};

/* No rows, but their memory is kept. */
void tui_table_clear(struct tui_table *t);
void tui_table_done(struct tui_table *t);
struct row *tui_table_add(struct tui_table *t);
const char *tui_table_text(struct tui_table *t, const char *text); /* a copy */

/* By a column, greatest first (of texts: by alphabet); equal ones as the view has them. */
void tui_table_sort(struct tui_table *t, int column);
/* Only rows whose name matches. */
void tui_table_filter(struct tui_table *t, const struct match *m);
/* The next column that sorts. */
int tui_table_next_sort(const struct tui_table *t, int column);

/* Where the table is drawn, and what of it. Lines are those of shown rows, and those below the expanded one. */
struct table_place {
	int y, rows, cols; /* its head is at y, below it rows - 1 lines */
	int top, selected; /* line at the top; selected line, -1: none */
	int sort;
};
int tui_table_lines(const struct tui_table *t);
/* The row of a line, NULL for lines below one. */
const struct row *tui_table_at(const struct tui_table *t, int line);
void tui_table_draw(const struct tui_table *t, struct grid *g, const struct table_place *p);
/* The column at x of the head, -1: none. */
int tui_table_column_at(const struct tui_table *t, int cols, int x);

/* At most n rows, as text of so many columns (0: what is needed), or as an array of objects. */
void tui_table_print(const struct tui_table *t, size_t n, int cols, bool ascii, struct buf *out);
void tui_table_json(const struct tui_table *t, size_t n, struct json *j);

#endif
