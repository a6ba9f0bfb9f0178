#include "profile/stack.h"

#include <assert.h>
#include <string.h>

/* What comes behind the last frame of a stack that ends inside another one. */
enum { STACK_END = UINT32_MAX };

void stack_table_init(struct stack_table *t)
{
	*t = (struct stack_table){ 0 };
	vec_push(&t->stacks, (struct stack){ 0 });
	vec_push(&t->path, 0);
	vec_reserve(&t->own, 1); /* so that the empty stack's frames are somewhere */
}

void stack_table_done(struct stack_table *t)
{
	vec_done(&t->stacks);
	vec_done(&t->own);
	map_done(&t->branches);
	vec_done(&t->last);
	vec_done(&t->path);
}

/* Where a stack leaves its parent: behind `depth` frames, the last of them the parent's own, to a
 * frame that the parent does not have there. */
struct branch {
	const struct stack_table *t;
	uint32_t parent, depth, next;
};

/* (own frame of the parent, next frame) as one number: there are less than 2^32 of either. */
static uint64_t branch_key(const struct branch *b)
{
	const struct stack *parent = &b->t->stacks.v[b->parent];
	return (parent->own + (b->depth - parent->shared)) << 32 | b->next;
}

/* From which depth on two lists of frames differ. */
static uint32_t common_depth(const uint32_t *a, const uint32_t *b, uint32_t from, uint32_t to)
{
	while (from < to && a[from] == b[from])
		from++;
	return from;
}

/* Goes back to the ancestor of the stack before that owns the last of the first `depth` frames. */
static uint32_t back_to(struct stack_table *t, uint32_t depth)
{
	uint32_t id = t->path.v[t->path.n - 1];
	while (t->path.n > 1 && t->stacks.v[id].shared >= depth)
		id = t->path.v[--t->path.n - 1];
	return id;
}

/* How many of these frames the walk shares with stack id; `depth` of them are known. */
static uint32_t depth_shared(const struct stack_table *t, uint32_t id, const uint32_t *frames,
			     uint32_t n, uint32_t depth)
{
	const struct stack *s = &t->stacks.v[id];
	const uint32_t *own = t->own.v + s->own;
	uint32_t end = s->depth < n ? s->depth : n;
	return depth < end ? s->shared + common_depth(own, frames + s->shared, depth - s->shared,
						      end - s->shared)
			   : depth;
}

static void stack_add(struct stack_table *t, const struct branch *b, const uint32_t *frames,
		      uint32_t n)
{
	assert(t->own.n + n < UINT32_MAX);
	struct stack s = { .parent = b->parent, .shared = b->depth, .depth = n, .own = t->own.n };
	if (n > b->depth)
		vec_append(&t->own, frames + b->depth, n - b->depth);
	vec_push(&t->stacks, s);
}

/* Walks from parent to child as far as the frames are there. */
static uint32_t stack_walk(struct stack_table *t, const uint32_t *frames, uint32_t n,
			   uint32_t depth)
{
	struct branch b = { .t = t, .parent = back_to(t, depth), .depth = depth };
	for (;;) {
		b.depth = depth_shared(t, b.parent, frames, n, b.depth);
		if (b.depth == n && t->stacks.v[b.parent].depth == n)
			return b.parent;
		b.next = b.depth < n ? frames[b.depth] : STACK_END;
		uint32_t fresh = t->stacks.n;
		uint32_t id = map_intern(&t->branches, branch_key(&b), fresh, NULL, NULL);
		vec_push(&t->path, id);
		if (id == fresh) {
			stack_add(t, &b, frames, n);
			return id;
		}
		b.parent = id;
	}
}

uint32_t stack_intern(struct stack_table *t, const uint32_t *frames, uint32_t n)
{
	assert(n <= STACK_MAX_DEPTH);
	uint32_t shorter = n < t->last.n ? n : t->last.n;
	uint32_t depth = common_depth(frames, t->last.v, 0, shorter);
	uint32_t id = stack_walk(t, frames, n, depth);
	t->last.n = depth;
	if (n > depth)
		vec_append(&t->last, frames + depth, n - depth);
	return id;
}

void stack_frames(const struct stack_table *t, uint32_t id, uint32_t *out)
{
	uint32_t n = t->stacks.v[id].depth;
	while (n) {
		const struct stack *s = &t->stacks.v[id];
		if (n > s->shared) {
			memcpy(out + s->shared, &t->own.v[s->own], (n - s->shared) * sizeof *out);
			n = s->shared;
		}
		id = s->parent;
	}
}

uint32_t stack_leaf(const struct stack_table *t, uint32_t id)
{
	const struct stack *s = &t->stacks.v[id];
	uint32_t n = s->depth;
	if (n == 0)
		return UINT32_MAX;
	if (n == s->shared)
		s = &t->stacks.v[s->parent];
	return t->own.v[s->own + n - s->shared - 1];
}
