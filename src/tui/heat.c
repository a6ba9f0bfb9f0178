/* The heatmap tab. */
#include "tui/scan.h"

#include "format/common/heat_scale.h"
#include "tui/grid.h"

#include <time.h>

enum { UPPER_HALF = 0x2580, MAX_ROWS = 50, FOOT_ROWS = 1, SECOND_MS = 1000 };
#define RAMP " .:-=+*#%@"

void heat_done(struct heat *h)
{
	scan_done(&h->scan);
	*h = (struct heat){ 0 };
}

/* Colours from low to high. The first is visible on both dark and light backgrounds. */
static uint32_t heat_rgb(int64_t value, int64_t max)
{
	static const uint32_t colours[HEAT_STEPS] = { 0x4b2a7a, 0x74258a, 0x9c2e7f, 0xc43c75,
						      0xe55964, 0xf5845c, 0xfdb26f, 0xfce38a };
	struct heat_scale scale = { max, max < HEAT_STEPS ? (int)max : HEAT_STEPS };
	int shade = heat_shade(&scale, heat_step(&scale, value));
	return colours[shade > 0 ? shade - 1 : 0];
}

static bool is_double(const struct heat_place *p)
{
	return p->has_colour;
}

void heat_cells(const struct heat_place *p, uint32_t *columns, uint32_t *rows)
{
	int lines = p->rows - FOOT_ROWS, n = is_double(p) ? 2 * lines : lines;
	*columns = p->cols > HEAT_LEFT + 2 ? (uint32_t)(p->cols - HEAT_LEFT) : 2;
	*rows = n < 1 ? 1 : n > MAX_ROWS ? MAX_ROWS : (uint32_t)n;
}

static int64_t cell_of(const struct scan_heat *s, uint32_t column, uint32_t row)
{
	return row < s->rows ? s->cells[(size_t)column * s->rows + row] : 0;
}

static void draw_half(const struct scan_heat *s, struct grid *g, int y, int x, uint32_t column,
		      uint32_t row)
{
	int64_t upper = cell_of(s, column, row), lower = cell_of(s, column, row + 1);
	struct grid_style style = GRID_PLAIN;
	if (upper)
		style.fg = heat_rgb(upper, s->max);
	if (lower)
		style.bg = heat_rgb(lower, s->max);
	if (upper)
		grid_set(g, y, x, UPPER_HALF, style);
	else if (lower) /* the upper half of an empty cell */
		grid_set(g, y, x, UPPER_HALF,
			 (struct grid_style){ style.bg, COLOUR_DEFAULT, GRID_REVERSE });
}

/* Uses as many steps as RAMP has characters, not counting the blank. */
static void draw_char(const struct scan_heat *s, struct grid *g, int y, int x, uint32_t column,
		      uint32_t row)
{
	enum { STEPS = sizeof RAMP - 2 };
	int64_t v = cell_of(s, column, row);
	struct heat_scale scale = { s->max, STEPS };
	grid_set(g, y, x, (unsigned char)RAMP[s->max > 0 ? heat_step(&scale, v) : 0], GRID_PLAIN);
}

/* Draws "+120 ms" at the start of a row. */
static void draw_scale(const struct scan_heat *s, struct grid *g, int y, uint32_t row)
{
	struct grid_style dim = GRID_PLAIN;
	char text[16];
	double ms = (double)s->column_ns / 1e6 * row / s->rows;
	dim.attrs = GRID_DIM;
	snprintf(text, sizeof text, ms < 10 * SECOND_MS ? "%.0f ms" : "%.0f s",
		 ms < 10 * SECOND_MS ? ms : ms / SECOND_MS);
	grid_put_right(g, y, 0, HEAT_LEFT - 1, dim, text);
}

static void draw_times(const struct scan_heat *s, struct grid *g, const struct heat_place *p, int y)
{
	enum { EVERY = 10 };
	struct grid_style dim = GRID_PLAIN;
	dim.attrs = GRID_DIM;
	for (uint32_t c = 0; c + EVERY <= s->columns || c == 0; c += EVERY) {
		time_t at = (s->start_ns + (int64_t)c * s->column_ns) / 1000000000;
		struct tm tm;
		char text[16];
		localtime_r(&at, &tm);
		if (p->since_start)
			snprintf(text, sizeof text, "%llds", (long long)at);
		else
			strftime(text, sizeof text, "%H:%M:%S", &tm);
		grid_put(g, y, HEAT_LEFT + (int)c, EVERY - 1, dim, text);
	}
}

void heat_draw(const struct heat *h, struct grid *g, const struct heat_place *p)
{
	const struct scan_heat *s = &h->scan.heat;
	uint32_t each = is_double(p) ? 2 : 1, lines = (s->rows + each - 1) / each;
	if (!s->cells)
		return;
	for (uint32_t i = 0; i < lines; i++) {
		int y = p->y + (int)i;
		if (i % 4 == 0)
			draw_scale(s, g, y, i * each);
		for (uint32_t c = 0; c < s->columns; c++) {
			if (is_double(p))
				draw_half(s, g, y, HEAT_LEFT + (int)c, c, i * each);
			else
				draw_char(s, g, y, HEAT_LEFT + (int)c, c, i);
		}
	}
	draw_times(s, g, p, p->y + (int)lines);
	int y = p->y + (int)(h->row / each), x = HEAT_LEFT + (int)h->column;
	if (h->column < s->columns && h->row < s->rows && !is_double(p))
		grid_restyle(g, y, x, 1,
			     (struct grid_style){ COLOUR_DEFAULT, COLOUR_DEFAULT, GRID_REVERSE });
	else if (h->column < s->columns && h->row < s->rows)
		grid_set(g, y, x, 0x25cf, GRID_PLAIN);
}

void heat_select_at(struct heat *h, const struct heat_place *p, int y, int x)
{
	const struct scan_heat *s = &h->scan.heat;
	uint32_t each = is_double(p) ? 2 : 1;
	if (y < p->y || x < HEAT_LEFT || (uint32_t)(x - HEAT_LEFT) >= s->columns ||
	    (uint32_t)(y - p->y) * each >= s->rows)
		return;
	h->column = (uint32_t)(x - HEAT_LEFT);
	h->row = (uint32_t)(y - p->y) * each;
}
