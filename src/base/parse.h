/* base/parse.h: numbers, sizes and durations as users write them. Whole strings only: no blanks, no sign.
 *
 * All return 0, -EINVAL (not such a thing, trailing junk) or -ERANGE (does not fit); *out is untouched on failure. */
#ifndef CRESSET_BASE_PARSE_H
#define CRESSET_BASE_PARSE_H

#include <stdint.h>

/* Decimal or 0x…. */
int parse_u64(const char *s, uint64_t *out);

/* Bytes: 4096, 64K, 16M, 1.5G, 2T; K = 1024; small letters and an ending B or iB are fine, too. */
int parse_size(const char *s, uint64_t *out);

/* 250us 500ms 1.5s 10m 2h 7d (also ns, µs); a bare number counts in bare_unit_ns. What is finer than 1 ns is cut off. */
int parse_duration(const char *s, uint64_t bare_unit_ns, uint64_t *out_ns);

#endif
