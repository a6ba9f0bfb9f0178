/* Detects UTF-8, colours and the width of the terminal, and selects symbols and colours
 * accordingly. */
#include "cmd/cli/term.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { ELLIPSIS = 0x2026 };

static int stream_width(int fd)
{
	struct winsize size = { 0 };
	if (!isatty(fd))
		return 0;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

static bool wants_color(enum color_when when, int width)
{
	const char *no_color = getenv("NO_COLOR"); /* no-color.org: any value but the empty one */
	const char *term = getenv("TERM");
	if (when != COLOR_AUTO)
		return when == COLOR_ALWAYS;
	if (no_color && *no_color)
		return false;
	return width > 0 && (!term || strcmp(term, "dumb") != 0);
}

void term_init(struct term *t, enum color_when when)
{
	const char *name = getenv("TERM");
	bool dumb = name && strcmp(name, "dumb") == 0;
	*t = (struct term){
		.utf8 = !dumb && strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
		.width_out = stream_width(STDOUT_FILENO),
		.width_err = stream_width(STDERR_FILENO),
	};
	t->color_out = wants_color(when, t->width_out);
	t->color_err = wants_color(when, t->width_err);
	t->dot = t->utf8 ? " · " : ", ";
}

void term_fit(const struct term *t, struct buf *b)
{
	struct buf plain = { 0 };
	if (t->utf8)
		return;
	for (size_t i = 0; i < b->len;) {
		size_t len = utf8_len(b->data + i, b->len - i);
		uint32_t c = len ? utf8_char(b->data + i, len) : '?';
		if (c == ELLIPSIS)
			buf_adds(&plain, "...");
		else
			buf_addc(&plain, c < 0x80 ? (char)c : '?');
		i += len ? len : 1;
	}
	buf_done(b);
	*b = plain;
}

void term_paint(struct buf *b, bool on, enum paint paint, const char *text)
{
	static const char *const codes[] = {
		[PAINT_RED] = "31", [PAINT_GREEN] = "32", [PAINT_YELLOW] = "33",
		[PAINT_BOLD] = "1", [PAINT_DIM] = "2",
	};
	if (on)
		buf_addf(b, "\033[%sm", codes[paint]);
	buf_adds(b, text);
	if (on)
		buf_adds(b, "\033[0m");
}
