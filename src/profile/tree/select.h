/* profile/tree/select.h: selects part of a profile as a new profile, for output that needs more
 * than one tree: writers of stacks, samples and labels.
 *
 * The options mean the same as for a tree: for each type the tree of the part equals the tree of
 * the whole with these options, except that a function whose caller was inlined and hidden no
 * longer counts as inlined. */
#ifndef CRESSET_PROFILE_TREE_SELECT_H
#define CRESSET_PROFILE_TREE_SELECT_H

#include "profile/tree/tree.h"

#include <stdbool.h>

struct err;
struct profile;

struct select_opts {
	/* by, focus, ignore, hide, the time range, no_kernel and no_user are used; the others must
	 * be 0. Root frames (by) become frames of the stacks. A time range sets the start of the
	 * part, and samples that cover time are cut to it (time_range.h). */
	struct tree_opts tree;
	const bool *types; /* by type of p: whether it is wanted; NULL = all */
};

/* Makes *out (profile_free) of the samples that pass. It has no unreferenced strings, frames,
 * names, labels or series, but all wanted types, even without samples, and without a time range
 * the exact times of all threads. p only gets new interned strings. Returns -EINVAL with err set
 * for a bad regular expression. */
int profile_select(struct profile *p, const struct select_opts *opts, struct profile **out,
		   struct err *err);

/* Removes all samples whose keep[row] is false. Everything else stays. */
void profile_keep_samples(struct profile *p, const bool *keep);

#endif
