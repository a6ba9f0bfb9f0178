/* tui/ui.h: the state of `cresset top`: tab, filter, zoom, prompt, and how they are drawn. It knows
 * neither the terminal nor the data source: keys arrive in as struct ui_input, pictures go out as a
 * grid.
 *
 *     ui_take      takes data from the feed and rebuilds the tab
 *     ui_input     handles a key or a click
 *     ui_draw      draws into ui.grid
 *
 *     line 0         what is watched, and the state of the recording
 *     1 … 4          bars of CPUs
 *     then           tabs; the tab's content; at the bottom keys, a message, or the prompt
 *
 * A frame every second has to be cheap: functions are summed by stack and by number, without a
 * tree (function_sums.c); samples are read in their stored order, not sorted (cmd/top/top_rows.c);
 * names come from files and kernel symbols that stay open (cmd/top/top_live.c). The live profile
 * has a minute of samples, and its dictionary is rebuilt when it is large. */
#ifndef CRESSET_TUI_UI_H
#define CRESSET_TUI_UI_H

#include "base/vec.h"
#include "tui/feed.h"
#include "tui/grid.h"
#include "tui/match.h"
#include "tui/pane.h"

struct err;

enum { UI_MIN_COLS = 60, UI_MIN_ROWS = 12, UI_MAX_VIEWS = 16, UI_TEXT_MAX = 256 };

enum ui_key {
	UI_NOTHING,
	UI_CHAR, /* c */
	UI_ENTER,
	UI_ESC,
	UI_BACKSPACE,
	UI_UP,
	UI_DOWN,
	UI_LEFT,
	UI_RIGHT,
	UI_PAGE_UP,
	UI_PAGE_DOWN,
	UI_HOME,
	UI_END,
	UI_TAB,
	UI_CLICK, /* y, x */
	UI_WHEEL_UP,
	UI_WHEEL_DOWN,
};
struct ui_input {
	enum ui_key key;
	uint32_t c;
	int y, x;
};

enum ui_prompt { PROMPT_NONE, PROMPT_FILTER, PROMPT_WRITE };

/* One zoom step; Esc takes it back. */
struct ui_zoom {
	uint32_t pid, tid;
	char *function; /* NULL: no function */
	int tab;        /* the tab to return to */
};
struct ui_tab {
	int sort, top, selected;
};
struct ui_places {
	int cpu_lines, tabs_y, body_y, body_rows, foot_y;
};

struct ui {
	struct feed *feed; /* owned by the caller */
	struct feed_take take;
	struct grid grid;
	bool has_colour;
	bool is_done;     /* `q` was typed */
	bool wants_waits; /* include pending waits whatever tab is shown */
	bool shows_waits; /* the pane shows a type other than `cpu` */

	int tab;
	struct ui_tab tabs[UI_MAX_VIEWS];
	char type[64]; /* chosen; "": the source's default */
	struct match filter;
	VEC(struct ui_zoom) zooms;
	bool is_paused, is_zero, no_kernel, shows_help;
	int64_t reset_ns; /* earlier samples are ignored; 0: no reset */
	int64_t last_to_ns, zero_from_ns;
	char expanded[UI_TEXT_MAX]; /* function whose callers are shown; "" */

	enum ui_prompt prompt;
	char typed[UI_TEXT_MAX];
	char message[UI_TEXT_MAX];

	struct pane pane;
	struct scan cpus; /* used if the feed does not know them */
};

void ui_init(struct ui *ui, struct feed *feed, bool has_colour, bool ascii);
void ui_done(struct ui *ui);
void ui_resize(struct ui *ui, int rows, int cols);
/* Returns -ENOENT if no such tab exists. */
int ui_set_tab(struct ui *ui, const char *name);

/* Returns 0, or -errno with a message if the feed failed. Failure to build a tab only shows a
 * message. */
int ui_take(struct ui *ui, struct err *err);
/* Rebuilds the tab from the same data with the current settings. */
void ui_make(struct ui *ui);
void ui_input(struct ui *ui, const struct ui_input *in);
void ui_draw(struct ui *ui);

/* Fills *out with the scope of a view. Returns false if there is no data for it. */
bool ui_look(const struct ui *ui, const struct view *v, struct look *out);
void ui_say(struct ui *ui, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- parts, each in its own file */
void ui_layout(const struct ui *ui, struct ui_places *out);
void ui_draw_head(struct ui *ui, const struct ui_places *places); /* ui_head.c */
int ui_cpu_lines(const struct ui *ui);
int ui_gpu_lines(const struct ui *ui);
int64_t ui_from_ns(const struct ui *ui); /* start of the window, after zero and reset */
uint32_t ui_cpu_count(const struct ui *ui);
struct feed_cpu ui_cpu(const struct ui *ui, uint32_t cpu);
/* Returns the tab whose title is at x, or -1. */
int ui_tab_at(const struct ui *ui, int x);
int ui_type_next(struct ui *ui); /* -ENOENT: there is only one type */
int ui_write(struct ui *ui, const char *path, struct err *err);

#endif
