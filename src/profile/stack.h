/* profile/stack.h: stacks, front-coded against each other.
 *
 * Frames are numbered from the root (depth 0) to the leaf. A stack stores its parent stack, the
 * number of frames that both share from the root, and only its own frames after those:
 *
 *     id 0                        the empty stack
 *     id 1  main a b c            {parent 0, shared 0, depth 4} own: main a b c
 *     id 2  main a x              {parent 1, shared 2, depth 3} own: x
 *     id 3  main a x y            {parent 2, shared 3, depth 4} own: y
 *
 * Invariants: parent < id; parent.shared < shared unless shared = 0 (then parent = 0), so the last
 * shared frame is one of the parent's own; no two stacks are equal; no own frame could have been
 * shared with an earlier stack, so each (stack, depth of an own frame) is one node of the prefix
 * tree. One pass over descending ids computes all totals. */
#ifndef CRESSET_PROFILE_STACK_H
#define CRESSET_PROFILE_STACK_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* The sink truncates deeper stacks: it keeps the leaf-most frames and puts a marker at the root. */
enum { STACK_MAX_DEPTH = 65535 }; /* limit: frames of a stack from a file */

struct stack {
	uint32_t parent;
	uint16_t shared, depth;
	uint64_t own; /* index in stack_table.own of its own frames: depth - shared of them */
};
struct stack_table {
	VEC(struct stack) stacks;
	VEC(uint32_t) own; /* frame ids */
	/* Only needed to add: (own frame, the frame after it) → the stack that leaves its parent
	 * there. So the table is a tree of stacks, walked from the root with one lookup per stack
	 * and none per frame. Stacks added by stack_append are indexed at the next lookup. */
	struct map branches;
	uint32_t indexed; /* stacks below this id are in branches */
};

void stack_table_init(struct stack_table *t);
void stack_table_done(struct stack_table *t);

/* Returns the id of the stack with these frames, root first; added when new. n is at most
 * STACK_MAX_DEPTH. */
uint32_t stack_intern(struct stack_table *t, const uint32_t *frames, uint32_t n);

/* Does the same for n lists at one time, at most STACK_BATCH; much faster than one by one. */
enum { STACK_BATCH = 32 };
struct stack_list {
	const uint32_t *frames; /* root first */
	uint32_t n;
	/* The first `known` frames are those of stack known_as, and are not read; 0: none. Sinks
	 * ignore this. */
	uint32_t known, known_as;
};
void stack_intern_all(struct stack_table *t, const struct stack_list *lists, uint32_t n,
		      uint32_t *ids);

/* Adds a stack from a table that stack_intern filled (one that was written to a file), without a
 * lookup: it gets the next id. Returns false and adds nothing if it and its parent violate an
 * invariant above. */
bool stack_append(struct stack_table *t, uint32_t parent, uint32_t shared, const uint32_t *own,
		  uint32_t n_own);

/* Checks what stack_append cannot: returns false if a stack repeats frames of another one. Makes
 * the next stack_intern faster. */
bool stack_table_index(struct stack_table *t);

static inline uint32_t stack_depth(const struct stack_table *t, uint32_t id)
{
	return t->stacks.v[id].depth;
}
/* Writes the frames root first to out[stack_depth()]. */
void stack_frames(const struct stack_table *t, uint32_t id, uint32_t *out);
/* Does the same for frames from this depth on, each to its place in out. */
void stack_frames_from(const struct stack_table *t, uint32_t id, uint32_t from, uint32_t *out);

/* Returns the frame at the leaf; UINT32_MAX for the empty stack. */
uint32_t stack_leaf(const struct stack_table *t, uint32_t id);

#endif
