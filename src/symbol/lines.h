/* symbol/lines.h: the lines of a text file at a descriptor, from its start, through one window of fixed size. Works on /proc
 * files and does not move the file position. */
#ifndef CRESSET_SYMBOL_LINES_H
#define CRESSET_SYMBOL_LINES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINES_WINDOW = 64 << 10 }; /* what is longer than this in a line is dropped */

struct lines { /* .fd set, the rest zero, at the start */
	int fd;
	bool at_end, overlong;
	uint64_t offset;      /* of the file, behind the window */
	size_t start, filled; /* of the window */
	char window[LINES_WINDOW + 1];
};

/* The next line, NUL-terminated instead of its newline, to be changed at will until the next call. 1 = a line, 0 = end of
 * the file, or -errno. */
int lines_next(struct lines *l, char **line, size_t *len, struct err *err);

/* The hexadecimal number at *p, with or without 0x; *p then points behind it. False, and *p unchanged, when there is none
 * or it has more than 64 bits. */
bool hex_take(char **p, uint64_t *value);

#endif
