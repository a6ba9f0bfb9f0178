/* base/pattern.h: regular expressions with Prometheus' syntax, run by the C library. They match
 * whole values.
 *
 * The common subset with POSIX extended expressions works, and \d \D \w \W \s \S \b \B (\d \w \s
 * in brackets, too), (?:…), \Q…\E, and (?i) at the start. Back references, other (?…), and \ with
 * other letters are rejected: the C library would interpret them differently. So are expressions
 * that would need much memory when unrolled. */
#ifndef CRESSET_BASE_PATTERN_H
#define CRESSET_BASE_PATTERN_H

#include <regex.h>
#include <stddef.h>

struct err;

enum {
	PATTERN_MAX_LEN = 1024,
	PATTERN_MAX_DEPTH = 32, /* of parentheses */
	/* limit: characters of a regular expression, repetitions written out */
	PATTERN_MAX_STATES = 4096,
	PATTERN_MAX_GROUPS = 32, /* limit: its capturing groups */
};

/* The capturing groups of an expression: 0 is the whole, then ( and (?P<name> in order. */
struct pattern_groups {
	struct pattern_group {
		size_t at;        /* in regexec's matches */
		const char *name; /* in the expression's text, not terminated; NULL: none */
		size_t name_len;
	} v[PATTERN_MAX_GROUPS + 1];
	size_t n, most_at;
};

/* Returns 0 with *out, to be freed with regfree, or -EINVAL with err set. */
int pattern_compile(const char *text, regex_t *out, struct err *err);

/* Does the same for callers that need captures; regexec takes groups->most_at + 1 matches. If an
 * expression can match in several ways, the longest match is used as in POSIX, not the first as in
 * Perl. So x*? is rejected: it would match more than expected. */
int pattern_compile_groups(const char *text, regex_t *out, struct pattern_groups *groups,
			   struct err *err);

#endif
