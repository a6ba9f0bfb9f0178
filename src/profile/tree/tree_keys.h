/* profile/tree/tree_keys.h: the root frames of tree_opts.by: the node below which a sample's stack
 * is added. Only tree_build and profile_select use it. */
#ifndef CRESSET_PROFILE_TREE_TREE_KEYS_H
#define CRESSET_PROFILE_TREE_TREE_KEYS_H

#include "base/hash.h"
#include "base/vec.h"
#include "profile/tree/tree.h"

/* The parts of a sample that its root frames consist of; unneeded parts are 0. */
struct key_parts {
	uint32_t labels, pid, tid, cpu;
};
struct tree_keys {
	struct profile *p;
	struct tree *t;
	enum tree_by by[TREE_BY_MAX]; /* without BY_NONE */
	int n;
	struct key_parts uses; /* 1 where needed */
	VEC(struct key_parts) seen;
	VEC(uint32_t) group_of_seen;
	VEC(uint32_t) nodes; /* by group: the node above its stacks */
	struct map seen_index, group_of_node;
	/* Consecutive samples mostly have the same key. */
	struct key_parts last;
	uint32_t last_group;
};

void tree_keys_init(struct tree_keys *k, struct profile *p, struct tree *t,
		    const struct tree_opts *opts);
void tree_keys_done(struct tree_keys *k);

/* Returns the group of a sample: an index in nodes. Adds nodes for a new group. */
uint32_t tree_keys_group(struct tree_keys *k, size_t row);

#endif
