#include "profile/stack.h"

#include <assert.h>
#include <string.h>

void stack_table_init(struct stack_table *t)
{
	*t = (struct stack_table){ 0 };
	vec_push(&t->stacks, (struct stack){ 0 });
	map_put(&t->ends, hash_bytes(NULL, 0), 0);
}

void stack_table_done(struct stack_table *t)
{
	vec_done(&t->stacks);
	vec_done(&t->own);
	vec_done(&t->prefix_hashes);
	map_done(&t->prefixes);
	map_done(&t->ends);
}

/* Frames of which a stack is looked for: one that is equal, or one that owns the last frame of this
 * prefix. */
struct stack_key {
	const struct stack_table *t;
	const uint32_t *frames;
	uint32_t n;
};

/* Whether the first n frames of stack id are these; it has that many. Every hop up compares at
 * least one frame. */
static bool stack_starts_with(const struct stack_key *key, uint32_t id, uint32_t n)
{
	while (n) {
		const struct stack *s = &key->t->stacks.v[id];
		if (n > s->shared) {
			const uint32_t *own = &key->t->own.v[s->own];
			if (memcmp(own, key->frames + s->shared, (n - s->shared) * sizeof *own))
				return false;
			n = s->shared;
		}
		id = s->parent;
	}
	return true;
}

static bool stack_is(const void *ctx, uint32_t id)
{
	const struct stack_key *key = ctx;
	return key->t->stacks.v[id].depth == key->n && stack_starts_with(key, id, key->n);
}

static bool stack_owns_prefix(const void *ctx, uint32_t id)
{
	const struct stack_key *key = ctx;
	const struct stack *s = &key->t->stacks.v[id];
	return s->shared < key->n && key->n <= s->depth && stack_starts_with(key, id, key->n);
}

/* prefix_hashes.v[n] is the hash of the first n frames. */
static void hash_prefixes(struct stack_table *t, const uint32_t *frames, uint32_t n)
{
	vec_reserve(&t->prefix_hashes, (size_t)n + 1);
	uint64_t hash = 0;
	for (uint32_t i = 0; i < n; i++) {
		t->prefix_hashes.v[i] = hash;
		hash = hash_mix(hash, frames[i]);
	}
	t->prefix_hashes.v[n] = hash;
}

/* The longest of the first n prefixes whose hash is known. Every prefix of a known prefix is known,
 * so halving finds it. */
static uint32_t longest_known_hash(const struct stack_table *t, uint32_t n)
{
	uint32_t known = 0, unknown = n + 1;
	while (unknown - known > 1) {
		uint32_t middle = known + (unknown - known) / 2;
		if (map_get(&t->prefixes, t->prefix_hashes.v[middle]))
			known = middle;
		else
			unknown = middle;
	}
	return known;
}

/* Sets parent and shared to the longest prefix that is there. A known hash may belong to other
 * frames: then the next shorter prefix is tried, and none is missed. */
static void find_parent(const struct stack_table *t, const uint32_t *frames, struct stack *s)
{
	struct stack_key key = { t, frames, longest_known_hash(t, s->depth) };
	s->parent = 0;
	while (key.n && !map_lookup(&t->prefixes, t->prefix_hashes.v[key.n], stack_owns_prefix,
				    &key, &s->parent))
		key.n--;
	s->shared = key.n;
}

/* Under a hash that is known already the new stack stands beside the others. */
static bool never_same(const void *ctx, uint32_t id)
{
	(void)ctx;
	(void)id;
	return false;
}

static void stack_add(struct stack_table *t, const uint32_t *frames, uint32_t n)
{
	struct stack s = { .depth = n, .own = t->own.n };
	hash_prefixes(t, frames, n);
	find_parent(t, frames, &s);
	for (uint32_t i = s.shared + 1u; i <= n; i++)
		map_intern(&t->prefixes, t->prefix_hashes.v[i], t->stacks.n, never_same, NULL);
	vec_append(&t->own, frames + s.shared, n - s.shared);
	vec_push(&t->stacks, s);
}

uint32_t stack_intern(struct stack_table *t, const uint32_t *frames, uint32_t n)
{
	assert(n <= STACK_MAX_DEPTH);
	struct stack_key key = { t, frames, n };
	uint32_t fresh = t->stacks.n;
	uint32_t id =
		map_intern(&t->ends, hash_bytes(frames, n * sizeof *frames), fresh, stack_is, &key);
	if (id == fresh)
		stack_add(t, frames, n);
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
