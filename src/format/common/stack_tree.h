/* format/common/stack_tree.h: stacks that a file stores as a tree of rows {parent row, frame}. A
 * stack is the path from a row to its root. Examples: call nodes of V8, stack tables of the Firefox
 * Profiler, stackFrames of traces.
 *
 * Rows arrive in any order and may be invalid: a missing parent or a cycle makes the rows below
 * unusable. A row deeper than STACK_MAX_DEPTH gets the stack of its ancestor at that depth. Paths
 * share prefixes, so n rows may stand for n * n frames. The total length of all paths is limited to
 * STACK_TREE_MAX_STEPS; after that no new stack is created. */
#ifndef CRESSET_FORMAT_COMMON_STACK_TREE_H
#define CRESSET_FORMAT_COMMON_STACK_TREE_H

#include "base/vec.h"

#include <stdint.h>

struct sink;

enum {
	STACK_TREE_ROOT = UINT32_MAX,     /* as parent: none */
	STACK_TREE_NO_FRAME = UINT32_MAX, /* as frame: only rows below it have one */
	STACK_TREE_NONE = UINT32_MAX,     /* as stack: cannot be created */
	/* limit: frames of all stacks of a V8 profile, a Firefox thread; others are skipped */
	STACK_TREE_MAX_STEPS = 1 << 26,
};

struct stack_tree_row {
	uint32_t parent, frame;
	uint32_t stack, depth; /* set on first request; see stack_tree.c */
};
struct stack_tree { /* zeroed = empty */
	VEC(struct stack_tree_row) rows;
	VEC(uint32_t) path, way; /* of the last request, leaf first */
	uint64_t steps;
};

uint32_t stack_tree_add(struct stack_tree *t, uint32_t parent, uint32_t frame);
/* Returns the sink's stack of a row, or STACK_TREE_NONE. Repeated calls cost nothing. */
uint32_t stack_tree_stack(struct stack_tree *t, struct sink *sink, uint32_t row);
void stack_tree_done(struct stack_tree *t);

#endif
