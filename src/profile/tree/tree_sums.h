/* profile/tree/tree_sums.h: builds a flame tree from values already added up by stack, as a store
 * retains them. They may come from any number of dictionaries: stacks are merged by the functions
 * they show.
 *
 *     struct tree_sums s;
 *     tree_sums_begin(&s, &opts, &err);
 *     root = tree_sums_root(&s, root_frames, n);        none: TREE_ROOT
 *     tree_sums_add(&s, dict, root, &sums);
 *     tree = tree_sums_end(&s); */
#ifndef CRESSET_PROFILE_TREE_TREE_SUMS_H
#define CRESSET_PROFILE_TREE_TREE_SUMS_H

#include "base/vec.h"
#include "profile/tree/tree_filter.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct value_scale;

/* Values by stack of a dictionary. */
struct stack_values {
	uint32_t n;
	const uint32_t *stack; /* no two equal */
	const int64_t *value;
	/* Number of samples in each, and the sum of the squares of their weights (struct
	 * tree_spread); NULL: each weighs 1. */
	const double *count, *squares;
	const uint32_t *rows; /* rows in each, for tree.n_samples; NULL: unknown */
	int64_t factor;       /* of all values */
};

/* With min_share: values are retained until tree_sums_end, when it is known which are too small. */
struct tree_held {
	struct profile *dict;
	uint32_t root, n;
	uint32_t *stack; /* stacks that pass the filter */
	int64_t *value;
};
struct tree_sums {
	const struct tree_opts *opts;
	struct tree_filter filter;
	struct tree *t;
	uint32_t n_roots; /* levels of root frames */
	VEC(struct tree_held) held;
};

/* Ignores type, by and the times of opts; opts stay the caller's until the end. Returns -EINVAL
 * with err set for a bad regular expression; do not call tree_sums_end then. */
int tree_sums_begin(struct tree_sums *s, const struct tree_opts *opts, struct err *err);

/* Sets the type and unit of the values. */
void tree_sums_unit(struct tree_sums *s, const char *type_name, const struct value_scale *scale);

/* Returns the node of these root frames, of kind FRAME_MARKER. n must be the same in each call. */
uint32_t tree_sums_root(struct tree_sums *s, const char *const *names, uint32_t n);

/* dict only gets new interned strings, and must live until the end. */
void tree_sums_add(struct tree_sums *s, struct profile *dict, uint32_t root,
		   const struct stack_values *sums);

/* Returns the memory held with min_share. */
uint64_t tree_sums_bytes(const struct tree_sums *s);
/* Returns the tree with its totals, to be freed with tree_free; s is freed. */
struct tree *tree_sums_end(struct tree_sums *s);

/* --- tree_top.c ---
 *
 * Builds only the top of a flame tree: the nodes large enough to be shown, some thousands of the
 * nine million nodes of a million stacks. Only tree_sums uses it.
 *
 * One pass backwards computes the totals of all stacks (stack_totals). Then the tree is built from
 * the root down. A node is a list of places in dictionaries at which its function ends (a function
 * has several addresses, and is in several days); its children are built from the places that
 * follow. Their totals are exact, so a child that is too small is not expanded: its sum goes to
 * the rest of its parent.
 *
 * The result equals that of tree_prune_share on the whole tree, except that the number of frames
 * in a rest is unknown. */

struct stack_table;
struct tree;
struct tree_opts;

/* Values by stack of one dictionary, without stacks that do not pass the filter. */
struct tree_top_part {
	struct profile *dict;
	uint32_t n;
	const uint32_t *stack; /* no two equal */
	const int64_t *value;
};

/* Adds the parts below root. Uses the filters, collapse_recursion, max_depth, and zoom with
 * min_share of opts. If root is not the tree's root, its total must be set already. min_total is
 * at least 1. */
void tree_top_add(struct tree *t, const struct tree_opts *opts, const struct tree_filter *filter,
		  uint32_t root, const struct tree_top_part *parts, uint32_t n, int64_t min_total);

/* Totals of stacks, without a tree: for tables of a million stacks of which most are too small to
 * be shown.
 *
 * A stack's parent has a lower id, and shares with it the first `shared` frames. So in one pass
 * backwards
 *
 *     total[id] = value[id] + the totals of all its child stacks
 *
 * which is the total of the node at which the stack's own frames start: of everything below its
 * first `shared` frames that continues with its own next one. No node of its own frames or of its
 * child stacks has a larger total: if it is small, the whole branch is.
 *
 * total[number of stacks] has the value of each stack on entry and its total on return; total[0]
 * (the empty stack) is the total of all. Sums saturate at the limits of int64_t. */
void stack_totals(const struct stack_table *t, int64_t *total);

#endif
