/* Cells, text with clipping, and styles. */
#include "tui/grid.h"

#include "base/buf.h"
#include "base/escape.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELLIPSIS = 0x2026, REPLACEMENT = 0xfffd, BLOCK_UPPER = 0x2580, BLOCK_FULL = 0x2588 };
/* Longer names are cut first: more of them is never visible. */
enum { TEXT_MAX_BYTES = 4 * GRID_MAX_COLS };

void grid_init(struct grid *g, int rows, int cols, bool ascii)
{
	rows = rows < 1 ? 1 : rows > GRID_MAX_ROWS ? GRID_MAX_ROWS : rows;
	cols = cols < 1 ? 1 : cols > GRID_MAX_COLS ? GRID_MAX_COLS : cols;
	*g = (struct grid){ .rows = rows, .cols = cols, .ascii = ascii };
	g->cells = xcalloc((size_t)rows * cols, sizeof *g->cells);
	grid_clear(g);
}

void grid_done(struct grid *g)
{
	free(g->cells);
	*g = (struct grid){ 0 };
}

void grid_clear(struct grid *g)
{
	for (int y = 0; y < g->rows; y++)
		grid_fill(g, y, 0, g->cols, GRID_PLAIN);
}

static struct grid_cell *cell_at(const struct grid *g, int y, int x)
{
	return &g->cells[(size_t)y * g->cols + x];
}

/* Returns the nearest ASCII character. */
static uint32_t plain_char(uint32_t c)
{
	static const struct {
		uint32_t c;
		char plain;
	} near[] = {
		{ ELLIPSIS, '.' }, { 0x00b7, '-' }, { 0x2502, '|' },
		{ 0x2500, '-' },   { 0x25bc, 'v' }, { 0x25b2, '^' },
		{ 0x25cf, '*' },   { 0x2514, '`' }, { 0x251c, '|' },
	};
	if (c < 0x80)
		return c;
	for (size_t i = 0; i < sizeof near / sizeof *near; i++)
		if (near[i].c == c)
			return near[i].plain;
	return c >= BLOCK_UPPER && c <= 0x259f ? '#' : '?';
}

void grid_set(struct grid *g, int y, int x, uint32_t c, struct grid_style style)
{
	if (y < 0 || y >= g->rows || x < 0 || x >= g->cols)
		return;
	/* Replace the other half of an overwritten wide character by a blank. */
	if (x > 0 && !cell_at(g, y, x)->c)
		cell_at(g, y, x - 1)->c = ' ';
	if (x + 1 < g->cols && !cell_at(g, y, x + 1)->c)
		cell_at(g, y, x + 1)->c = ' ';
	*cell_at(g, y, x) = (struct grid_cell){ g->ascii ? plain_char(c) : c, style };
}

void grid_fill(struct grid *g, int y, int x, int n, struct grid_style style)
{
	for (int i = 0; i < n; i++)
		grid_set(g, y, x + i, ' ', style);
}

/* Draws a character of two columns, or a blank if only one is left. */
static void set_wide(struct grid *g, int y, int x, uint32_t c, struct grid_style style)
{
	grid_set(g, y, x, c, style);
	if (g->ascii || y < 0 || y >= g->rows || x < 0 || x + 1 >= g->cols)
		grid_set(g, y, x + 1, g->ascii ? '?' : ' ', style);
	else
		*cell_at(g, y, x + 1) = (struct grid_cell){ 0, style };
	if (!g->ascii && x + 1 >= g->cols)
		grid_set(g, y, x, ' ', style);
}

/* Returns the width of escaped text in columns. */
static int text_width(const struct buf *b)
{
	int n = 0;
	for (size_t i = 0, len; i < b->len; i += len) {
		len = utf8_len(b->data + i, b->len - i);
		n += char_width(utf8_char(b->data + i, len));
	}
	return n;
}

static int put_clean(struct grid *g, int y, int x, int n, struct grid_style style,
		     const struct buf *b)
{
	int at = 0, all = text_width(b), room = all > n ? n - 1 : n;
	for (size_t i = 0, len; i < b->len; i += len) {
		len = utf8_len(b->data + i, b->len - i);
		uint32_t c = utf8_char(b->data + i, len);
		int width = (int)char_width(c);
		if (at + width > room)
			break;
		if (width == 1)
			grid_set(g, y, x + at, c, style);
		else if (width == 2)
			set_wide(g, y, x + at, c, style);
		at += width;
	}
	if (all > n && n > 0)
		grid_set(g, y, x + at++, ELLIPSIS, style);
	return at;
}

int grid_put(struct grid *g, int y, int x, int n, struct grid_style style, const char *text)
{
	struct buf b = { 0 };
	if (n <= 0)
		return 0;
	esc_term(&b, text, strnlen(text, TEXT_MAX_BYTES + 1), TEXT_MAX_BYTES);
	int taken = put_clean(g, y, x, n, style, &b);
	buf_done(&b);
	return taken;
}

int grid_putf(struct grid *g, int y, int x, int n, struct grid_style style, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return grid_put(g, y, x, n, style, text);
}

void grid_put_right(struct grid *g, int y, int x, int n, struct grid_style style, const char *text)
{
	struct buf b = { 0 };
	esc_term(&b, text, strnlen(text, TEXT_MAX_BYTES + 1), TEXT_MAX_BYTES);
	int width = text_width(&b), skip = width < n ? n - width : 0;
	if (n > 0)
		put_clean(g, y, x + skip, n - skip, style, &b);
	buf_done(&b);
}

void grid_restyle(struct grid *g, int y, int x, int n, struct grid_style style)
{
	for (int i = x < 0 ? 0 : x; i < x + n && i < g->cols && y >= 0 && y < g->rows; i++)
		cell_at(g, y, i)->style = style;
}

void grid_row_text(const struct grid *g, int y, struct buf *out)
{
	int end = g->cols;
	while (end > 0 && cell_at(g, y, end - 1)->c == ' ')
		end--;
	for (int x = 0; x < end; x++)
		if (cell_at(g, y, x)->c)
			utf8_add(out, cell_at(g, y, x)->c);
}
