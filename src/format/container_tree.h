/* format/container_tree.h: a tree of bounded size as bytes (format/tree_bin.h), and which of its nodes is which there. */
#ifndef CRESSET_FORMAT_CONTAINER_TREE_H
#define CRESSET_FORMAT_CONTAINER_TREE_H

#include "base/buf.h"
#include "profile/tree.h"

#include <stdint.h>

/* Appends t, sorted by name, with at most about so many nodes: of more, the smallest go into rests. Returns, by node of t, the number in what was
 * written of this node, or of the rest that it is in; to be freed. norm: of a difference, else NULL. */
uint32_t *container_put_tree(struct tree *t, size_t max_nodes, const char *norm, struct buf *b);

#endif
