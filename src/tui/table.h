/* tui/table.h: rows with columns, used for every list of `cresset top`. A view fills the table;
 * sorting, filtering, scrolling, drawing and printing are done here.
 *
 *     ▼ self %  total % function binary    by default the first sortable column sorts
 *        12.30    40.00  parse                     app
 */
#ifndef CRESSET_TUI_TABLE_H
#define CRESSET_TUI_TABLE_H

#include "base/arena.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct grid;
struct json;
struct match;

enum column_kind {
	COLUMN_TEXT,
	COLUMN_PERCENT,
	COLUMN_COUNT,
	COLUMN_TIME, /* ns */
	COLUMN_ID,   /* SAMPLE_NO_ID: unknown */
};
struct column {
	const char *key, *title; /* key in JSON, title on the screen */
	enum column_kind kind;
	int width;  /* minimum; 0: flexible, shares the remaining width */
	bool sorts; /* the `s` key can select it */
};
enum { TABLE_MAX_COLUMNS = 10 };

struct row {
	double num[TABLE_MAX_COLUMNS];
	const char *text[TABLE_MAX_COLUMNS]; /* for COLUMN_TEXT; owned by the table or static */
	/* The target of Enter. */
	uint32_t pid, tid;
	const char *name; /* matched by filters; for functions, their name */
};
struct tui_table {
	const struct column *columns;
	int n_columns;
	VEC(struct row) rows;
	VEC(uint32_t) shown; /* indices after sorting and filtering */
	struct arena arena;
	/* Lines below one row: its callers. */
	const char *expanded; /* name of that row; NULL: none */
	VEC(const char *) lines;
};

/* Removes all rows but retains their memory. */
void tui_table_clear(struct tui_table *t);
void tui_table_done(struct tui_table *t);
struct row *tui_table_add(struct tui_table *t);
const char *tui_table_text(struct tui_table *t, const char *text); /* a copy */

/* Sorts by a column: numbers descending, ids ascending, texts alphabetically, equal rows in the
 * view's order. */
void tui_table_sort(struct tui_table *t, int column);
/* Shows only rows whose name matches. */
void tui_table_filter(struct tui_table *t, const struct match *m);
/* Returns the next sortable column. */
int tui_table_next_sort(const struct tui_table *t, int column);

/* Where and which part of the table is drawn. Lines are the shown rows and those below the expanded
 * one. */
struct table_place {
	int y, rows, cols; /* the head is at y, followed by rows - 1 lines */
	int top, selected; /* first line; selected line, -1: none */
	int sort;
};
int tui_table_lines(const struct tui_table *t);
/* Returns the row of a line, or NULL for lines below the expanded row. */
const struct row *tui_table_at(const struct tui_table *t, int line);
void tui_table_draw(const struct tui_table *t, struct grid *g, const struct table_place *p);
/* Returns the column at x, or -1. */
int tui_table_column_at(const struct tui_table *t, int cols, int x);

/* Print at most n rows, as text of cols columns (0: as many as needed) or as an array of
 * objects. */
void tui_table_print(const struct tui_table *t, size_t n, int cols, bool ascii, struct buf *out);
void tui_table_json(const struct tui_table *t, size_t n, struct json *j);

#endif
