/* Draws the screen, and the help. */
#include "tui/ui.h"

#include "base/buf.h"
#include "base/err.h"
#include "format/common/format.h"
#include "format/common/value.h"
#include "format/formats.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/tree/tree.h"
#include "query/plan.h"
#include "query/source.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the help screen --- */

static const char *const help_lines[] = {
	"1 … 7, Tab    tabs, from left to right; or click",
	"arrows, PgUp, PgDn, Home, End    move; in the flame graph left and right are neighbours,",
	"              up is the caller, down the widest callee",
	"Enter         process or thread: show only its samples; function: the flame "
	"graph",
	"              of the stacks that contain it; box of the flame graph: zoom in",
	"Esc           back",
	"/             filter by name: a substring, or /regex/; marks boxes in the flame graph. "
	"Empty: all",
	"s             sort by the next column; or click on a column head",
	"e             show or hide the callers of the selected function",
	"p             next profile type: cpu, off-cpu …",
	"k             hide or show kernel frames",
	"space         pause or resume",
	"z             switch between the last interval and the whole window",
	"r             clear all data",
	"w             write the current view to a file: .cresset .folded .svg .pb.gz …",
	"h ?           this help; any key closes it        q  quit",
	"",
	"self: in a function's own code. total: including callees, recursion counted once.",
	"CPUs: | in programs, # in the kernel, ~ waiting for a disk.",
};

static void ui_draw_help(struct ui *ui, const struct ui_places *places)
{
	for (int i = 0; i < (int)(sizeof help_lines / sizeof *help_lines); i++)
		if (i < places->body_rows)
			grid_put(&ui->grid, places->body_y + i, 1, ui->grid.cols - 2, GRID_PLAIN,
				 help_lines[i]);
}

/* --- filters in effect ------------------------------------------------------------------------ */

/* Includes filters and a pause. */
static bool ui_has_zooms(const struct ui *ui)
{
	return ui->zooms.n || match_is_on(&ui->filter) || ui->no_kernel || ui->is_paused;
}

static void ui_draw_zooms(struct ui *ui, int y)
{
	struct grid_style bold = GRID_PLAIN;
	struct buf b = { 0 };
	bold.attrs = GRID_BOLD;
	if (ui->is_paused)
		buf_adds(&b, "PAUSED, space resumes  ");
	for (size_t i = 0; i < ui->zooms.n; i++) {
		const struct ui_zoom *z = &ui->zooms.v[i];
		buf_adds(&b, i == 0 ? "in " : " > ");
		if (z->function)
			buf_adds(&b, z->function);
		else if (z->tid != SAMPLE_NO_ID)
			buf_addf(&b, "thread %u", z->tid);
		else
			buf_addf(&b, "process %u", z->pid);
	}
	if (ui->zooms.n)
		buf_adds(&b, ", Esc back  ");
	if (match_is_on(&ui->filter))
		buf_addf(&b, "filter %s  ", ui->filter.text);
	if (ui->no_kernel)
		buf_adds(&b, "no kernel");
	grid_put(&ui->grid, y, 0, ui->grid.cols, bold, buf_cstr(&b));
	buf_done(&b);
}

/* --- lifetime --------------------------------------------------------------------------------- */

void ui_init(struct ui *ui, struct feed *feed, bool has_colour, bool ascii)
{
	*ui = (struct ui){ .feed = feed, .has_colour = has_colour };
	for (int i = 0; i < views_n; i++)
		ui->tabs[i].sort = views[i].sort;
	grid_init(&ui->grid, 24, 80, ascii);
}

void ui_done(struct ui *ui)
{
	for (size_t i = 0; i < ui->zooms.n; i++)
		free(ui->zooms.v[i].function);
	vec_done(&ui->zooms);
	match_done(&ui->filter);
	pane_done(&ui->pane);
	scan_done(&ui->cpus);
	grid_done(&ui->grid);
}

void ui_resize(struct ui *ui, int rows, int cols)
{
	bool ascii = ui->grid.ascii;
	grid_done(&ui->grid);
	grid_init(&ui->grid, rows, cols, ascii);
}

int ui_set_tab(struct ui *ui, const char *name)
{
	for (int i = 0; i < views_n; i++)
		if (strcmp(views[i].name, name) == 0) {
			ui->tab = i;
			return 0;
		}
	return -ENOENT;
}

void ui_say(struct ui *ui, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(ui->message, sizeof ui->message, fmt, ap);
	va_end(ap);
}

/* --- scope ------------------------------------------------------------------------------------ */

static uint32_t chosen_type(const struct ui *ui, struct source *s)
{
	uint32_t others, type = UINT32_MAX;
	if (*ui->type)
		type = look_find_type(s, ui->type, false);
	else if (ui->feed->goes_on) /* even if another type arrived first */
		type = look_find_type(s, "cpu", false);
	return type != UINT32_MAX ? type : query_pick_type(s->ops->catalog(s), NULL, &others);
}

static void heat_place(const struct ui *ui, struct heat_place *out)
{
	struct ui_places places;
	ui_layout(ui, &places);
	*out = (struct heat_place){ .y = places.body_y,
				    .rows = places.body_rows - 1,
				    .cols = ui->grid.cols,
				    .has_colour = ui->has_colour && !ui->grid.ascii };
}

int64_t ui_from_ns(const struct ui *ui)
{
	int64_t from = ui->take.from_ns;
	if (ui->is_zero && ui->zero_from_ns > from)
		from = ui->zero_from_ns;
	return ui->reset_ns > from ? ui->reset_ns : from;
}

bool ui_look(const struct ui *ui, const struct view *v, struct look *out)
{
	struct source *s = ui->feed->ops->source(ui->feed);
	struct heat_place heat;
	*out = (struct look){ .source = s,
			      .from_ns = ui_from_ns(ui),
			      .to_ns = ui->take.to_ns,
			      .history_ns = ui->take.history_ns,
			      .pid = SAMPLE_NO_ID,
			      .tid = SAMPLE_NO_ID,
			      .no_kernel = ui->no_kernel };
	if (ui->reset_ns > out->history_ns)
		out->history_ns = ui->reset_ns;
	for (size_t i = 0; i < ui->zooms.n; i++) {
		const struct ui_zoom *z = &ui->zooms.v[i];
		out->pid = z->pid != SAMPLE_NO_ID ? z->pid : out->pid;
		out->tid = z->tid != SAMPLE_NO_ID ? z->tid : out->tid;
		out->function = z->function ? z->function : out->function;
	}
	heat_place(ui, &heat);
	heat_cells(&heat, &out->heat_columns, &out->heat_rows);
	out->type = s ? v->type(s, chosen_type(ui, s)) : UINT32_MAX;
	return out->type != UINT32_MAX && out->to_ns > out->from_ns;
}

int ui_type_next(struct ui *ui)
{
	struct source *s = ui->feed->ops->source(ui->feed);
	const struct profile *p = s->ops->catalog(s);
	uint32_t n = p->series.types.n, now = chosen_type(ui, s);
	for (uint32_t i = 1; i < n; i++) {
		const struct type *t = &p->series.types.v[(now + i) % n];
		if (type_is_metric(t))
			continue;
		snprintf(ui->type, sizeof ui->type, "%s", profile_str(p, t->name));
		return 0;
	}
	return -ENOENT;
}

/* --- rebuilding ------------------------------------------------------------------------------- */

/* Switches to the next tab with data if the current one has none. */
static const struct view *settle_tab(struct ui *ui, struct look *look)
{
	for (int i = 0; i < views_n; i++) {
		int tab = (ui->tab + i) % views_n;
		if (ui_look(ui, &views[tab], look)) {
			ui->tab = tab;
			return &views[tab];
		}
	}
	return NULL;
}

static void clamp_selection(struct ui *ui)
{
	struct ui_tab *t = &ui->tabs[ui->tab];
	int lines = tui_table_lines(&ui->pane.table);
	if (t->selected >= lines)
		t->selected = lines - 1;
	if (t->selected < 0)
		t->selected = 0;
}

static void make_cpus(struct ui *ui)
{
	struct look look;
	struct err err = { 0 };
	scan_done(&ui->cpus);
	if (ui->take.cpu || !ui_look(ui, &views[0], &look))
		return;
	look.type = look_find_type(look.source, "cpu", false);
	look.pid = look.tid = SAMPLE_NO_ID;
	look.function = NULL;
	if (look.type != UINT32_MAX)
		scan_cpus(&ui->cpus, &look, &err);
	/* Values other than times give no shares of a CPU. */
	if (ui->cpus.unit && strcmp(ui->cpus.unit, "nanoseconds") != 0)
		scan_done(&ui->cpus);
}

void ui_make(struct ui *ui)
{
	struct look look;
	struct err err = { 0 };
	make_cpus(ui);
	const struct view *v = settle_tab(ui, &look);
	ui->shows_waits = v && strcmp(look_type_name(&look), "cpu") != 0;
	if (!v) {
		pane_done(&ui->pane);
		return;
	}
	if (pane_make(&ui->pane, v, &look, &err) < 0)
		ui_say(ui, "%s", err.text);
	tui_table_filter(&ui->pane.table, &ui->filter);
	if (v->kind == VIEW_TABLE)
		tui_table_sort(&ui->pane.table, ui->tabs[ui->tab].sort);
	if (v->has_functions && *ui->expanded)
		pane_expand(&ui->pane, ui->expanded);
	clamp_selection(ui);
}

int ui_take(struct ui *ui, struct err *err)
{
	struct feed_take take = { 0 };
	int rc = ui->feed->ops->take(ui->feed, ui->wants_waits || ui->shows_waits, &take, err);
	if (rc < 0)
		return rc;
	if (take.to_ns > ui->last_to_ns) {
		ui->zero_from_ns = ui->last_to_ns;
		ui->last_to_ns = take.to_ns;
	}
	ui->take = take;
	ui_make(ui);
	return 0;
}

int ui_write(struct ui *ui, const char *path, struct err *err)
{
	const struct format *f = format_by_ending(path);
	struct format_write_opts opts = { 0 };
	struct profile *p = NULL;
	struct look look;
	if (!f || !f->write)
		return err_set(err, EINVAL, "no output format has the ending of '%s'", path);
	if (!ui_look(ui, &views[ui->tab], &look))
		return err_set(err, ENODATA, "nothing to write");
	int rc = look_profile(&look, &p, &opts.tree, err);
	if (rc == 0)
		rc = format_write_file(f, p, &opts, path, err);
	profile_free(p);
	return rc;
}

/* --- drawing ---------------------------------------------------------------------------------- */

void ui_layout(const struct ui *ui, struct ui_places *out)
{
	int bars = ui_cpu_lines(ui) + ui_gpu_lines(ui);
	*out = (struct ui_places){ .cpu_lines = ui_cpu_lines(ui),
				   .tabs_y = 1 + bars,
				   .body_y = 2 + bars,
				   .body_rows = ui->grid.rows - 3 - bars,
				   .foot_y = ui->grid.rows - 1 };
}

static void scroll_to_selected(struct ui *ui, int lines)
{
	struct ui_tab *t = &ui->tabs[ui->tab];
	int all = tui_table_lines(&ui->pane.table);
	if (t->selected < t->top)
		t->top = t->selected;
	if (t->selected >= t->top + lines)
		t->top = t->selected - lines + 1;
	if (t->top > all - lines)
		t->top = all - lines;
	if (t->top < 0)
		t->top = 0;
}

static void draw_table(struct ui *ui, const struct ui_places *places)
{
	const struct ui_tab *t = &ui->tabs[ui->tab];
	scroll_to_selected(ui, places->body_rows - 1);
	struct table_place p = { places->body_y, places->body_rows, ui->grid.cols,
				 t->top,         t->selected,       t->sort };
	tui_table_draw(&ui->pane.table, &ui->grid, &p);
	if (!ui->pane.table.shown.n)
		grid_put(&ui->grid, places->body_y + 2, 2, ui->grid.cols - 4, GRID_PLAIN,
			 ui->pane.table.rows.n
				 ? "No name matches the filter; / and Enter remove it."
				 : "No data yet.");
}

/* Describes the selected box. */
static void draw_flame_foot(struct ui *ui, int y)
{
	const struct flame *f = &ui->pane.flame;
	const struct tree *t = ui->pane.tree;
	const struct tree_node *n = &t->nodes.v[f->selected];
	struct buf b = { 0 };
	const char *name = strtab_get(&t->strings, t->funcs.v[n->func].name);
	buf_addf(&b, "%s  %.2f %% of view, %.2f %% of all, self %.2f %%  ",
		 f->selected == TREE_ROOT ? "all" : name,
		 value_percent((double)n->total, (double)t->nodes.v[f->zoom].total),
		 value_percent((double)n->total, ui->pane.total),
		 value_percent((double)n->self, ui->pane.total));
	if (match_is_on(&ui->filter))
		buf_addf(&b, "matched %.2f %%  ",
			 value_percent((double)flame_matched(f, &ui->filter), ui->pane.total));
	value_fmt(&b, n->total, t->unit);
	grid_put(&ui->grid, y, 0, ui->grid.cols, GRID_PLAIN, buf_cstr(&b));
	buf_done(&b);
}

static void draw_flame(struct ui *ui, const struct ui_places *places)
{
	struct flame_place p = { places->body_y, places->body_rows - 1, ui->grid.cols,
				 ui->has_colour, &ui->filter };
	if (!ui->pane.tree)
		return;
	flame_draw(&ui->pane.flame, &ui->grid, &p);
	draw_flame_foot(ui, places->body_y + places->body_rows - 1);
}

static void draw_heat_foot(struct ui *ui, int y)
{
	const struct scan_heat *s = &ui->pane.heat.scan.heat;
	const struct heat *h = &ui->pane.heat;
	struct buf b = { 0 };
	double cell_ms = (double)s->column_ns / 1e6 / s->rows;
	if (!s->cells)
		return;
	buf_addf(&b, "a column is %.0f s, a cell %.0f ms: 0 to ", (double)s->column_ns / 1e9,
		 cell_ms);
	value_fmt(&b, s->max, ui->pane.unit);
	if (h->column < s->columns && h->row < s->rows) {
		buf_addf(&b, "; here, at +%.0f ms: ", cell_ms * h->row);
		value_fmt(&b, s->cells[(size_t)h->column * s->rows + h->row], ui->pane.unit);
	}
	grid_put(&ui->grid, y, 0, ui->grid.cols, GRID_PLAIN, buf_cstr(&b));
	buf_done(&b);
}

static void draw_heat(struct ui *ui, const struct ui_places *places)
{
	struct heat_place p;
	heat_place(ui, &p);
	p.since_start = ui->pane.since_start;
	heat_draw(&ui->pane.heat, &ui->grid, &p);
	draw_heat_foot(ui, places->body_y + places->body_rows - 1);
}

static void draw_foot(struct ui *ui, int y)
{
	struct grid_style dim = GRID_PLAIN, bold = GRID_PLAIN;
	int cols = ui->grid.cols;
	dim.attrs = GRID_DIM;
	bold.attrs = GRID_BOLD;
	if (ui->prompt != PROMPT_NONE)
		grid_putf(&ui->grid, y, 0, cols, bold, "%s%s_",
			  ui->prompt == PROMPT_FILTER ? "filter (text or /regex/): " : "write to: ",
			  ui->typed);
	else if (*ui->message)
		grid_put(&ui->grid, y, 0, cols, bold, ui->message);
	else if (*ui->take.note)
		grid_put(&ui->grid, y, 0, cols, bold, ui->take.note);
	else if (ui_has_zooms(ui))
		ui_draw_zooms(ui, y);
	else
		grid_put(&ui->grid, y, 0, cols, dim,
			 "h help  / filter  s sort  Enter into  Esc back  e callers  space pause  "
			 "q quit");
}

static void draw_too_small(struct ui *ui)
{
	struct grid *g = &ui->grid;
	grid_putf(g, 0, 0, g->cols, GRID_PLAIN, "%d x %d is too small:", g->cols, g->rows);
	grid_putf(g, 1, 0, g->cols, GRID_PLAIN, "make it %d x %d.", UI_MIN_COLS, UI_MIN_ROWS);
	grid_put(g, 2, 0, g->cols, GRID_PLAIN, "q ends it.");
}

void ui_draw(struct ui *ui)
{
	struct ui_places places;
	grid_clear(&ui->grid);
	if (ui->grid.cols < UI_MIN_COLS || ui->grid.rows < UI_MIN_ROWS) {
		draw_too_small(ui);
		return;
	}
	ui_layout(ui, &places);
	ui_draw_head(ui, &places);
	if (ui->shows_help)
		ui_draw_help(ui, &places);
	else if (!ui->pane.view)
		grid_put(&ui->grid, places.body_y + 1, 2, ui->grid.cols - 4, GRID_PLAIN,
			 "No data yet.");
	else if (ui->pane.view->kind == VIEW_TABLE)
		draw_table(ui, &places);
	else if (ui->pane.view->kind == VIEW_FLAME)
		draw_flame(ui, &places);
	else
		draw_heat(ui, &places);
	draw_foot(ui, places.foot_y);
}
