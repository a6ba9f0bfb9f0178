/* base/str.h: text in the hands of people: splitting, nearest name, shell globs; and by its includes numbers as users write
 * them (parse.h), UTF-8 (utf8.h), escaping for every place we write to (escape.h), numbers for people (fmt.h). */
#ifndef CRESSET_BASE_STR_H
#define CRESSET_BASE_STR_H

#include "base/escape.h"
#include "base/fmt.h"
#include "base/parse.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <stddef.h>

/* Splits at sep; empty parts are kept. Returns a NULL-terminated array in one allocation (free()); n may be NULL. */
char **str_split(const char *s, char sep, size_t *n);

bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);

/* The candidate with the smallest edit distance to word (swapped neighbours count once), the first of equals; NULL when none
 * is near (distance > 2 or > half the length of word). */
const char *str_nearest(const char *word, const char *const *candidates, size_t n);

/* Shell glob against a whole string: * ? [a-z] [!a-z] \x, by characters (a byte that is not UTF-8 counts as one). No special
 * treatment of / or dots; a [ that is never closed stands for itself. Time is at most length × length. */
bool glob_match(const char *pattern, const char *s);

#endif
