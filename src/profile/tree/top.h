/* profile/tree/top.h: flat tables of a tree: functions by self or total, and one function's callers
 * and callees.
 *
 * A function here is (name, kind, binary, file), inlined or not. Recursion is counted once: a
 * function's total is the sum over its outermost nodes only. */
#ifndef CRESSET_PROFILE_TREE_TOP_H
#define CRESSET_PROFILE_TREE_TOP_H

#include "base/vec.h"
#include "profile/tree/tree.h"

struct err;

struct top_row {
	uint32_t func; /* of tree.funcs */
	int64_t self, total;
	int64_t other_self, other_total; /* older side of a difference */
	struct tree_node_spread spread;  /* if the tree has them, else zero */
};
struct top_table {
	VEC(struct top_row) rows; /* by self, then total, then name */
	int64_t total;            /* of the tree */
};

/* out must be zeroed or freed by top_done; t must outlive it. */
void top_build(const struct tree *t, struct top_table *out);
void top_done(struct top_table *t);

/* Does the same for functions that were numbered otherwise: adds each node to rows[row[its func]].
 * Functions with the same number are one function. rows: zeroed; func stays 0. */
void top_sums(const struct tree *t, const uint32_t *row, struct top_row *rows, size_t n_rows);

/* callers: inverted tree of the stacks above every outermost node whose name equals fn exactly;
 * callees: the tree below it. In both the root stands for fn itself: its total is fn's total, its
 * children are the direct callers or callees. Both are new trees for the caller to free. Returns
 * -ENOENT with the most similar name in err if no function has the name fn. */
int top_callers(const struct tree *t, const char *fn, struct tree **callers, struct tree **callees,
		struct err *err);

#endif
