/* base/str.h: text from and for users: splitting, suggestions for mistyped names, and
 * human-readable numbers. */
#ifndef CRESSET_BASE_STR_H
#define CRESSET_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* Splits at sep; empty parts are retained. Returns a NULL-terminated array in one allocation
 * (free()); n may be NULL. */
char **str_split(const char *s, char sep, size_t *n);

bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);

/* Returns the candidate with the smallest edit distance to word (swapped neighbours count once),
 * the first of equals; NULL if none is near (distance > 2 or > half the length of word). */
const char *str_nearest(const char *word, const char *const *candidates, size_t n);

/* --- numbers with three significant digits, appended to b --- */

/* 1,234,567 */
void fmt_count(struct buf *b, uint64_t n);

/* 999 B, 1.50 kB, 12.3 MB: powers of 1000. */
void fmt_bytes(struct buf *b, uint64_t bytes);

/* 250 ns, 12.3 ms, 1.50 s, 5 min 10 s, 2 h 5 min, 3 d 4 h. */
void fmt_duration(struct buf *b, uint64_t ns);

#endif
