/* tui/screen.h: shows a grid on the terminal and reads its keys and mouse. The only user of
 * ncurses.
 *
 * Colours are exact if the terminal supports it (COLORTERM=truecolor and a terminfo entry
 * NAME-direct), else the nearest of 256 or 16, or none.
 *
 * It installs no signal handlers and expects none: the signals it needs are blocked and arrive
 * through a descriptor (cmd/top/top.c). */
#ifndef CRESSET_TUI_SCREEN_H
#define CRESSET_TUI_SCREEN_H

#include "tui/ui.h"

#include <stdint.h>

struct buf;
struct err;
struct screen;

/* Returns -ENODEV with a message if the terminal cannot be drawn on. */
int screen_open(struct screen **out, bool wants_colour, struct err *err);
void screen_close(struct screen *s); /* restores the terminal; NULL is fine */

bool screen_has_colour(const struct screen *s);
void screen_size(const struct screen *s, int *rows, int *cols);
/* Call when the size of the terminal has changed. */
void screen_resized(struct screen *s);
/* Releases the terminal to other programs, and takes it back. */
void screen_leave(struct screen *s);
void screen_return(struct screen *s);

void screen_show(struct screen *s, const struct grid *g);
/* Returns the next input without waiting; UI_NOTHING: no more input. */
struct ui_input screen_input(struct screen *s);

/* Appends the bytes that make a terminal usable again after a crash. A signal handler can write
 * them. */
void screen_rescue_text(struct buf *b);

/* --- app.c: the main loop of `cresset top`: data, keys, signals, drawing. */

struct app {
	struct ui *ui;
	struct screen *screen;
	int signals;          /* signalfd(2) of the signals to handle */
	uint64_t interval_ns; /* between two takes */
};

/* Returns 0 after `q`, the number of the signal that ended it, or -errno with a message if the feed
 * failed. */
int app_run(struct app *a, struct err *err);

#endif
