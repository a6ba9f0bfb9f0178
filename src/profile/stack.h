/* profile/stack.h: stacks, front-coded against each other.
 *
 * Frames count from the root (depth 0) to the leaf. A stack stores a parent stack, how many frames
 * it shares with it from the root, and only its own frames after those:
 *
 *     id 0                        the empty stack
 *     id 1  main a b c            {parent 0, shared 0, depth 4} own: main a b c
 *     id 2  main a x              {parent 1, shared 2, depth 3} own: x
 *     id 3  main a x y            {parent 2, shared 3, depth 4} own: y
 *
 * Invariants: parent < id; parent.shared < shared unless shared = 0 (then parent = 0): the last
 * shared frame is one of the parent's own; no two stacks are equal; no stack repeats as its own a
 * frame that it could have shared with an earlier one, so each (stack, depth of an own frame) is
 * one node of the prefix tree. One pass over ids downwards gives all inclusive totals. */
#ifndef CRESSET_PROFILE_STACK_H
#define CRESSET_PROFILE_STACK_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* Of deeper stacks the sink keeps the leaf-most frames and puts a marker at the root. */
enum { STACK_MAX_DEPTH = 65535 };

struct stack {
	uint32_t parent;
	uint16_t shared, depth;
	uint64_t own; /* index in stack_table.own of its own frames: depth - shared of them */
};
struct stack_table {
	VEC(struct stack) stacks;
	VEC(uint32_t) own; /* frame ids */
	/* Only needed to add: (own frame, the frame behind it) → the stack that leaves its parent
	 * there. The table is so a tree of stacks that is walked from the root, one look-up for
	 * each stack on the way and none for its frames. Of what stack_append added it is made
	 * when a stack is looked for. */
	struct map branches;
	uint32_t indexed; /* stacks below have their branch in there */
};

void stack_table_init(struct stack_table *t);
void stack_table_done(struct stack_table *t);

/* The id of the stack with these frames, root first; added when new. n is at most
 * STACK_MAX_DEPTH. */
uint32_t stack_intern(struct stack_table *t, const uint32_t *frames, uint32_t n);

/* The same of n lists at once, at most STACK_BATCH, in much less time than one by one. */
enum { STACK_BATCH = 32 };
struct stack_list {
	const uint32_t *frames; /* root first */
	uint32_t n;
	/* The first `known` frames are those of stack known_as, and are not read; 0: none. Not for
	 * a sink. */
	uint32_t known, known_as;
};
void stack_intern_all(struct stack_table *t, const struct stack_list *lists, uint32_t n,
		      uint32_t *ids);

/* Adds a stack as a table says that stack_intern filled (one that was written to a file), without
 * looking for it: it becomes the next id. False, and nothing is added, when it breaks a rule above
 * that can be seen in it and its parent. */
bool stack_append(struct stack_table *t, uint32_t parent, uint32_t shared, const uint32_t *own,
		  uint32_t n_own);

/* Checks what stack_append cannot see: false when one of the stacks says again what another one
 * says. The next stack_intern has less to do. */
bool stack_table_index(struct stack_table *t);

static inline uint32_t stack_depth(const struct stack_table *t, uint32_t id)
{
	return t->stacks.v[id].depth;
}
/* Writes the frames root first to out[stack_depth()]. */
void stack_frames(const struct stack_table *t, uint32_t id, uint32_t *out);
/* The same of those from this depth on, each to its place in out. */
void stack_frames_from(const struct stack_table *t, uint32_t id, uint32_t from, uint32_t *out);

/* The frame at the leaf; UINT32_MAX of the empty stack. */
uint32_t stack_leaf(const struct stack_table *t, uint32_t id);

#endif
