/* base/pattern.h: regular expressions of people who know Prometheus, run by the C library. They match
 * whole values.
 *
 * What they share with POSIX extended expressions works, and \d \D \w \W \s \S \b \B (\d \w \s in
 * brackets, too) and (?:…). Back references, other (?…), and \ with other letters are refused: the C
 * library would take them for something else. So are expressions that would unroll to much memory. */
#ifndef CRESSET_BASE_PATTERN_H
#define CRESSET_BASE_PATTERN_H

#include "base/err.h"

#include <regex.h>
#include <stddef.h>

enum {
	PATTERN_MAX_LEN = 1024,
	PATTERN_MAX_DEPTH = 32,    /* of parentheses */
	PATTERN_MAX_STATES = 4096, /* characters once all repetitions are written out */
	PATTERN_MAX_GROUPS = 32,   /* that capture */
};

/* The groups of an expression that capture: 0 is the whole, then ( and (?P<name> by their order. */
struct pattern_groups {
	struct pattern_group {
		size_t at;        /* in regexec's matches */
		const char *name; /* in the expression's text, not terminated; NULL: none */
		size_t name_len;
	} v[PATTERN_MAX_GROUPS + 1];
	size_t n, most_at;
};

/* 0 and *out (regfree), or -EINVAL with words. */
int pattern_compile(const char *text, regex_t *out, struct err *err);

/* The same, for who asks what groups captured; regexec takes groups->most_at + 1 matches. Where an expression
 * can match in several ways, POSIX's longest is taken, not Perl's first; so x*? is refused: it would take
 * what it was told not to. */
int pattern_compile_groups(const char *text, regex_t *out, struct pattern_groups *groups,
			   struct err *err);

#endif
