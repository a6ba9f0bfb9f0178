/* profile/select.h: a part of a profile as a profile of its own, for everything that looks at more
 * than one tree: writers of stacks, samples and labels.
 *
 * The options are those of the tree and mean the same: for each type the tree of the part is the
 * tree of the whole with these options, but that a function whose caller was inlined and hidden no
 * longer counts as inlined. */
#ifndef CRESSET_PROFILE_SELECT_H
#define CRESSET_PROFILE_SELECT_H

#include "base/err.h"
#include "profile/profile.h"
#include "profile/tree.h"

#include <stdbool.h>

struct select_opts {
	/* by, focus, ignore, hide, the time range, no_kernel and no_user count; the others must be 0.
	 * Root frames (by) become frames of the stacks. Of a time range the start is the start of
	 * the part, and samples that cover time are cut to it (time_range.h). */
	struct tree_opts tree;
	const bool *types; /* by type of p: whether it is wanted; NULL = all are */
};

/* Makes *out (profile_free) of what passes. Strings, frames, names, labels and series that nothing
 * refers to any more are not in it; wanted types are, even without samples, and without a time range
 * the exact times of all threads. p is changed only by interned strings. -EINVAL with the words in err for a bad regular expression. */
int profile_select(struct profile *p, const struct select_opts *opts, struct profile **out,
		   struct err *err);

/* Takes all samples away whose keep[row] is false. Everything else stays. */
void profile_keep_samples(struct profile *p, const bool *keep);

#endif
