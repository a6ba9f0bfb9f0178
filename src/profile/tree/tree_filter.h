/* profile/tree/tree_filter.h: the regular expressions of tree_opts. Only tree_build and
 * profile_select use it. */
#ifndef CRESSET_PROFILE_TREE_TREE_FILTER_H
#define CRESSET_PROFILE_TREE_TREE_FILTER_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct strtab;
struct tree_func;
struct tree_opts;

/* The field of a function that a pattern is matched against. */
enum pattern_field { PATTERN_NAME, PATTERN_BINARY, PATTERN_FILE, PATTERN_KIND };
struct pattern {
	enum pattern_field field;
	regex_t regex;
};
/* One pattern per line of the option. Each focus pattern has its own bit, since a stack must match
 * all of them. */
enum { FOCUS_PATTERNS = 4, FILTER_PATTERNS = 16 };
struct patterns {
	struct pattern v[FILTER_PATTERNS];
	uint32_t n;
};
struct tree_filter { /* zeroed = lets everything through */
	struct patterns focus, ignore, hide;
	bool no_kernel, no_user;
};

/* Bits that a function sets for its stacks. FUNC_FOCUS << i: pattern i of focus. FUNC_ALL + 1 fits
 * into a byte. */
enum {
	FUNC_IGNORE = 1,
	FUNC_DROP = 2,
	FUNC_FOCUS = 4,
	FUNC_ALL = (FUNC_FOCUS << FOCUS_PATTERNS) - 1
};
_Static_assert(FUNC_ALL + 1 <= UINT8_MAX, "caches of bits are bytes, and 0 is not known");

/* Returns -EINVAL with err set; tree_filter_done is needed then as well. */
int tree_filter_init(struct tree_filter *f, const struct tree_opts *opts, struct err *err);
void tree_filter_done(struct tree_filter *f);
/* Whether a stack passes focus and ignore. bits: of all its functions, ORed. */
bool tree_filter_passes(const struct tree_filter *f, unsigned bits);
unsigned tree_filter_func(const struct tree_filter *f, const struct strtab *strings,
			  const struct tree_func *func);

#endif
