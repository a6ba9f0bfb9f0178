/* Reads windows, and splits them at line ends. */
#include "symbol/lines.h"

#include "base/err.h"
#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Moves the remaining bytes to the front and reads after them. */
static int lines_fill(struct lines *l, struct err *err)
{
	memmove(l->window, l->window + l->start, l->filled - l->start);
	l->filled -= l->start;
	l->start = 0;
	while (!l->at_end && l->filled < LINES_WINDOW) {
		ssize_t n =
			pread(l->fd, l->window + l->filled, LINES_WINDOW - l->filled, l->offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "cannot read: %s", strerror(errno));
		l->at_end = n == 0;
		l->filled += n;
		l->offset += n;
		if (n > 0 && memchr(l->window + l->filled - n, '\n', n))
			break;
	}
	return 0;
}

static char *lines_newline(const struct lines *l)
{
	return memchr(l->window + l->start, '\n', l->filled - l->start);
}

/* Drops the rest of a line that did not fit into the window. */
static int lines_drop_rest(struct lines *l, struct err *err)
{
	char *newline = NULL;
	while (!newline) {
		l->start = l->filled;
		int rc = lines_fill(l, err);
		if (rc < 0)
			return rc;
		if (l->filled == 0)
			return 0;
		newline = lines_newline(l);
	}
	l->start = newline + 1 - l->window;
	return 0;
}

int lines_next(struct lines *l, char **line, size_t *len, struct err *err)
{
	if (l->overlong) {
		l->overlong = false;
		int rc = lines_drop_rest(l, err);
		if (rc < 0)
			return rc;
	}
	char *newline = lines_newline(l);
	if (!newline) {
		int rc = lines_fill(l, err);
		if (rc < 0)
			return rc;
		if (l->filled == 0)
			return 0;
		newline = lines_newline(l);
	}
	l->overlong = !newline && l->filled == LINES_WINDOW;
	char *end = newline ? newline : l->window + l->filled;
	*end = '\0';
	*line = l->window + l->start;
	*len = end - *line;
	l->start = newline ? (size_t)(newline + 1 - l->window) : l->filled;
	return 1;
}

static int hex_digit(char c)
{
	return parse_hex_digit((char)tolower((unsigned char)c));
}

bool hex_take(char **p, uint64_t *value)
{
	char *s = *p;
	if (s[0] == '0' && (s[1] | 0x20) == 'x' && hex_digit(s[2]) >= 0)
		s += 2;
	uint64_t v = 0;
	int digit = hex_digit(*s);
	if (digit < 0)
		return false;
	for (; digit >= 0; digit = hex_digit(*++s)) {
		if (v >> 60)
			return false;
		v = v << 4 | digit;
	}
	*value = v;
	*p = s;
	return true;
}
