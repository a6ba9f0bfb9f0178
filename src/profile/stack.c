/* Interns stacks as parent, number of shared frames and new frames. */
#include "profile/stack.h"

#include <assert.h>
#include <string.h>

/* Stands for the frame after the end of a stack that ends inside another one. */
enum { STACK_END = UINT32_MAX };

void stack_table_init(struct stack_table *t)
{
	*t = (struct stack_table){ 0 };
	vec_push(&t->stacks, (struct stack){ 0 });
	t->indexed = 1;
	vec_reserve(&t->own, 1); /* so that the empty stack's own frames have an address */
}

void stack_table_done(struct stack_table *t)
{
	vec_done(&t->stacks);
	vec_done(&t->own);
	map_done(&t->branches);
}

/* The state of a walk down the tree with a list of frames: its first `depth` frames are those of
 * stack `at`, which owns the last of them. */
struct walk {
	const uint32_t *frames;
	uint32_t n, at, depth;
};

/* Advances while the stack's frames equal the list's. Returns true if the list is this stack. */
static bool walk_along(const struct stack_table *t, struct walk *w)
{
	const struct stack *s = &t->stacks.v[w->at];
	const uint32_t *own = t->own.v + s->own;
	uint32_t end = s->depth < w->n ? s->depth : w->n, depth = w->depth;
	while (depth < end && own[depth - s->shared] == w->frames[depth])
		depth++;
	w->depth = depth;
	return w->depth == w->n && s->depth == w->n;
}

/* Returns the next branch as one number: (own frame of the stack, frame after it). There are fewer
 * than 2^32 of either. */
static uint64_t walk_key(const struct stack_table *t, const struct walk *w)
{
	const struct stack *s = &t->stacks.v[w->at];
	uint64_t next = w->depth < w->n ? w->frames[w->depth] : STACK_END;
	return (s->own + (w->depth - s->shared)) << 32 | next;
}

/* Adds the list as a stack, with its own frames from where the walk ended. */
static void stack_add(struct stack_table *t, const struct walk *w)
{
	uint32_t n_own = w->n - w->depth;
	assert(t->own.n + n_own < UINT32_MAX);
	struct stack s = { .parent = w->at, .shared = w->depth, .depth = w->n, .own = t->own.n };
	vec_append(&t->own, w->frames + w->depth, n_own);
	vec_push(&t->stacks, s);
	t->indexed = t->stacks.n;
}

/* Walks as far as there are branches, and adds the stack if it is not there. */
static uint32_t walk_to_end(struct stack_table *t, struct walk *w)
{
	while (!walk_along(t, w)) {
		uint32_t fresh = t->stacks.n;
		uint32_t id = map_intern(&t->branches, walk_key(t, w), fresh, NULL, NULL);
		if (id == fresh) {
			stack_add(t, w);
			return id;
		}
		w->at = id;
	}
	return w->at;
}

/* Walks several lists down the current tree. Each step has three cache misses: the branch, the
 * stack, and its frames. Prefetching overlaps those of all lists. */
static void walk_together(const struct stack_table *t, struct walk *walks, uint32_t n)
{
	struct walk *moving[STACK_BATCH];
	uint64_t keys[STACK_BATCH];
	for (uint32_t i = 0; i < n; i++)
		moving[i] = &walks[i];
	while (n) {
		uint32_t left = 0;
		for (uint32_t i = 0; i < n; i++) {
			if (walk_along(t, moving[i]))
				continue;
			keys[left] = walk_key(t, moving[i]);
			map_prefetch(&t->branches, keys[left]);
			moving[left++] = moving[i];
		}
		n = 0;
		for (uint32_t i = 0; i < left; i++) {
			const uint32_t *id = map_get(&t->branches, keys[i]);
			if (!id)
				continue;
			moving[i]->at = *id;
			__builtin_prefetch(&t->stacks.v[*id]);
			moving[n++] = moving[i];
		}
		for (uint32_t i = 0; i < n; i++)
			__builtin_prefetch(&t->own.v[t->stacks.v[moving[i]->at].own]);
	}
}

/* A walk starts at the stack that owns the last known frame. */
static struct walk walk_begin(const struct stack_table *t, const struct stack_list *l)
{
	struct walk w = { .frames = l->frames, .n = l->n, .at = l->known_as, .depth = l->known };

	assert(l->n <= STACK_MAX_DEPTH && l->known <= l->n);
	while (w.at && t->stacks.v[w.at].shared >= w.depth)
		w.at = t->stacks.v[w.at].parent;
	return w;
}

uint32_t stack_intern(struct stack_table *t, const uint32_t *frames, uint32_t n)
{
	assert(n <= STACK_MAX_DEPTH);
	struct walk w = { .frames = frames, .n = n };
	stack_table_index(t);
	return walk_to_end(t, &w);
}

void stack_intern_all(struct stack_table *t, const struct stack_list *lists, uint32_t n,
		      uint32_t *ids)
{
	struct walk walks[STACK_BATCH];
	assert(n <= STACK_BATCH);
	for (uint32_t i = 0; i < n; i++)
		walks[i] = walk_begin(t, &lists[i]);
	stack_table_index(t);
	walk_together(t, walks, n);
	for (uint32_t i = 0; i < n; i++)
		ids[i] = walk_to_end(t, &walks[i]);
}

/* --- copies of another table ------------------------------------------------------------------ */

static bool may_follow(const struct stack_table *t, uint32_t parent, uint32_t shared,
		       const uint32_t *own, uint32_t n_own)
{
	if (parent >= t->stacks.n || t->own.n + n_own >= UINT32_MAX)
		return false;
	const struct stack *p = &t->stacks.v[parent];
	if (shared > p->depth || n_own > STACK_MAX_DEPTH - shared)
		return false;
	if (shared == 0 ? parent != 0 : p->shared >= shared)
		return false;
	if (shared == p->depth) /* without own frames it would equal its parent */
		return n_own > 0;
	return n_own == 0 || own[0] != t->own.v[p->own + shared - p->shared];
}

bool stack_append(struct stack_table *t, uint32_t parent, uint32_t shared, const uint32_t *own,
		  uint32_t n_own)
{
	if (!may_follow(t, parent, shared, own, n_own))
		return false;
	struct stack s = {
		.parent = parent, .shared = shared, .depth = shared + n_own, .own = t->own.n
	};
	vec_append(&t->own, own, n_own);
	vec_push(&t->stacks, s);
	return true;
}

/* Returns the branch at which a stack leaves its parent, as walk_key() does. */
static uint64_t branch_key(const struct stack_table *t, uint32_t id)
{
	const struct stack *s = &t->stacks.v[id], *p = &t->stacks.v[s->parent];
	uint64_t next = s->shared < s->depth ? t->own.v[s->own] : STACK_END;
	return (p->own + (s->shared - p->shared)) << 32 | next;
}

/* Indexes several at the same time, so that their cache misses overlap. */
static bool index_some(struct stack_table *t, uint32_t n)
{
	uint64_t keys[STACK_BATCH];
	bool all_differ = true;

	for (uint32_t i = 0; i < n; i++) {
		keys[i] = branch_key(t, t->indexed + i);
		map_prefetch(&t->branches, keys[i]);
	}
	for (uint32_t i = 0; i < n; i++, t->indexed++)
		all_differ &=
			map_intern(&t->branches, keys[i], t->indexed, NULL, NULL) == t->indexed;
	return all_differ;
}

bool stack_table_index(struct stack_table *t)
{
	bool all_differ = true;

	while (t->indexed < t->stacks.n) {
		uint32_t left = t->stacks.n - t->indexed;
		all_differ &= index_some(t, left < STACK_BATCH ? left : STACK_BATCH);
	}
	return all_differ;
}

void stack_frames_from(const struct stack_table *t, uint32_t id, uint32_t from, uint32_t *out)
{
	uint32_t n = t->stacks.v[id].depth;
	while (n > from) {
		const struct stack *s = &t->stacks.v[id];
		uint32_t first = s->shared > from ? s->shared : from;
		if (n > first) {
			memcpy(out + first, &t->own.v[s->own + (first - s->shared)],
			       (n - first) * sizeof *out);
			n = first;
		}
		id = s->parent;
	}
}

void stack_frames(const struct stack_table *t, uint32_t id, uint32_t *out)
{
	stack_frames_from(t, id, 0, out);
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
