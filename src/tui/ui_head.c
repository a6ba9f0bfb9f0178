/* The top of the screen: title, CPUs, GPUs, tabs. */
#include "tui/ui.h"

#include "base/buf.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

enum { BAR_COLS = 26, MAX_BAR_LINES = 4, LOWEST_BLOCK = 0x2581, BLOCK_STEPS = 8 };
#define USER_RGB 0x5fae5f
#define SYS_RGB  0xe08a4a
#define WAIT_RGB 0x4f7fe0

/* --- the first line --------------------------------------------------------------------------- */

static void add_cost(const struct feed_take *t, const char *dot, struct buf *b)
{
	if (t->own_cpu < 0)
		return;
	buf_addf(b, "%sown %.2f %%", dot, 100 * t->own_cpu);
	if (t->bpf_cpu >= 0)
		buf_addf(b, " + BPF %.2f %%", 100 * t->bpf_cpu);
}

static void add_state(const struct ui *ui, const char *dot, struct buf *b)
{
	const struct feed_take *t = &ui->take;
	if (t->rate_hz)
		buf_addf(b, "%s%llu Hz", dot, (unsigned long long)t->rate_hz);
	if (ui->is_zero)
		buf_addf(b, "%slast interval", dot);
	if (!look_is_moment(ui_from_ns(ui), t->to_ns))
		buf_addf(b, "%s%.3g s", dot, (double)(t->to_ns - ui_from_ns(ui)) / 1e9);
	if (t->lost != UINT64_MAX) {
		buf_addf(b, "%slost ", dot);
		fmt_count(b, t->lost);
	}
	add_cost(t, dot, b);
}

/* Draws the title. Room is retained for the state because it changes. */
static void draw_title(struct ui *ui)
{
	struct grid *g = &ui->grid;
	const char *dot = g->ascii ? ", " : " · ";
	struct grid_style bold = GRID_PLAIN;
	struct buf state = { 0 };
	bold.attrs = GRID_BOLD;
	add_state(ui, dot, &state);
	int room = g->cols - (int)state.len - 1;
	if (room < 20)
		room = 20;
	int x = grid_putf(g, 0, 0, room, bold, "cresset top%s%s", dot, ui->feed->what);
	grid_put(g, 0, x, g->cols - x, GRID_PLAIN, buf_cstr(&state));
	buf_done(&state);
}

/* --- CPUs ------------------------------------------------------------------------------------- */

uint32_t ui_cpu_count(const struct ui *ui)
{
	return ui->take.cpu ? ui->take.n_cpus : (uint32_t)ui->cpus.cpus.n;
}

struct feed_cpu ui_cpu(const struct ui *ui, uint32_t i)
{
	double span = (double)(ui->take.to_ns - ui_from_ns(ui));
	if (ui->take.cpu)
		return ui->take.cpu[i];
	if (look_is_moment(ui_from_ns(ui), ui->take.to_ns))
		return (struct feed_cpu){ 0 };
	const struct scan_cpu *c = &ui->cpus.cpus.v[i];
	return (struct feed_cpu){ (float)((double)c->user / span), (float)((double)c->sys / span),
				  0 };
}

static int bars_per_line(const struct ui *ui)
{
	int n = ui->grid.cols / BAR_COLS;
	return n < 1 ? 1 : n;
}

int ui_cpu_lines(const struct ui *ui)
{
	int n = (int)ui_cpu_count(ui), each = bars_per_line(ui);
	int lines = (n + each - 1) / each;
	return lines > MAX_BAR_LINES ? (n + ui->grid.cols - 1) / ui->grid.cols > 1 ? 2 : 1 : lines;
}

static int part_cols(float share, int width)
{
	int n = (int)(share * (float)width + 0.5f);
	return n < 0 ? 0 : n > width ? width : n;
}

static struct grid_style coloured(const struct ui *ui, uint32_t rgb)
{
	struct grid_style s = GRID_PLAIN;
	if (ui->has_colour)
		s.fg = rgb;
	return s;
}

/* "12 [||||##      34 %]": | in programs, # in the kernel, ~ waiting for a disk. */
static void draw_bar(struct ui *ui, int y, int x, int width, uint32_t cpu)
{
	struct feed_cpu c = ui_cpu(ui, cpu);
	int room = width - 7, at = x + 4, end;
	int user = part_cols(c.user, room), sys = part_cols(c.user + c.sys, room),
	    wait = part_cols(c.user + c.sys + c.wait, room);
	grid_putf(&ui->grid, y, x, 4, GRID_PLAIN, "%3u[", cpu);
	for (int i = 0; i < wait; i++)
		grid_set(&ui->grid, y, at + i,
			 i < user  ? '|'
			 : i < sys ? '#'
				   : '~',
			 coloured(ui, i < user  ? USER_RGB
				      : i < sys ? SYS_RGB
						: WAIT_RGB));
	end = at + room - 4;
	char text[16];
	snprintf(text, sizeof text, "%3.0f%%", 100 * (double)(c.user + c.sys));
	grid_put(&ui->grid, y, end, 4, GRID_PLAIN, text);
	grid_set(&ui->grid, y, at + room, ']', GRID_PLAIN);
}

/* Draws one character per CPU, for machines with many. */
static void draw_dense(struct ui *ui, uint32_t cpu)
{
	struct feed_cpu c = ui_cpu(ui, cpu);
	int cols = ui->grid.cols, y = 1 + (int)cpu / cols, x = (int)cpu % cols;
	int step = part_cols(c.user + c.sys, BLOCK_STEPS);
	if (y > 2)
		return;
	if (ui->grid.ascii)
		grid_set(&ui->grid, y, x, (uint32_t)(step ? '0' + step : '.'), GRID_PLAIN);
	else if (step)
		grid_set(&ui->grid, y, x, LOWEST_BLOCK + (uint32_t)step - 1,
			 coloured(ui, c.sys > c.user ? SYS_RGB : USER_RGB));
}

static void draw_cpus(struct ui *ui)
{
	uint32_t n = ui_cpu_count(ui);
	int each = bars_per_line(ui), width = ui->grid.cols / each;
	bool is_dense = ((int)n + each - 1) / each > MAX_BAR_LINES;
	for (uint32_t i = 0; i < n; i++) {
		if (is_dense)
			draw_dense(ui, i);
		else
			draw_bar(ui, 1 + (int)i / each, (int)i % each * width, width, i);
	}
}

/* --- GPUs ------------------------------------------------------------------------------------- */

int ui_gpu_lines(const struct ui *ui)
{
	return *ui->take.gpus != '\0';
}

static void draw_gpus(struct ui *ui)
{
	if (ui_gpu_lines(ui))
		grid_put(&ui->grid, 1 + ui_cpu_lines(ui), 0, ui->grid.cols, GRID_PLAIN,
			 ui->take.gpus);
}

/* --- tabs ------------------------------------------------------------------------------------- */

int ui_tab_at(const struct ui *ui, int x)
{
	struct look look;
	for (int i = 0, end = 0; i < views_n; i++) {
		if (!ui_look(ui, &views[i], &look))
			continue;
		end += (int)strlen(views[i].title) + 4; /* as in draw_tabs: " 1 Title " */
		if (x < end)
			return i;
	}
	return -1;
}

static void draw_tabs(struct ui *ui, int y)
{
	struct grid *g = &ui->grid;
	struct look look;
	struct buf b = { 0 };
	int x = 0, number = 0;
	for (int i = 0; i < views_n; i++) {
		struct grid_style s = GRID_PLAIN;
		if (!ui_look(ui, &views[i], &look))
			continue;
		s.attrs = i == ui->tab ? GRID_REVERSE | GRID_BOLD : 0;
		x += grid_putf(g, y, x, g->cols - x, s, " %d %s ", ++number, views[i].title);
	}
	if (ui->pane.view)
		buf_adds(&b, ui_look(ui, ui->pane.view, &look) ? look_type_name(&look) : "");
	grid_put_right(g, y, x + 1, g->cols - x - 1, GRID_PLAIN, buf_cstr(&b));
	buf_done(&b);
}

void ui_draw_head(struct ui *ui, const struct ui_places *places)
{
	draw_title(ui);
	draw_cpus(ui);
	draw_gpus(ui);
	draw_tabs(ui, places->tabs_y);
}
