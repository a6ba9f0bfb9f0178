/* tui/grid.h: what is to be seen: rows of cells, each with a character and a style. Views draw here and know no terminal; tui/screen.h shows
 * a grid with ncurses, tests and `--once` read its rows as text.
 *
 * All text from elsewhere comes through grid_put, which lets nothing but plain characters into a cell: control characters, escape
 * sequences, line breaks and marks that turn the direction of text become U+FFFD, characters without a width are left out. A character that is
 * two columns wide is never cut in half. In a grid for ASCII everything else becomes what comes nearest, or "?". */
#ifndef CRESSET_TUI_GRID_H
#define CRESSET_TUI_GRID_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { GRID_MAX_COLS = 1000, GRID_MAX_ROWS = 500 }; /* of larger terminals the rest stays empty */

#define COLOUR_DEFAULT UINT32_MAX /* the terminal's own */

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

/* Outside of the grid nothing is drawn. */
void grid_set(struct grid *g, int y, int x, uint32_t c, struct grid_style style);
/* Blanks over n columns. */
void grid_fill(struct grid *g, int y, int x, int n, struct grid_style style);
/* Text over at most n columns; where it does not fit the last of them is "…". Returns how many it took. */
int grid_put(struct grid *g, int y, int x, int n, struct grid_style style, const char *text);
int grid_putf(struct grid *g, int y, int x, int n, struct grid_style style, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
/* The same with its end in the last of the n columns. */
void grid_put_right(struct grid *g, int y, int x, int n, struct grid_style style, const char *text);

/* Another style for what is there. */
void grid_restyle(struct grid *g, int y, int x, int n, struct grid_style style);
/* A row without the blanks at its end, appended. */
void grid_row_text(const struct grid *g, int y, struct buf *out);

#endif
