/* profile/tree_filter.h: the regular expressions of tree_opts. Only tree_build and
 * profile_select use it. */
#ifndef CRESSET_PROFILE_TREE_FILTER_H
#define CRESSET_PROFILE_TREE_FILTER_H

#include "profile/tree.h"

#include <regex.h>

/* What of a function a pattern is matched with. */
enum pattern_field { PATTERN_NAME, PATTERN_BINARY, PATTERN_FILE, PATTERN_KIND };
struct pattern {
	enum pattern_field field;
	regex_t regex;
};
/* One a line of the option. Each of focus has a bit of its own, since a stack has to have them all. */
enum { FOCUS_PATTERNS = 4, FILTER_PATTERNS = 16 };
struct patterns {
	struct pattern v[FILTER_PATTERNS];
	uint32_t n;
};
struct tree_filter { /* zeroed = lets everything through */
	struct patterns focus, ignore, hide;
	bool no_kernel, no_user;
};

/* What a function means for the stacks it is in; bits. FUNC_FOCUS << i: pattern i of focus; one more than all of them fits into a byte. */
enum {
	FUNC_IGNORE = 1,
	FUNC_DROP = 2,
	FUNC_FOCUS = 4,
	FUNC_ALL = (FUNC_FOCUS << FOCUS_PATTERNS) - 1
};
_Static_assert(FUNC_ALL + 1 <= UINT8_MAX, "caches of bits are bytes, and 0 is not known");

/* -EINVAL with the words in err; f is then to be done, too. */
int tree_filter_init(struct tree_filter *f, const struct tree_opts *opts, struct err *err);
void tree_filter_done(struct tree_filter *f);
/* Whether focus and ignore let a stack pass whose functions have these bits all together. */
bool tree_filter_passes(const struct tree_filter *f, unsigned bits);
unsigned tree_filter_func(const struct tree_filter *f, const struct strtab *strings,
			  const struct tree_func *func);

#endif
