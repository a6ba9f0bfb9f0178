/* tui/grid.h: the picture: rows of cells, each with a character and a style. Views draw into a grid
 * and know no terminal. tui/screen.h shows a grid with ncurses; tests and `--once` read its rows as
 * text.
 *
 * All untrusted text goes through grid_put, which stores only printable characters: control
 * characters, escape sequences, line breaks and bidirectional marks become U+FFFD, and characters
 * without a width are dropped. A wide character is never cut in half. In an ASCII grid, other
 * characters become the nearest ASCII one, or "?". */
#ifndef CRESSET_TUI_GRID_H
#define CRESSET_TUI_GRID_H

#include <stdbool.h>
#include <stdint.h>

struct buf;

enum { GRID_MAX_COLS = 1000, GRID_MAX_ROWS = 500 }; /* the rest of a larger terminal stays empty */

#define COLOUR_DEFAULT UINT32_MAX /* the terminal's default */

enum { GRID_BOLD = 1, GRID_DIM = 2, GRID_REVERSE = 4, GRID_UNDERLINE = 8 };

struct grid_style {
	uint32_t fg, bg; /* 0xrrggbb or COLOUR_DEFAULT */
	uint8_t attrs;
};
#define GRID_PLAIN ((struct grid_style){ COLOUR_DEFAULT, COLOUR_DEFAULT, 0 })

struct grid_cell {
	uint32_t c; /* 0: the right half of a wide character */
	struct grid_style style;
};
struct grid {
	int rows, cols;
	bool ascii;
	struct grid_cell *cells;
};

void grid_init(struct grid *g, int rows, int cols, bool ascii);
void grid_done(struct grid *g);
void grid_clear(struct grid *g);

/* Positions outside the grid are ignored. */
void grid_set(struct grid *g, int y, int x, uint32_t c, struct grid_style style);
/* Fills n columns with blanks. */
void grid_fill(struct grid *g, int y, int x, int n, struct grid_style style);
/* Draws text in at most n columns, ending in "…" if it does not fit. Returns the number of
 * columns used. */
int grid_put(struct grid *g, int y, int x, int n, struct grid_style style, const char *text);
int grid_putf(struct grid *g, int y, int x, int n, struct grid_style style, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
/* Same, aligned to the right end of the n columns. */
void grid_put_right(struct grid *g, int y, int x, int n, struct grid_style style, const char *text);

/* Changes the style of existing cells. */
void grid_restyle(struct grid *g, int y, int x, int n, struct grid_style style);
/* Appends a row's text without trailing blanks. */
void grid_row_text(const struct grid *g, int y, struct buf *out);

#endif
