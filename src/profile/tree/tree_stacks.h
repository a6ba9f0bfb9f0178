/* profile/tree/tree_stacks.h: turns stacks into nodes of a flame tree. Only tree_build and
 * tree_sums use it.
 *
 * Each requested stack is walked once per group of root frames, and only its own frames: the front
 * coding gives the parent's node at which they start. So the cost is one lookup of a child per
 * distinct (prefix of a stack, line).
 *
 * A table may have a million stacks of which two thousand are requested. These and their ancestors
 * are then renumbered, parents first, so all arrays are as small as this part. If most of the
 * table is requested, the numbers are the table's ids. */
#ifndef CRESSET_PROFILE_TREE_TREE_STACKS_H
#define CRESSET_PROFILE_TREE_TREE_STACKS_H

#include "base/hash.h"
#include "base/vec.h"
#include "profile/stack.h"
#include "profile/tree/tree.h"

/* A stack whose first `want` frames need nodes. */
struct stack_want {
	uint32_t stack, want;
};

struct tree_stacks {
	struct profile *p;
	struct tree *t;
	const struct tree_opts *opts;
	const struct tree_filter *filter;

	/* By number: the table's, or those of the part below. */
	const struct stack *stacks;
	const uint32_t *own; /* frames by number */
	size_t n, n_own, n_frames;
	bool is_part, drops; /* uses part of the table; opts drop functions */
	VEC(struct stack) part;
	VEC(struct stack_want) part_wants;     /* by number: id and number of frames needed */
	VEC(uint32_t) part_own, part_frames;   /* part_frames: id by number */
	uint32_t *stack_number, *frame_number; /* by id: number + 1; 0: none */

	struct shown_funcs *shown; /* p's */
	struct map strings;        /* string of the profile → of the tree */
	/* By function shown: function of the tree + 1; FUNC_… bits + 1. 0: not computed yet. */
	VEC(uint32_t) func_of;
	VEC(uint8_t) func_bits;
	/* by frame number: function of the tree + 1 if it shows only one; 0: not computed yet, or
	 * several */
	uint32_t *only_func;
	/* by frame number: bits of all its functions; NULL without focus and ignore */
	uint8_t *frame_bits;
	/* By stack number: the smallest depth of a matching frame, or TREE_NONE; NULL without such
	 * a filter. */
	uint32_t *focus_depth, *ignore_depth;

	uint32_t group_root;           /* node of the current group */
	uint32_t *node_at;             /* by own frame: its last node + 1 */
	VEC(uint32_t) walked;          /* stacks with entries in node_at */
	VEC(struct stack_want) wanted; /* parents on the way up */
};

/* used: the stacks that will be requested, in any order, possibly repeated. All five arguments stay
 * the caller's and must live until tree_stacks_done. */
void tree_stacks_init(struct tree_stacks *s, struct profile *p, struct tree *t,
		      const struct tree_opts *opts, const struct tree_filter *filter,
		      const uint32_t *used, size_t n_used);
void tree_stacks_done(struct tree_stacks *s);

static inline uint32_t tree_stacks_number(const struct tree_stacks *s, uint32_t stack)
{
	return s->is_part ? s->stack_number[stack] - 1 : stack;
}

/* Whether a stack passes focus and ignore. This and all functions below take numbers. */
static inline bool tree_stacks_pass(const struct tree_stacks *s, uint32_t number)
{
	return (!s->focus_depth || s->focus_depth[number] != TREE_NONE) &&
	       (!s->ignore_depth || s->ignore_depth[number] == TREE_NONE);
}

/* Starts a group: further stacks are added below this node. */
void tree_stacks_group(struct tree_stacks *s, uint32_t root);

/* Returns the node of a whole stack in the current group. */
uint32_t tree_stacks_node(struct tree_stacks *s, uint32_t number);

/* Returns the slot for the node of the first `depth` frames of a stack; the last must be its
 * own. */
static inline uint32_t *tree_stacks_slot(const struct tree_stacks *s, uint32_t number,
					 uint32_t depth)
{
	const struct stack *stack = &s->stacks[number];
	return &s->node_at[stack->own + depth - 1 - stack->shared];
}

/* Parents are spread over memory, and most time is spent on cache misses. So the data that
 * tree_stacks_node reads from a parent are prefetched some stacks ahead, one link of the chain
 * stack → slot → node at a time: this makes tree_build with 200 000 stacks a quarter faster.
 * list: the stacks to be requested; at: current index. Always inline: gcc considers a function
 * that only prefetches free of effects and drops the call. */
enum { TREE_STACKS_AHEAD = 4 };
static inline __attribute__((always_inline)) const struct stack *tree_stacks_ahead(
	const struct tree_stacks *s, const uint32_t *list, size_t n, size_t i)
{
	return &s->stacks[i < n ? list[i] : 0]; /* past the end: the empty stack */
}
static inline __attribute__((always_inline)) void tree_stacks_prefetch(const struct tree_stacks *s,
								       const uint32_t *list,
								       size_t n, size_t at)
{
	const struct stack *far = tree_stacks_ahead(s, list, n, at + 4 * TREE_STACKS_AHEAD);
	__builtin_prefetch(&s->stacks[far->parent]);
	const struct stack *middle = tree_stacks_ahead(s, list, n, at + 2 * TREE_STACKS_AHEAD);
	if (middle->shared)
		__builtin_prefetch(tree_stacks_slot(s, middle->parent, middle->shared));
	const struct stack *near = tree_stacks_ahead(s, list, n, at + TREE_STACKS_AHEAD);
	uint32_t node = near->shared ? *tree_stacks_slot(s, near->parent, near->shared) : 0;
	if (node)
		__builtin_prefetch(&s->t->nodes.v[node - 1]);
}

/* Grows the tree's spreads to its nodes. */
void tree_spreads_grow(struct tree *t);

/* Ends a build: computes totals and applies the options of shape. keep: levels of root frames. */
void tree_finish(struct tree *t, const struct tree_opts *opts, uint32_t keep);

#endif
