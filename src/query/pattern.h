/* query/pattern.h: regular expressions of people who know Prometheus, run by the C library. They match
 * whole values.
 *
 * What they share with POSIX extended expressions works, and \d \D \w \W \s \S \b \B (\d \w \s in
 * brackets, too) and (?:…). Back references, other (?…), and \ with other letters are refused: the C
 * library would take them for something else. So are expressions that would unroll to much memory. */
#ifndef CRESSET_QUERY_PATTERN_H
#define CRESSET_QUERY_PATTERN_H

#include "base/err.h"

#include <regex.h>

enum {
	PATTERN_MAX_LEN = 1024,
	PATTERN_MAX_DEPTH = 32,    /* of parentheses */
	PATTERN_MAX_STATES = 4096, /* characters once all repetitions are written out */
};

/* 0 and *out (regfree), or -EINVAL with words. */
int pattern_compile(const char *text, regex_t *out, struct err *err);

#endif
