/* tui/screen.h: a grid on the terminal, and what comes from its keys and mouse: the only user of ncurses.
 *
 * Colours are exact where the terminal takes them (COLORTERM=truecolor and a terminfo entry NAME-direct), else the nearest of 256, of 16, or none.
 *
 * It installs no signal handlers and expects none: signals that matter are blocked and come through a descriptor (cmd/top_signals.h). */
#ifndef CRESSET_TUI_SCREEN_H
#define CRESSET_TUI_SCREEN_H

#include "tui/ui.h"

struct screen;

/* -ENODEV with words: not a terminal that can be drawn on. */
int screen_open(struct screen **out, bool wants_colour, struct err *err);
void screen_close(struct screen *s); /* the terminal is as it was; NULL is fine */

bool screen_has_colour(const struct screen *s);
void screen_size(const struct screen *s, int *rows, int *cols);
/* The terminal has another size now. */
void screen_resized(struct screen *s);
/* The terminal is somebody else's, and ours again. */
void screen_leave(struct screen *s);
void screen_return(struct screen *s);

void screen_show(struct screen *s, const struct grid *g);
/* What was typed, without waiting; UI_NOTHING: nothing more. */
struct ui_input screen_input(struct screen *s);

/* What makes a terminal usable that a program left behind in a crash, in bytes that can be written by a signal handler. */
void screen_rescue_text(struct buf *b);

#endif
