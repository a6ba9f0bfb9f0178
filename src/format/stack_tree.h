/* format/stack_tree.h: stacks that a file tells as a tree: rows of {parent row, frame}, a stack being the path from a row to its
 * root. Call nodes of V8, the stack tables of the Firefox Profiler, the stackFrames of traces.
 *
 * Rows come in any order and may be wrong: a parent that is not there or that leads in a circle makes the rows below it
 * unusable. A row deeper than STACK_MAX_DEPTH has the stack of its ancestor there. Paths share their beginnings, so n rows may
 * stand for n * n frames: all paths together may be STACK_TREE_MAX_STEPS long, after which no new stack is made. */
#ifndef CRESSET_FORMAT_STACK_TREE_H
#define CRESSET_FORMAT_STACK_TREE_H

#include "base/vec.h"
#include "profile/sink.h"

#include <stdint.h>

enum {
	STACK_TREE_ROOT = UINT32_MAX,     /* as parent: none */
	STACK_TREE_NO_FRAME = UINT32_MAX, /* as frame: the row shows nothing, those below it do */
	STACK_TREE_NONE = UINT32_MAX,     /* as stack: cannot be made */
	STACK_TREE_MAX_STEPS = 1 << 26,
};

struct stack_tree_row {
	uint32_t parent, frame;
	uint32_t stack, depth; /* once asked for; see stack_tree.c */
};
struct stack_tree { /* zeroed = empty */
	VEC(struct stack_tree_row) rows;
	VEC(uint32_t) path, way; /* of the last stack asked for, leaf first */
	uint64_t steps;
};

uint32_t stack_tree_add(struct stack_tree *t, uint32_t parent, uint32_t frame);
/* The sink's stack of a row, STACK_TREE_NONE where there is none. Asking again costs nothing. */
uint32_t stack_tree_stack(struct stack_tree *t, struct sink *sink, uint32_t row);
void stack_tree_done(struct stack_tree *t);

#endif
