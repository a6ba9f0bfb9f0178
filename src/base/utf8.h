/* base/utf8.h: looking at text that claims to be UTF-8. */
#ifndef CRESSET_BASE_UTF8_H
#define CRESSET_BASE_UTF8_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

/* Length of the valid UTF-8 sequence at s (1…4), 0 when invalid, overlong, a surrogate or cut by len. */
size_t utf8_len(const char *s, size_t len);

/* The character of the n = utf8_len() bytes at s, n >= 1. */
uint32_t utf8_char(const char *s, size_t n);

/* Writes a character (below 0x110000) as UTF-8: 1 to 4 bytes, their number is returned; or appends it. */
size_t utf8_put(char *out, uint32_t c);
void utf8_add(struct buf *b, uint32_t c);

/* Terminal columns of a UTF-8 string: wide characters count 2, combining and invisible ones 0, bytes that are not UTF-8 and
 * control characters 1, because esc_term writes U+FFFD for them. */
size_t utf8_width(const char *s);

#endif
