/* profile/tree_top.h: the top of a flame tree, all that is large enough to be seen, without making the rest of it: of a million stacks with nine
 * million nodes some thousands are shown. Only tree_sums uses it.
 *
 * Totals of all stacks come from one pass backwards (stack_totals.h). Then the tree is made from the root down. A node is a list of places in
 * dictionaries, at which its function ends (one function has several addresses, and is in several days); its children are made of the places
 * that follow. Their totals are exact, so a child that is too small is not looked into: its sum goes to the rest of its parent.
 *
 * The result is what tree_prune_share makes of the whole tree, but that nobody knows how many frames are in a rest. */
#ifndef CRESSET_PROFILE_TREE_TOP_H
#define CRESSET_PROFILE_TREE_TOP_H

#include "profile/tree.h"
#include "profile/tree_filter.h"

/* Values by stack of one dictionary; stacks that do not pass the filter are not among them. */
struct tree_top_part {
	struct profile *dict;
	uint32_t n;
	const uint32_t *stack; /* no two equal */
	const int64_t *value;
};

/* Adds what is in the parts below root; of opts the filter's, collapse_recursion, max_depth, and zoom with min_share count. Where root is none of the tree's, its
 * total is there already. min_total is at least 1. */
void tree_top_add(struct tree *t, const struct tree_opts *opts, const struct tree_filter *filter,
		  uint32_t root, const struct tree_top_part *parts, uint32_t n, int64_t min_total);

#endif
