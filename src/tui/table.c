/* Sorts, filters and draws rows. */
#include "tui/table.h"

#include "base/buf.h"
#include "base/json/json.h"
#include "base/str.h"
#include "base/utf8.h"
#include "profile/sink.h"
#include "tui/grid.h"
#include "tui/match.h"

#include <stdlib.h>
#include <string.h>

enum { MIN_TEXT_WIDTH = 10, GAP = 1, PRINT_MAX_WIDTH = 200 };

void tui_table_done(struct tui_table *t)
{
	vec_done(&t->rows);
	vec_done(&t->shown);
	vec_done(&t->lines);
	arena_done(&t->arena);
	*t = (struct tui_table){ 0 };
}

void tui_table_clear(struct tui_table *t)
{
	vec_clear(&t->rows);
	vec_clear(&t->shown);
	vec_clear(&t->lines);
	arena_done(&t->arena);
	t->expanded = NULL;
}

struct row *tui_table_add(struct tui_table *t)
{
	vec_push(&t->rows, (struct row){ .pid = SAMPLE_NO_ID, .tid = SAMPLE_NO_ID, .name = "" });
	return &t->rows.v[t->rows.n - 1];
}

const char *tui_table_text(struct tui_table *t, const char *text)
{
	return arena_dup(&t->arena, text, strlen(text) + 1);
}

/* --- sort and filter -------------------------------------------------------------------------- */

struct sorting {
	const struct tui_table *t;
	int column;
};

static int text_cmp(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int row_cmp(const void *a, const void *b, void *ctx)
{
	const struct sorting *s = ctx;
	const struct row *x = &s->t->rows.v[*(const uint32_t *)a];
	const struct row *y = &s->t->rows.v[*(const uint32_t *)b];
	enum column_kind kind = s->t->columns[s->column].kind;
	int order = 0;
	if (kind == COLUMN_TEXT)
		order = text_cmp(x->text[s->column], y->text[s->column]);
	else if (x->num[s->column] != y->num[s->column])
		order = (x->num[s->column] > y->num[s->column]) == (kind != COLUMN_ID) ? -1 : 1;
	return order ? order : x < y ? -1 : x > y;
}

void tui_table_filter(struct tui_table *t, const struct match *m)
{
	vec_clear(&t->shown);
	for (uint32_t i = 0; i < t->rows.n; i++)
		if (match_is(m, t->rows.v[i].name))
			vec_push(&t->shown, i);
}

void tui_table_sort(struct tui_table *t, int column)
{
	struct sorting s = { t, column < t->n_columns ? column : 0 };
	size_t i = 1;
	while (i < t->shown.n && row_cmp(&t->shown.v[i - 1], &t->shown.v[i], &s) < 0)
		i++;
	if (i < t->shown.n)
		qsort_r(t->shown.v, t->shown.n, sizeof *t->shown.v, row_cmp, &s);
}

int tui_table_next_sort(const struct tui_table *t, int column)
{
	for (int i = 1; i <= t->n_columns; i++)
		if (t->columns[(column + i) % t->n_columns].sorts)
			return (column + i) % t->n_columns;
	return column;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Returns the index of the expanded row among those shown, or -1. */
static int expanded_at(const struct tui_table *t)
{
	for (size_t i = 0; t->expanded && i < t->shown.n; i++)
		if (strcmp(t->rows.v[t->shown.v[i]].name, t->expanded) == 0)
			return (int)i;
	return -1;
}

int tui_table_lines(const struct tui_table *t)
{
	return (int)t->shown.n + (expanded_at(t) >= 0 ? (int)t->lines.n : 0);
}

/* Returns the shown row of a line. For lines below the expanded row, returns -1 and sets *below. */
static int row_of_line(const struct tui_table *t, int line, int *below)
{
	int at = expanded_at(t), n = at >= 0 ? (int)t->lines.n : 0;
	*below = line - at - 1;
	if (at >= 0 && line > at && line <= at + n)
		return -1;
	return at >= 0 && line > at ? line - n : line;
}

const struct row *tui_table_at(const struct tui_table *t, int line)
{
	int below, i = row_of_line(t, line, &below);
	if (i < 0 || i >= (int)t->shown.n)
		return NULL;
	return &t->rows.v[t->shown.v[i]];
}

/* --- cells ------------------------------------------------------------------------------------ */

/* Values from a file may add up to a negative sum. */
static uint64_t whole_of(double v)
{
	return v > 0 ? (uint64_t)v : 0;
}

static const char *cell_text(const struct column *c, const struct row *r, int i, struct buf *b)
{
	buf_clear(b);
	if (c->kind == COLUMN_TEXT)
		return r->text[i] ? r->text[i] : "";
	if (c->kind == COLUMN_ID && (uint32_t)r->num[i] == SAMPLE_NO_ID)
		buf_adds(b, "?");
	else if (c->kind == COLUMN_ID)
		buf_addf(b, "%.0f", r->num[i]);
	else if (c->kind == COLUMN_PERCENT)
		buf_addf(b, "%.2f", r->num[i]);
	else if (c->kind == COLUMN_COUNT)
		fmt_count(b, whole_of(r->num[i]));
	else
		fmt_duration(b, whole_of(r->num[i]));
	return buf_cstr(b);
}

/* Places fixed columns first and shares the rest. Columns that do not fit are dropped from the
 * right. */
static int place_columns(const struct tui_table *t, int cols, int *width)
{
	int n = t->n_columns, fixed, flexible;
	do {
		fixed = flexible = 0;
		for (int i = 0; i < n; i++) {
			fixed += GAP + (t->columns[i].width ? t->columns[i].width : 0);
			flexible += t->columns[i].width == 0;
		}
	} while (fixed + flexible * MIN_TEXT_WIDTH > cols && --n > 1);
	int left = cols - fixed, share = flexible ? left / flexible : 0;
	for (int i = 0; i < n; i++)
		width[i] = t->columns[i].width ? t->columns[i].width : share;
	/* The first flexible column gets twice the width of the others: function names are long. */
	for (int i = 0; i < n && flexible > 1; i++)
		if (!t->columns[i].width) {
			width[i] = left - (flexible - 1) * (share * 2 / 3);
			for (int k = i + 1; k < n; k++)
				width[k] =
					t->columns[k].width ? t->columns[k].width : share * 2 / 3;
			break;
		}
	return n;
}

int tui_table_column_at(const struct tui_table *t, int cols, int x)
{
	int width[TABLE_MAX_COLUMNS], n = place_columns(t, cols, width);
	for (int i = 0, at = 0; i < n; i++) {
		at += width[i] + GAP;
		if (x < at)
			return i;
	}
	return -1;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static void draw_head(const struct tui_table *t, struct grid *g, const struct table_place *p,
		      const int *width, int n)
{
	struct grid_style style = GRID_PLAIN;
	style.attrs = GRID_REVERSE;
	grid_fill(g, p->y, 0, p->cols, style);
	for (int i = 0, x = 0; i < n; x += width[i++] + GAP) {
		char title[64];
		snprintf(title, sizeof title, "%s%s", i == p->sort ? "▼" : "", t->columns[i].title);
		if (t->columns[i].kind == COLUMN_TEXT)
			grid_put(g, p->y, x, width[i], style, title);
		else
			grid_put_right(g, p->y, x, width[i], style, title);
	}
}

static void draw_row(const struct tui_table *t, struct grid *g, int y, const struct row *r,
		     const int *width, int n)
{
	struct buf b = { 0 };
	for (int i = 0, x = 0; i < n; x += width[i++] + GAP) {
		const char *text = cell_text(&t->columns[i], r, i, &b);
		if (t->columns[i].kind == COLUMN_TEXT)
			grid_put(g, y, x, width[i], GRID_PLAIN, text);
		else
			grid_put_right(g, y, x, width[i], GRID_PLAIN, text);
	}
	buf_done(&b);
}

void tui_table_draw(const struct tui_table *t, struct grid *g, const struct table_place *p)
{
	int width[TABLE_MAX_COLUMNS], n = place_columns(t, p->cols, width), below;
	struct grid_style dim = GRID_PLAIN, selected = GRID_PLAIN;
	int lines = tui_table_lines(t);
	dim.attrs = GRID_DIM;
	selected.attrs = GRID_REVERSE;
	draw_head(t, g, p, width, n);
	for (int i = 0; i < p->rows - 1 && p->top + i < lines; i++) {
		int y = p->y + 1 + i, line = p->top + i, row = row_of_line(t, line, &below);
		if (row >= 0)
			draw_row(t, g, y, &t->rows.v[t->shown.v[row]], width, n);
		else
			grid_put(g, y, width[0], p->cols - width[0], dim, t->lines.v[below]);
		if (line == p->selected)
			grid_restyle(g, y, 0, p->cols, selected);
	}
}

/* --- printing --------------------------------------------------------------------------------- */

/* Makes columns as wide as their content. */
static int fit_columns(const struct tui_table *t, size_t n, struct column *fitted)
{
	struct buf b = { 0 };
	int cols = 0;
	for (int i = 0; i < t->n_columns; i++) {
		int widest = t->columns[i].width;
		for (size_t k = 0; k < n && k < t->shown.n; k++) {
			const struct row *r = &t->rows.v[t->shown.v[k]];
			int w = (int)utf8_width(cell_text(&t->columns[i], r, i, &b));
			widest = w > widest ? w : widest;
		}
		fitted[i] = t->columns[i];
		fitted[i].width = widest > PRINT_MAX_WIDTH ? PRINT_MAX_WIDTH : widest;
		fitted[i].width += fitted[i].width == 0; /* 0 would mean flexible */
		cols += GAP + fitted[i].width;
	}
	buf_done(&b);
	return cols;
}

void tui_table_print(const struct tui_table *t, size_t n, int cols, bool ascii, struct buf *out)
{
	struct column fitted[TABLE_MAX_COLUMNS];
	struct tui_table part = *t;
	struct table_place p = { .rows = 2, .selected = -1, .sort = -1 };
	struct grid g;
	if (cols <= 0) {
		cols = fit_columns(t, n, fitted);
		part.columns = fitted;
	}
	grid_init(&g, 2, cols, ascii);
	p.cols = g.cols;
	for (size_t i = 0; i == 0 || (i < n && i < t->shown.n); i++) {
		grid_clear(&g);
		p.top = (int)i;
		tui_table_draw(&part, &g, &p);
		for (int y = i ? 1 : 0; y < (t->shown.n ? 2 : 1); y++) {
			grid_row_text(&g, y, out);
			buf_addc(out, '\n');
		}
	}
	grid_done(&g);
}

static void json_cell(const struct column *c, const struct row *r, int i, struct json *j)
{
	json_key(j, c->key);
	if (c->kind == COLUMN_TEXT)
		json_str(j, r->text[i] ? r->text[i] : "");
	else if (c->kind == COLUMN_ID && (uint32_t)r->num[i] == SAMPLE_NO_ID)
		json_str(j, NULL);
	else if (c->kind == COLUMN_PERCENT)
		json_num(j, r->num[i]);
	else
		json_i64(j, (int64_t)r->num[i]);
}

void tui_table_json(const struct tui_table *t, size_t n, struct json *j)
{
	json_arr(j);
	for (size_t k = 0; k < n && k < t->shown.n; k++) {
		json_obj(j);
		for (int i = 0; i < t->n_columns; i++)
			json_cell(&t->columns[i], &t->rows.v[t->shown.v[k]], i, j);
		json_end(j);
	}
	json_end(j);
}
