/* What `h` shows, and in the last line what is left out of all. */
#include "tui/ui.h"

static const char *const help_lines[] = {
	"1 … 7, Tab    the tabs, from left to right; a click does it, too",
	"arrows, PgUp, PgDn, Home, End    move; in the flame graph left and right are neighbours,",
	"              up is the caller, down the widest callee",
	"Enter         into a process or thread: only its samples; into a function: the flame "
	"graph",
	"              of the stacks that have it; into a box of the flame graph",
	"Esc           back",
	"/             filter by name: a part of it, or /regex/; in the flame graph it marks. "
	"Empty: all",
	"s             sort by the next column; a click on a head sorts by that one",
	"e             who calls the selected function, below it; again: not any more",
	"p             the next type of profile: cpu, off-cpu …",
	"k             kernel frames off and on",
	"space         pause and go on",
	"z             only the last interval counts, again: all of the window",
	"r             forget what was so far",
	"w             write what is looked at to a file: .cresset .folded .svg .pb.gz …",
	"h ?           this; any key ends it        q  quit",
	"",
	"self: in a function's own code. total: with what it called, recursion counted once.",
	"CPUs: | in programs, # in the kernel, ~ waiting for a disk.",
};

void ui_draw_help(struct ui *ui, const struct ui_places *places)
{
	for (int i = 0; i < (int)(sizeof help_lines / sizeof *help_lines); i++)
		if (i < places->body_rows)
			grid_put(&ui->grid, places->body_y + i, 1, ui->grid.cols - 2, GRID_PLAIN,
				 help_lines[i]);
}

/* --- what is left out ------------------------------------------------------------------------- */

bool ui_has_zooms(const struct ui *ui)
{
	return ui->zooms.n || match_is_on(&ui->filter) || ui->no_kernel || ui->is_paused;
}

static void add_zoom(const struct ui_zoom *z, bool is_first, struct buf *b)
{
	buf_adds(b, is_first ? "in " : " > ");
	if (z->function)
		buf_adds(b, z->function);
	else if (z->tid != SAMPLE_NO_ID)
		buf_addf(b, "thread %u", z->tid);
	else
		buf_addf(b, "process %u", z->pid);
}

void ui_draw_zooms(struct ui *ui, int y)
{
	struct grid_style bold = GRID_PLAIN;
	struct buf b = { 0 };
	bold.attrs = GRID_BOLD;
	if (ui->is_paused)
		buf_adds(&b, "PAUSED, space goes on  ");
	for (size_t i = 0; i < ui->zooms.n; i++)
		add_zoom(&ui->zooms.v[i], i == 0, &b);
	if (ui->zooms.n)
		buf_adds(&b, ", Esc back  ");
	if (match_is_on(&ui->filter))
		buf_addf(&b, "filter %s  ", ui->filter.text);
	if (ui->no_kernel)
		buf_adds(&b, "no kernel");
	grid_put(&ui->grid, y, 0, ui->grid.cols, bold, buf_cstr(&b));
	buf_done(&b);
}
