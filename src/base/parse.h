/* base/parse.h: parses numbers, sizes and durations from users. The whole string must match: no
 * blanks, no sign.
 *
 * All return 0, -EINVAL (invalid or trailing junk) or -ERANGE (does not fit); *out is untouched on
 * failure. */
#ifndef CRESSET_BASE_PARSE_H
#define CRESSET_BASE_PARSE_H

#include <stddef.h>
#include <stdint.h>

/* Decimal or 0x…. */
int parse_u64(const char *s, uint64_t *out);

/* Bytes: 4096, 64K, 16M, 1.5G, 2T; K = 1024; lower case and a final B or iB are accepted, too. */
int parse_size(const char *s, uint64_t *out);

/* 250us 500ms 1.5s 10m 2h 7d (also ns, µs); a bare number is in bare_unit_ns. Fractions of 1 ns
 * are truncated. */
int parse_duration(const char *s, uint64_t bare_unit_ns, uint64_t *out_ns);

/* The value of a hexadecimal digit, 0-9 or a-f; -1 for any other character. */
static inline int parse_hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads lower-case hexadecimal text, two digits for a byte. Returns the number of bytes; 0 if the
 * text is empty, is not hexadecimal or has more than max bytes. out is untouched then. */
size_t parse_hex(const char *s, size_t len, uint8_t *out, size_t max);

#endif
