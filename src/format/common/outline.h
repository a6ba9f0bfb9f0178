/* format/common/outline.h: a tree as rows from top to bottom, for graphs and tables: each node
 * precedes its children, and siblings are in order. Nodes too small to show become one row after
 * their siblings that retains their sum. The tree itself is unchanged, so sums over it stay
 * correct. */
#ifndef CRESSET_FORMAT_COMMON_OUTLINE_H
#define CRESSET_FORMAT_COMMON_OUTLINE_H

#include "base/vec.h"
#include "profile/tree/tree.h"

struct outline_row {
	uint32_t node;   /* the node; if below > 0, the parent of the omitted nodes */
	uint32_t depth;  /* root = 0 */
	uint32_t below;  /* number of frames this row stands for; 0: it is a node */
	bool last, only; /* last of its siblings; without siblings */
	int64_t total, other_total;
};
struct outline {
	VEC(struct outline_row) rows;
	uint32_t depth; /* of the deepest row, plus 1 */
};

/* Omits nodes whose total is below min_total, in a diff on both sides; INT64_MIN shows all. */
void outline_build(const struct tree *t, enum tree_order order, int64_t min_total,
		   struct outline *out);
void outline_done(struct outline *o);

#endif
