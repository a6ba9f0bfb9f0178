/* tui/ui.h: the state of `cresset top`: which tab, filter, zoom …, what is typed, and how all of it is drawn. It knows neither the terminal
 * nor where the data is from: keys come in as struct ui_input, pictures go out as a grid.
 *
 *     ui_take      another take of the feed, and the tab made of it
 *     ui_input     a key or a click
 *     ui_draw      into ui.grid
 *
 *     line 0         what is watched, and how that is going
 *     1 … 4          bars of CPUs
 *     then           tabs; the tab; at the bottom keys, a message, or what is being typed */
#ifndef CRESSET_TUI_UI_H
#define CRESSET_TUI_UI_H

#include "tui/feed.h"
#include "tui/pane.h"

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

/* One step into something; Esc takes it back. */
struct ui_zoom {
	uint32_t pid, tid;
	char *function; /* NULL: no function */
	int tab;        /* it was entered from */
};
struct ui_tab {
	int sort, top, selected;
};
struct ui_places {
	int cpu_lines, tabs_y, body_y, body_rows, foot_y;
};

struct ui {
	struct feed *feed; /* the caller's */
	struct feed_take take;
	struct grid grid;
	bool has_colour;
	bool is_done;     /* q */
	bool wants_waits; /* whatever is shown */
	bool shows_waits; /* what was made last is something else than what runs */

	int tab;
	struct ui_tab tabs[UI_MAX_VIEWS];
	char type[64]; /* chosen; "": the source's default */
	struct match filter;
	VEC(struct ui_zoom) zooms;
	bool is_paused, is_zero, no_kernel, shows_help;
	int64_t reset_ns; /* what was before does not count; 0: nothing was reset */
	int64_t last_to_ns, zero_from_ns;
	char expanded[UI_TEXT_MAX]; /* function whose callers are shown; "" */

	enum ui_prompt prompt;
	char typed[UI_TEXT_MAX];
	char message[UI_TEXT_MAX];

	struct pane pane;
	struct scan cpus; /* where the feed does not know them */
};

void ui_init(struct ui *ui, struct feed *feed, bool has_colour, bool ascii);
void ui_done(struct ui *ui);
void ui_resize(struct ui *ui, int rows, int cols);
/* -ENOENT: there is no tab called so. */
int ui_set_tab(struct ui *ui, const char *name);

/* 0, or -errno with words: the feed has failed. What a tab cannot show is a message. */
int ui_take(struct ui *ui, struct err *err);
/* The same data again, as it is looked at now. */
void ui_make(struct ui *ui);
void ui_input(struct ui *ui, const struct ui_input *in);
void ui_draw(struct ui *ui);

/* What is looked at, with a type for this view; false: there is nothing for it. */
bool ui_look(const struct ui *ui, const struct view *v, struct look *out);
void ui_say(struct ui *ui, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- parts, each in a file of its own */
void ui_layout(const struct ui *ui, struct ui_places *out);
void ui_draw_head(struct ui *ui, const struct ui_places *places); /* ui_head.c */
void ui_draw_help(struct ui *ui, const struct ui_places *places); /* ui_help.c */
bool ui_has_zooms(const struct ui *ui);                           /* and filters */
void ui_draw_zooms(struct ui *ui, int y);
int ui_cpu_lines(const struct ui *ui);
int ui_gpu_lines(const struct ui *ui);
int64_t ui_from_ns(const struct ui *ui); /* of what counts: the window, zero and reset */
uint32_t ui_cpu_count(const struct ui *ui);
struct feed_cpu ui_cpu(const struct ui *ui, uint32_t cpu);
/* The tab whose title is at x; -1. */
int ui_tab_at(const struct ui *ui, int x);
int ui_type_next(struct ui *ui); /* 0, -ENOENT: there is only one */
int ui_write(struct ui *ui, const char *path, struct err *err);

#endif
