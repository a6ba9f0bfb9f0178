/* profile/tree_filter.h: the regular expressions of tree_opts. Only tree_build and
 * profile_select use it. */
#ifndef CRESSET_PROFILE_TREE_FILTER_H
#define CRESSET_PROFILE_TREE_FILTER_H

#include "profile/tree.h"

#include <regex.h>

/* What of a function a pattern is matched with. */
enum pattern_field { PATTERN_NAME, PATTERN_BINARY, PATTERN_FILE, PATTERN_KIND };
struct pattern {
	bool is_set;
	enum pattern_field field;
	regex_t regex;
};
struct tree_filter { /* zeroed = lets everything through */
	struct pattern focus, ignore, hide;
	bool no_kernel, no_user;
};

/* What a function means for the stacks it is in; bits. */
enum { FUNC_FOCUS = 1, FUNC_IGNORE = 2, FUNC_DROP = 4 };

/* -EINVAL with the words in err; f is then to be done, too. */
int tree_filter_init(struct tree_filter *f, const struct tree_opts *opts, struct err *err);
void tree_filter_done(struct tree_filter *f);
unsigned tree_filter_func(const struct tree_filter *f, const struct strtab *strings,
			  const struct tree_func *func);

#endif
