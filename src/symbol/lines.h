/* symbol/lines.h: reads the lines of a text file from its start through a window of fixed size.
 * Works on /proc files and does not move the file position. */
#ifndef CRESSET_SYMBOL_LINES_H
#define CRESSET_SYMBOL_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum { LINES_WINDOW = 64 << 10 }; /* longer lines are truncated to this */

struct lines { /* .fd set, the rest zero, at the start */
	int fd;
	bool at_end, overlong;
	uint64_t offset;      /* of the file, after the window */
	size_t start, filled; /* of the window */
	char window[LINES_WINDOW + 1];
};

/* Reads the next line, with a NUL in place of its newline; the caller may change it until the next
 * call. Returns 1, 0 at the end of the file, or -errno. */
int lines_next(struct lines *l, char **line, size_t *len, struct err *err);

/* Reads the hexadecimal number at *p, with or without 0x, and moves *p past it. Returns false, with
 * *p unchanged, if none exists or it has more than 64 bits. */
bool hex_take(char **p, uint64_t *value);

#endif
