/* format/common/columns.h: text in a given number of columns of a fixed-width font, for terminals
 * and labels in graphs. */
#ifndef CRESSET_FORMAT_COMMON_COLUMNS_H
#define CRESSET_FORMAT_COMMON_COLUMNS_H

#include <stddef.h>

struct buf;

/* Appends s, made safe for a terminal (esc_term). Text wider than max columns is truncated and ends
 * in "…"; combining characters are retained up to COLUMNS_MAX_BYTES. Returns the number of columns
 * used. */
enum { COLUMNS_MAX_BYTES = 4096 };
size_t columns_fit(struct buf *b, const char *s, size_t max);

/* Same, padded with blanks to exactly width columns. */
void columns_left(struct buf *b, const char *s, size_t width);
void columns_right(struct buf *b, const char *s, size_t width);

#endif
