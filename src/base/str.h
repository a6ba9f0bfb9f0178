/* base/str.h: text from and for users: splitting and suggestions for mistyped names. */
#ifndef CRESSET_BASE_STR_H
#define CRESSET_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>

/* Splits at sep; empty parts are retained. Returns a NULL-terminated array in one allocation
 * (free()); n may be NULL. */
char **str_split(const char *s, char sep, size_t *n);

bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);

/* Returns the candidate with the smallest edit distance to word (swapped neighbours count once),
 * the first of equals; NULL if none is near (distance > 2 or > half the length of word). */
const char *str_nearest(const char *word, const char *const *candidates, size_t n);

#endif
