/* tui/heat.h: when it happened: a column for each second, its parts from top to bottom. With colours a character has two cells, one above the other. */
#ifndef CRESSET_TUI_HEAT_H
#define CRESSET_TUI_HEAT_H

#include "tui/grid.h"
#include "tui/scan.h"

struct heat {
	struct scan scan;
	uint32_t column, row; /* selected */
};
struct heat_place {
	int y, rows, cols;
	bool has_colour;
	bool since_start; /* times are no clock's */
};
enum { HEAT_LEFT = 8 }; /* columns for the scale */

/* How many columns and rows of cells fit. */
void heat_cells(const struct heat_place *p, uint32_t *columns, uint32_t *rows);
void heat_draw(const struct heat *h, struct grid *g, const struct heat_place *p);
/* Selects the cell at a place of the grid. */
void heat_select_at(struct heat *h, const struct heat_place *p, int y, int x);
void heat_done(struct heat *h);

#endif
