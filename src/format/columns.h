/* format/columns.h: text in a given number of columns of a fixed-width font: terminals and the labels of pictures. */
#ifndef CRESSET_FORMAT_COLUMNS_H
#define CRESSET_FORMAT_COLUMNS_H

#include "base/buf.h"

#include <stddef.h>

/* Appends s so that it is harmless on a terminal (esc_term). When it is wider than max columns it is cut, with "…" as the last of
 * them; combining characters are kept up to COLUMNS_MAX_BYTES. Returns how many columns were used. */
enum { COLUMNS_MAX_BYTES = 4096 };
size_t columns_fit(struct buf *b, const char *s, size_t max);

/* The same, filled up with blanks to exactly width columns. */
void columns_left(struct buf *b, const char *s, size_t width);
void columns_right(struct buf *b, const char *s, size_t width);

#endif
