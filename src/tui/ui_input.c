/* Keys and clicks. */
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "profile/sink.h"
#include "profile/tree/tree.h"
#include "tui/ui.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WHEEL_LINES = 3, ZOOMS_MAX = 16 };

static enum view_kind kind_of(const struct ui *ui)
{
	return ui->pane.view ? ui->pane.view->kind : VIEW_TABLE;
}

static int body_rows(const struct ui *ui)
{
	struct ui_places places;
	ui_layout(ui, &places);
	return places.body_rows - 1;
}

/* --- zooming ---------------------------------------------------------------------------------- */

static void zoom_in(struct ui *ui, uint32_t pid, uint32_t tid, const char *function,
		    const char *tab)
{
	if (ui->zooms.n >= ZOOMS_MAX)
		return;
	vec_push(&ui->zooms,
		 (struct ui_zoom){ pid, tid, function ? xstrdup(function) : NULL, ui->tab });
	ui_set_tab(ui, tab);
	ui->tabs[ui->tab].selected = 0;
	ui_make(ui);
}

static void enter(struct ui *ui)
{
	const struct view *v = ui->pane.view;
	if (v && v->kind == VIEW_FLAME) {
		flame_zoom(&ui->pane.flame, ui->pane.flame.selected);
		return;
	}
	if (!v || v->kind != VIEW_TABLE)
		return;
	const struct row *r = tui_table_at(&ui->pane.table, ui->tabs[ui->tab].selected);
	if (r && v->has_functions)
		zoom_in(ui, SAMPLE_NO_ID, SAMPLE_NO_ID, r->name, "flame");
	else if (r && r->pid != SAMPLE_NO_ID)
		zoom_in(ui, r->pid, r->tid, NULL, "functions");
	else if (r)
		ui_say(ui, "The pid of the process is unknown.");
}

static void go_back(struct ui *ui)
{
	if (kind_of(ui) == VIEW_FLAME && flame_zoom_out(&ui->pane.flame))
		return;
	if (!ui->zooms.n) {
		if (match_is_on(&ui->filter))
			match_done(&ui->filter);
		ui_make(ui);
		return;
	}
	struct ui_zoom z = ui->zooms.v[--ui->zooms.n];
	free(z.function);
	ui->tab = z.tab;
	ui_make(ui);
}

/* --- the prompt ------------------------------------------------------------------------------- */

static void begin_prompt(struct ui *ui, enum ui_prompt prompt, const char *text)
{
	ui->prompt = prompt;
	snprintf(ui->typed, sizeof ui->typed, "%s", text);
}

static void begin_write(struct ui *ui)
{
	char name[64];
	time_t now = time(NULL);
	struct tm tm;
	localtime_r(&now, &tm);
	strftime(name, sizeof name, "cresset-top-%Y%m%d-%H%M%S.cresset", &tm);
	begin_prompt(ui, PROMPT_WRITE, name);
}

static void end_prompt(struct ui *ui)
{
	struct err err = { 0 };
	enum ui_prompt prompt = ui->prompt;
	ui->prompt = PROMPT_NONE;
	if (prompt == PROMPT_FILTER && match_set(&ui->filter, ui->typed, &err) == 0)
		ui_make(ui);
	else if (prompt == PROMPT_FILTER)
		ui_say(ui, "%s", err.text);
	else if (*ui->typed && ui_write(ui, ui->typed, &err) < 0)
		ui_say(ui, "%s", err.text);
	else if (*ui->typed)
		ui_say(ui, "wrote %s", ui->typed);
}

static void type_char(struct ui *ui, uint32_t c)
{
	char bytes[8];
	size_t n = utf8_put(bytes, c), len = strlen(ui->typed);
	if (c < ' ' || c == 0x7f || len + n >= sizeof ui->typed)
		return;
	memcpy(ui->typed + len, bytes, n);
	ui->typed[len + n] = '\0';
}

/* Removes the last character, all its bytes. */
static void type_back(struct ui *ui)
{
	size_t len = strlen(ui->typed);
	while (len && (ui->typed[len - 1] & 0xc0) == 0x80)
		len--;
	ui->typed[len ? len - 1 : 0] = '\0';
}

static void prompt_input(struct ui *ui, const struct ui_input *in)
{
	if (in->key == UI_CHAR)
		type_char(ui, in->c);
	else if (in->key == UI_BACKSPACE)
		type_back(ui);
	else if (in->key == UI_ENTER)
		end_prompt(ui);
	else if (in->key == UI_ESC)
		ui->prompt = PROMPT_NONE;
}

/* --- moving ----------------------------------------------------------------------------------- */

static void move_lines(struct ui *ui, int by)
{
	struct ui_tab *t = &ui->tabs[ui->tab];
	int lines = tui_table_lines(&ui->pane.table);
	t->selected += by;
	if (t->selected >= lines)
		t->selected = lines - 1;
	if (t->selected < 0)
		t->selected = 0;
}

static void move_table(struct ui *ui, enum ui_key key)
{
	int page = body_rows(ui) - 1, all = tui_table_lines(&ui->pane.table);
	switch (key) {
	case UI_UP:
		move_lines(ui, -1);
		break;
	case UI_DOWN:
		move_lines(ui, 1);
		break;
	case UI_PAGE_UP:
		move_lines(ui, -page);
		break;
	case UI_PAGE_DOWN:
		move_lines(ui, page);
		break;
	case UI_WHEEL_UP:
		move_lines(ui, -WHEEL_LINES);
		break;
	case UI_WHEEL_DOWN:
		move_lines(ui, WHEEL_LINES);
		break;
	case UI_HOME:
		move_lines(ui, -all);
		break;
	case UI_END:
		move_lines(ui, all);
		break;
	default:
		break;
	}
}

static void scroll_flame(struct ui *ui, int by)
{
	struct flame *f = &ui->pane.flame;
	int deepest = f->tree ? (int)tree_depth(f->tree) : 0;
	f->top += by;
	f->top = f->top > deepest ? deepest : f->top < 0 ? 0 : f->top;
}

static void move_flame(struct ui *ui, enum ui_key key)
{
	struct flame *f = &ui->pane.flame;
	int rows = body_rows(ui);
	switch (key) {
	case UI_UP:
		flame_move(f, FLAME_PARENT, rows);
		break;
	case UI_DOWN:
		flame_move(f, FLAME_CHILD, rows);
		break;
	case UI_LEFT:
		flame_move(f, FLAME_LEFT, rows);
		break;
	case UI_RIGHT:
		flame_move(f, FLAME_RIGHT, rows);
		break;
	case UI_PAGE_UP:
		scroll_flame(ui, -rows);
		break;
	case UI_PAGE_DOWN:
		scroll_flame(ui, rows);
		break;
	case UI_WHEEL_UP:
		scroll_flame(ui, -WHEEL_LINES);
		break;
	case UI_WHEEL_DOWN:
		scroll_flame(ui, WHEEL_LINES);
		break;
	case UI_HOME:
		flame_zoom(f, TREE_ROOT);
		break;
	default:
		break;
	}
}

static void move_heat(struct ui *ui, enum ui_key key)
{
	struct heat *h = &ui->pane.heat;
	const struct scan_heat *s = &h->scan.heat;
	if (key == UI_LEFT && h->column > 0)
		h->column--;
	if (key == UI_RIGHT && h->column + 1 < s->columns)
		h->column++;
	if (key == UI_UP && h->row > 0)
		h->row--;
	if (key == UI_DOWN && h->row + 1 < s->rows)
		h->row++;
}

static void move(struct ui *ui, enum ui_key key)
{
	if (kind_of(ui) == VIEW_TABLE)
		move_table(ui, key);
	else if (kind_of(ui) == VIEW_FLAME)
		move_flame(ui, key);
	else
		move_heat(ui, key);
}

/* --- tabs, types, time ------------------------------------------------------------------------ */

static void set_tab(struct ui *ui, int tab)
{
	struct look look;
	if (tab < 0 || tab >= views_n || !ui_look(ui, &views[tab], &look))
		return;
	ui->tab = tab;
	ui_make(ui);
}

/* Selects the n-th visible tab, counted from 1. */
static void set_tab_number(struct ui *ui, int n)
{
	struct look look;
	for (int i = 0; i < views_n; i++)
		if (ui_look(ui, &views[i], &look) && --n == 0) {
			set_tab(ui, i);
			return;
		}
}

static void next_tab(struct ui *ui)
{
	struct look look;
	for (int i = 1; i <= views_n; i++)
		if (ui_look(ui, &views[(ui->tab + i) % views_n], &look)) {
			set_tab(ui, (ui->tab + i) % views_n);
			return;
		}
}

static void pause_or_go_on(struct ui *ui)
{
	if (!ui->feed->goes_on) {
		ui_say(ui, "A file does not change: nothing to pause.");
		return;
	}
	ui->is_paused = !ui->is_paused;
	if (ui->feed->ops->hold)
		ui->feed->ops->hold(ui->feed, ui->is_paused);
}

static void reset(struct ui *ui)
{
	if (!ui->feed->goes_on) {
		ui_say(ui, "A file cannot be cleared.");
		return;
	}
	ui->reset_ns = ui->take.to_ns;
	ui_say(ui, "Data cleared.");
	ui_make(ui);
}

static void expand(struct ui *ui)
{
	const struct row *r = NULL;
	if (ui->pane.view && ui->pane.view->kind == VIEW_TABLE && ui->pane.view->has_functions)
		r = tui_table_at(&ui->pane.table, ui->tabs[ui->tab].selected);
	bool is_same = !r || strcmp(ui->expanded, r->name) == 0;
	if (!r && !*ui->expanded) {
		ui_say(ui, "Callers are shown for functions: tab 1.");
		return;
	}
	snprintf(ui->expanded, sizeof ui->expanded, "%s", is_same ? "" : r->name);
	ui_make(ui);
}

static void sort_by(struct ui *ui, int column)
{
	if (kind_of(ui) != VIEW_TABLE || column < 0 || !ui->pane.table.columns[column].sorts)
		return;
	ui->tabs[ui->tab].sort = column;
	tui_table_sort(&ui->pane.table, column);
	ui_say(ui, "sorted by %s", ui->pane.table.columns[column].title);
}

static void next_sort(struct ui *ui)
{
	if (ui->pane.view && kind_of(ui) == VIEW_TABLE)
		sort_by(ui, tui_table_next_sort(&ui->pane.table, ui->tabs[ui->tab].sort));
}

static void next_type(struct ui *ui)
{
	if (ui_type_next(ui) < 0)
		ui_say(ui, "No other type.");
	else
		ui_make(ui);
}

static void toggle_kernel(struct ui *ui)
{
	ui->no_kernel = !ui->no_kernel;
	ui_make(ui);
}

static void toggle_zero(struct ui *ui)
{
	ui->is_zero = !ui->is_zero;
	ui_make(ui);
}

static void begin_filter(struct ui *ui)
{
	begin_prompt(ui, PROMPT_FILTER, ui->filter.text ? ui->filter.text : "");
}

static void show_help(struct ui *ui)
{
	ui->shows_help = true;
}

static void quit(struct ui *ui)
{
	ui->is_done = true;
}

static const struct {
	char key;
	void (*run)(struct ui *ui);
} commands[] = {
	{ 'q', quit },      { 'h', show_help },      { '?', show_help },   { '/', begin_filter },
	{ 's', next_sort }, { ' ', pause_or_go_on }, { 'z', toggle_zero }, { 'r', reset },
	{ 'p', next_type }, { 'k', toggle_kernel },  { 'e', expand },      { 'w', begin_write },
};

/* --- the mouse -------------------------------------------------------------------------------- */

static void click_table(struct ui *ui, const struct ui_places *places, const struct ui_input *in)
{
	struct ui_tab *t = &ui->tabs[ui->tab];
	int line = t->top + in->y - places->body_y - 1;
	if (in->y == places->body_y) {
		sort_by(ui, tui_table_column_at(&ui->pane.table, ui->grid.cols, in->x));
	} else if (line < tui_table_lines(&ui->pane.table)) {
		bool again = line == t->selected;
		t->selected = line;
		if (again)
			enter(ui);
	}
}

static void click(struct ui *ui, const struct ui_input *in)
{
	struct ui_places places;
	ui_layout(ui, &places);
	if (in->y == places.tabs_y) {
		set_tab(ui, ui_tab_at(ui, in->x));
	} else if (in->y < places.body_y || in->y >= places.foot_y || !ui->pane.view) {
		return;
	} else if (kind_of(ui) == VIEW_TABLE) {
		click_table(ui, &places, in);
	} else if (kind_of(ui) == VIEW_FLAME) {
		uint32_t node = flame_node_at(&ui->pane.flame, in->y, in->x);
		if (node != TREE_NONE)
			flame_zoom(&ui->pane.flame, node);
	} else {
		struct heat_place p = { .y = places.body_y,
					.rows = places.body_rows - 1,
					.cols = ui->grid.cols,
					.has_colour = ui->has_colour && !ui->grid.ascii };
		heat_select_at(&ui->pane.heat, &p, in->y, in->x);
	}
}

/* --- dispatch --------------------------------------------------------------------------------- */

static void char_input(struct ui *ui, uint32_t c)
{
	if (c >= '1' && c <= '9') {
		set_tab_number(ui, (int)c - '0');
		return;
	}
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if ((uint32_t)commands[i].key == c)
			commands[i].run(ui);
}

void ui_input(struct ui *ui, const struct ui_input *in)
{
	if (in->key == UI_NOTHING)
		return;
	ui->message[0] = '\0';
	if (ui->shows_help) {
		ui->shows_help = false;
		return;
	}
	if (ui->prompt != PROMPT_NONE) {
		prompt_input(ui, in);
		return;
	}
	switch (in->key) {
	case UI_CHAR:
		char_input(ui, in->c);
		break;
	case UI_ENTER:
		enter(ui);
		break;
	case UI_ESC:
		go_back(ui);
		break;
	case UI_TAB:
		next_tab(ui);
		break;
	case UI_CLICK:
		click(ui, in);
		break;
	default:
		move(ui, in->key);
		break;
	}
}
