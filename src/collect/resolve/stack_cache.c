/* Two generations of stacks; the older one is dropped when the younger one is full. */
#include "collect/resolve/stack_cache.h"

#include <string.h>

static void contents_done(struct stack_contents *g)
{
	arena_done(&g->arena);
	map_done(&g->index);
	vec_done(&g->all);
	*g = (struct stack_contents){ 0 };
}

void stack_cache_done(struct stack_cache *c)
{
	contents_done(&c->young);
	contents_done(&c->old);
	map_done(&c->resolved_index);
	vec_done(&c->resolved);
}

static struct event_stack *contents_get(const struct stack_contents *g, uint64_t hash)
{
	const uint32_t *i = map_get(&g->index, hash);

	return i ? g->all.v[*i] : NULL;
}

static void contents_put(struct stack_contents *g, const struct event_stack *st)
{
	struct event_stack *old = contents_get(g, st->stack_hash);
	size_t size = event_stack_bytes(st);

	if (old && event_stack_bytes(old) == size) {
		memcpy(old, st, size);
		return;
	}
	map_put(&g->index, st->stack_hash, g->all.n);
	vec_push(&g->all, arena_dup(&g->arena, st, size));
}

static size_t generation_bytes(const struct stack_contents *g)
{
	return g->arena.total + g->index.cap * sizeof *g->index.slots +
	       g->all.cap * sizeof *g->all.v;
}

bool stack_cache_put(struct stack_cache *c, const struct event_stack *st)
{
	size_t max_bytes = c->max_bytes ? c->max_bytes : STACK_CACHE_MAX_BYTES;
	bool full = generation_bytes(&c->young) >= max_bytes / 2;

	if (full) {
		contents_done(&c->old);
		c->old = c->young;
		c->young = (struct stack_contents){ 0 };
	}
	contents_put(&c->young, st);
	return full;
}

const struct event_stack *stack_cache_get(const struct stack_cache *c, uint64_t hash)
{
	const struct event_stack *st = contents_get(&c->young, hash);

	return st ? st : contents_get(&c->old, hash);
}

const struct resolved_stack *stack_cache_resolved(const struct stack_cache *c, uint64_t image_id,
						  uint64_t hash)
{
	const uint32_t *i = map_get(&c->resolved_index, hash_mix(image_id, hash));

	return i ? &c->resolved.v[*i] : NULL;
}

void stack_cache_forget(struct stack_cache *c)
{
	map_done(&c->resolved_index);
	vec_done(&c->resolved);
}

void stack_cache_keep(struct stack_cache *c, uint64_t image_id, uint64_t hash,
		      const struct resolved_stack *r)
{
	if (c->resolved.n >= STACK_CACHE_MAX_RESOLVED) {
		map_clear(&c->resolved_index);
		vec_clear(&c->resolved);
	}
	map_put(&c->resolved_index, hash_mix(image_id, hash), c->resolved.n);
	vec_push(&c->resolved, *r);
}
