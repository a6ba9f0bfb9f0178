/* profile/tree_stacks.h: stacks become nodes of a flame tree. Only tree_build and tree_sums use it.
 *
 * Each stack that is asked for is walked once per group of root frames, and of it only its own frames: the front coding says at which
 * node of its parent they begin. So the work is one lookup of a child per distinct (prefix of a stack, line).
 *
 * A table may have a million stacks of which two thousand are asked for. These, and the ones they build on, then get numbers of their
 * own, parents first, and everything is as large as they are. Where most of the table is asked for the numbers are those of the table. */
#ifndef CRESSET_PROFILE_TREE_STACKS_H
#define CRESSET_PROFILE_TREE_STACKS_H

#include "profile/shown_funcs.h"
#include "profile/tree.h"
#include "profile/tree_filter.h"

/* A stack of which the first `want` frames need nodes. */
struct stack_want {
	uint32_t stack, want;
};

struct tree_stacks {
	struct profile *p;
	struct tree *t;
	const struct tree_opts *opts;
	const struct tree_filter *filter;

	/* By number: of the table, or of the part below. */
	const struct stack *stacks;
	const uint32_t *own; /* frames by number */
	size_t n, n_own, n_frames;
	bool is_part, drops; /* only a part of the table; opts drop functions */
	VEC(struct stack) part;
	VEC(struct stack_want) part_wants; /* id by number, and how many of its frames are needed */
	VEC(uint32_t) part_own, part_frames;   /* part_frames: id by number */
	uint32_t *stack_number, *frame_number; /* by id: number + 1; 0: it has none */

	struct shown_funcs *shown; /* p's */
	struct map strings;        /* string of the profile → of the tree */
	/* By function shown: of the tree + 1; FUNC_… + 1. 0: not asked yet. */
	VEC(uint32_t) func_of;
	VEC(uint8_t) func_bits;
	uint32_t *
		only_func; /* by frame number: of the tree + 1, where it shows but one; 0: not asked yet, or it shows others */
	uint8_t *
		frame_bits; /* by frame number: of all its functions; NULL without focus and ignore */
	/* By stack number: the smallest depth of a frame that matches, TREE_NONE; NULL without such a
	 * filter. */
	uint32_t *focus_depth, *ignore_depth;

	uint32_t group_root;           /* node of the group at hand */
	uint32_t *node_at;             /* by own frame: the node it ends at + 1 */
	VEC(uint32_t) walked;          /* stacks that have something in node_at */
	VEC(struct stack_want) wanted; /* parents on the way up */
};

/* used: the stacks that will be asked for, any order, repeated as they are; all five stay the caller's until tree_stacks_done. */
void tree_stacks_init(struct tree_stacks *s, struct profile *p, struct tree *t,
		      const struct tree_opts *opts, const struct tree_filter *filter,
		      const uint32_t *used, size_t n_used);
void tree_stacks_done(struct tree_stacks *s);

static inline uint32_t tree_stacks_number(const struct tree_stacks *s, uint32_t stack)
{
	return s->is_part ? s->stack_number[stack] - 1 : stack;
}

/* Whether focus and ignore let it pass. All that follows takes numbers. */
static inline bool tree_stacks_pass(const struct tree_stacks *s, uint32_t number)
{
	return (!s->focus_depth || s->focus_depth[number] != TREE_NONE) &&
	       (!s->ignore_depth || s->ignore_depth[number] == TREE_NONE);
}

/* What comes now hangs below this node. */
void tree_stacks_group(struct tree_stacks *s, uint32_t root);

/* The node of a whole stack in the group at hand. */
uint32_t tree_stacks_node(struct tree_stacks *s, uint32_t number);

/* Where the node of the first `depth` frames of a stack is kept; the last of them is its own. */
static inline uint32_t *tree_stacks_slot(const struct tree_stacks *s, uint32_t number,
					 uint32_t depth)
{
	const struct stack *stack = &s->stacks[number];
	return &s->node_at[stack->own + depth - 1 - stack->shared];
}

/* Parents are anywhere in memory, and waiting for them is most of the work. So what tree_stacks_node will
 * read of a parent is asked for some stacks ahead, one link of the chain stack → slot → node after
 * the other: that takes a quarter off tree_build with 200 000 stacks. list: what will be asked for; at: where one is in it. Always
 * inline: gcc takes a function that only prefetches for one without effect and drops the call. */
enum { TREE_STACKS_AHEAD = 4 };
static inline __attribute__((always_inline)) const struct stack *tree_stacks_ahead(
	const struct tree_stacks *s, const uint32_t *list, size_t n, size_t i)
{
	return &s->stacks[i < n ? list[i] : 0]; /* behind the end: the empty stack */
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

/* The end of every build: totals, and what opts say of the shape; keep: levels of root frames. */
void tree_finish(struct tree *t, const struct tree_opts *opts, uint32_t keep);

#endif
