/* format/outline.h: a tree as rows from top to bottom, as pictures and tables show it: each node before its children, siblings in
 * order, and what is too small to show as one row behind its siblings that keeps their sum. The tree itself stays whole, so that
 * sums over all of it stay right. */
#ifndef CRESSET_FORMAT_OUTLINE_H
#define CRESSET_FORMAT_OUTLINE_H

#include "base/vec.h"
#include "profile/tree.h"

struct outline_row {
	uint32_t node;   /* the node, or with below > 0 the parent of what was left out */
	uint32_t depth;  /* root = 0 */
	uint32_t below;  /* frames that this row stands for, 0 = it is a node */
	bool last, only; /* among its siblings; the only one */
	int64_t total, other_total;
};
struct outline {
	VEC(struct outline_row) rows;
	uint32_t depth; /* of the deepest row, + 1 */
};

/* Nodes whose total is below min_total on both sides of a difference are left out; INT64_MIN shows all. */
void outline_build(const struct tree *t, enum tree_order order, int64_t min_total,
		   struct outline *out);
void outline_done(struct outline *o);

#endif
