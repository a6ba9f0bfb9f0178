/* cmd/cli/term.h: the capabilities of the user's terminal. All non-ASCII symbols and colours go
 * through here. */
#ifndef CRESSET_CMD_CLI_TERM_H
#define CRESSET_CMD_CLI_TERM_H

#include <stdbool.h>

struct buf;

enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct term {
	bool utf8;
	bool color_out, color_err;
	int width_out, width_err; /* columns; 0 = not a terminal */
	const char *dot;          /* " · " or ", ", between the parts of a line */
};

/* UTF-8 by locale; colour by `when`, NO_COLOR, TERM, and whether the stream is a terminal. */
void term_init(struct term *t, enum color_when when);

enum paint { PAINT_RED, PAINT_GREEN, PAINT_YELLOW, PAINT_BOLD, PAINT_DIM };
/* Appends text, in colour if `on`. The text must be the program's own: names from elsewhere are
 * escaped first. */
void term_paint(struct buf *b, bool on, enum paint paint, const char *text);

/* For a terminal without UTF-8: "…" becomes "...", every other non-ASCII character "?". */
void term_fit(const struct term *t, struct buf *b);

#endif
