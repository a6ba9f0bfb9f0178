/* base/utf8.h: untrusted UTF-8 text: its characters, their width on a terminal, and conversion from
 * UTF-16. */
#ifndef CRESSET_BASE_UTF8_H
#define CRESSET_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* Returns the length of the valid UTF-8 sequence at s (1…4); 0 if invalid, overlong, a surrogate
 * or truncated by len. */
size_t utf8_len(const char *s, size_t len);

/* Returns the character in the n = utf8_len() bytes at s, n >= 1. */
uint32_t utf8_char(const char *s, size_t n);

/* utf8_put writes a character (below 0x110000) as UTF-8, 1 to 4 bytes, and returns their number;
 * utf8_add appends it. */
size_t utf8_put(char *out, uint32_t c);
void utf8_add(struct buf *b, uint32_t c);

/* Terminal columns of a UTF-8 string: wide characters count 2, combining and invisible ones 0,
 * bytes that are not UTF-8 and control characters 1, because esc_term writes U+FFFD for them. */
size_t utf8_width(const char *s);

/* Returns the terminal columns of a character: 0, 1 or 2; control characters count 1. */
unsigned char_width(uint32_t c);

/* Converts UTF-16 text to UTF-8, piece by piece. Unpaired surrogates and a last odd byte become
 * U+FFFD. */
struct utf16 { /* zeroed = little endian, at the start of a text */
	bool is_big_endian;
	bool has_byte; /* the previous piece ended inside a unit: its first byte is `byte` */
	uint8_t byte;
	uint16_t high; /* the previous piece ended after the first half of a pair */
};

/* The largest size of the result for a piece of n bytes. */
#define UTF16_ROOM(n) ((n) / 2 * 3 + 6)

/* Converts the next n bytes to out[UTF16_ROOM(n)]; returns the length of the result. */
size_t utf16_decode(struct utf16 *u, const void *data, size_t n, char *out);

/* Call at the end of the text: writes the rest, at most 6 bytes. */
size_t utf16_end(struct utf16 *u, char *out);

#endif
