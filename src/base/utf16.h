/* base/utf16.h: UTF-16 text becomes UTF-8, piece by piece. Halves of pairs that stand alone, and a last odd byte, become
 * U+FFFD. */
#ifndef CRESSET_BASE_UTF16_H
#define CRESSET_BASE_UTF16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct utf16 { /* zeroed = little endian, at the start of a text */
	bool is_big_endian;
	bool has_byte; /* the piece before ended inside a unit: its first byte is `byte` */
	uint8_t byte;
	uint16_t high; /* the piece before ended in the first half of a pair */
};

/* What a piece of n bytes becomes has at most UTF16_ROOM(n) bytes. */
#define UTF16_ROOM(n) ((n) / 2 * 3 + 6)

/* Writes what the next n bytes become to out[UTF16_ROOM(n)]; returns its length. */
size_t utf16_decode(struct utf16 *u, const void *data, size_t n, char *out);

/* At the end of the text: what was left over, at most 6 bytes. */
size_t utf16_end(struct utf16 *u, char *out);

#endif
