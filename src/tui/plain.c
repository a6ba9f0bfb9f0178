/* Writes the tables as text or JSON. */
#include "tui/plain.h"

#include "base/buf.h"
#include "base/json/json.h"
#include "tui/feed.h"
#include "tui/grid.h"
#include "tui/look.h"
#include "tui/pane.h"
#include "tui/table.h"
#include "tui/ui.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { PLAIN_COLS = 100, PLAIN_ROWS = 40 };

/* --- text ------------------------------------------------------------------------------------- */

/* Appends rows without trailing empty ones. */
static void add_rows(const struct grid *g, int from, int to, struct buf *out)
{
	struct buf last = { 0 };
	for (bool is_empty = true; is_empty && to > from; to -= is_empty) {
		buf_clear(&last);
		grid_row_text(g, to - 1, &last);
		is_empty = !last.len;
	}
	buf_done(&last);
	for (int y = from; y < to; y++) {
		grid_row_text(g, y, out);
		buf_addc(out, '\n');
	}
}

/* Prints the head of the screen; for pictures, also the body. */
void plain_text(struct ui *ui, const struct plain_opts *o, struct buf *out)
{
	struct ui_places places;
	ui->has_colour = false;
	ui_resize(ui, PLAIN_ROWS, o->cols > UI_MIN_COLS ? o->cols : PLAIN_COLS);
	ui_make(ui);
	ui_draw(ui);
	ui_layout(ui, &places);
	add_rows(&ui->grid, 0, places.tabs_y, out);
	buf_addc(out, '\n');
	if (ui->pane.view && ui->pane.view->kind == VIEW_TABLE)
		tui_table_print(&ui->pane.table, o->rows, o->cols, ui->grid.ascii, out);
	else
		add_rows(&ui->grid, places.body_y, places.foot_y, out);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_known(struct json *j, const char *key, bool is_known, double v)
{
	json_key(j, key);
	if (is_known)
		json_num(j, v);
	else
		json_str(j, NULL);
}

static void json_head(const struct ui *ui, struct json *j)
{
	const struct feed_take *t = &ui->take;
	json_key_str(j, "format", "cresset.top");
	json_key_u64(j, "version", 1);
	json_key_str(j, "what", ui->feed->what);
	json_key_i64(j, "from_ns", t->from_ns);
	json_key_i64(j, "to_ns", t->to_ns);
	json_known(j, "rate_hz", t->rate_hz > 0, (double)t->rate_hz);
	json_key_u64(j, "samples", t->samples);
	json_known(j, "lost", t->lost != UINT64_MAX, (double)t->lost);
	json_key_text(j, "gpus", t->gpus);
	json_known(j, "own_cpu_percent", t->own_cpu >= 0, 100 * t->own_cpu);
	json_known(j, "bpf_cpu_percent", t->bpf_cpu >= 0, 100 * t->bpf_cpu);
}

static void json_cpus(const struct ui *ui, struct json *j)
{
	json_key(j, "cpus");
	json_arr(j);
	for (uint32_t i = 0; i < ui_cpu_count(ui); i++) {
		struct feed_cpu c = ui_cpu(ui, i);
		json_obj(j);
		json_key_u64(j, "cpu", i);
		json_known(j, "user_percent", true, 100 * (double)c.user);
		json_known(j, "kernel_percent", true, 100 * (double)c.sys);
		json_known(j, "wait_percent", ui->take.cpu != NULL, 100 * (double)c.wait);
		json_end(j);
	}
	json_end(j);
}

/* Adds every tab that is a table and has data. */
static void json_views(struct ui *ui, const struct plain_opts *o, struct json *j)
{
	struct look look;
	for (int i = 0; i < views_n; i++) {
		if (views[i].kind != VIEW_TABLE || !ui_look(ui, &views[i], &look))
			continue;
		ui->tab = i;
		ui_make(ui);
		json_key(j, views[i].name);
		tui_table_json(&ui->pane.table, o->rows, j);
	}
}

void plain_json(struct ui *ui, const struct plain_opts *o, struct buf *out)
{
	struct json j = json_to(out);
	json_obj(&j);
	json_head(ui, &j);
	json_key_str(&j, "type", ui->pane.view ? look_type_name(&ui->pane.look) : NULL);
	json_key_str(&j, "unit", ui->pane.view ? ui->pane.unit : NULL);
	json_cpus(ui, &j);
	json_views(ui, o, &j);
	json_end(&j);
	buf_addc(out, '\n');
}
