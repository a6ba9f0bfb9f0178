/* The map uses linear probing, and grows at 70 % load. */
#include "base/hash.h"

#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL /* most inputs are so short that a call would cost as much as the hash */
#include <xxhash.h>

enum { MAP_FIRST_SLOTS = 16 };
#define MAP_MAX_SLOTS (1u << 31)

/* The finalizer of MurmurHash3: a bijection, every input bit reaches every output bit. */
static uint64_t mix64(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

uint64_t hash_bytes(const void *data, size_t len)
{
	return XXH3_64bits(data, len);
}

/* For a fixed a no two b collide, and vice versa. */
uint64_t hash_mix(uint64_t a, uint64_t b)
{
	return mix64(mix64(a + 0x9e3779b97f4a7c15ull) ^ b);
}

static uint32_t map_home(const struct map *m, uint64_t key)
{
	return mix64(key) & (m->cap - 1);
}

static uint32_t map_next(const struct map *m, uint32_t i)
{
	return (i + 1) & (m->cap - 1);
}

/* Returns the slot of key, or the free slot for it; the map has free slots. */
static struct map_slot *map_find(const struct map *m, uint64_t key)
{
	uint32_t i = map_home(m, key);
	while (m->slots[i].used && m->slots[i].key != key)
		i = map_next(m, i);
	return &m->slots[i];
}

static struct map_slot *map_find_free(const struct map *m, uint64_t key)
{
	uint32_t i = map_home(m, key);
	while (m->slots[i].used)
		i = map_next(m, i);
	return &m->slots[i];
}

/* Whether n entries keep the load factor at 70 % or less. */
static bool map_has_room(uint64_t cap, uint64_t n)
{
	return n * 10 <= cap * 7;
}

/* Values with the same key may change their order. */
void map_reserve(struct map *m, uint32_t more)
{
	uint64_t want = (uint64_t)m->n + more, cap = m->cap ? m->cap : MAP_FIRST_SLOTS;
	while (!map_has_room(cap, want))
		cap *= 2;
	if (cap == m->cap)
		return;
	assert(cap <= MAP_MAX_SLOTS);
	struct map old = *m;
	m->cap = cap;
	/* Not calloc: new pages that are read before they are written fault twice. */
	m->slots = xreallocarray(NULL, cap, sizeof *m->slots);
	memset(m->slots, 0, cap * sizeof *m->slots);
	map_each (&old, s)
		*map_find_free(m, s->key) = *s;
	free(old.slots);
}

static void map_grow(struct map *m)
{
	if (!map_has_room(m->cap, (uint64_t)m->n + 1))
		map_reserve(m, 1);
}

static void map_fill(struct map *m, struct map_slot *s, uint64_t key, uint32_t value)
{
	*s = (struct map_slot){ .key = key, .value = value, .used = 1 };
	m->n++;
}

uint32_t *map_get(const struct map *m, uint64_t key)
{
	if (m->n == 0)
		return NULL;
	struct map_slot *s = map_find(m, key);
	return s->used ? &s->value : NULL;
}

void map_prefetch(const struct map *m, uint64_t key)
{
	if (m->n)
		__builtin_prefetch(&m->slots[map_home(m, key)]);
}

void map_put(struct map *m, uint64_t key, uint32_t value)
{
	map_grow(m);
	struct map_slot *s = map_find(m, key);
	if (s->used)
		s->value = value;
	else
		map_fill(m, s, key, value);
}

/* Backward-shift deletion: later entries of the run that may be at the hole move there, so no
 * search meets a gap. */
bool map_del(struct map *m, uint64_t key)
{
	if (m->n == 0)
		return false;
	struct map_slot *s = map_find(m, key);
	if (!s->used)
		return false;
	uint32_t mask = m->cap - 1, hole = s - m->slots;
	for (uint32_t i = map_next(m, hole); m->slots[i].used; i = map_next(m, i)) {
		uint32_t home = map_home(m, m->slots[i].key);
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		m->slots[hole] = m->slots[i];
		hole = i;
	}
	m->slots[hole].used = 0;
	m->n--;
	return true;
}

uint32_t map_intern(struct map *m, uint64_t key, uint32_t fresh,
		    bool (*same)(const void *ctx, uint32_t value), const void *ctx)
{
	map_grow(m);
	uint32_t i = map_home(m, key);
	for (; m->slots[i].used; i = map_next(m, i))
		if (m->slots[i].key == key && (!same || same(ctx, m->slots[i].value)))
			return m->slots[i].value;
	map_fill(m, &m->slots[i], key, fresh);
	return fresh;
}

bool map_lookup(const struct map *m, uint64_t key, bool (*same)(const void *ctx, uint32_t value),
		const void *ctx, uint32_t *value)
{
	if (m->n == 0)
		return false;
	for (uint32_t i = map_home(m, key); m->slots[i].used; i = map_next(m, i))
		if (m->slots[i].key == key && same(ctx, m->slots[i].value)) {
			*value = m->slots[i].value;
			return true;
		}
	return false;
}

void map_clear(struct map *m)
{
	if (m->slots)
		memset(m->slots, 0, m->cap * sizeof *m->slots);
	m->n = 0;
}

void map_done(struct map *m)
{
	free(m->slots);
	*m = (struct map){ 0 };
}

/* --- indexes of ids --------------------------------------------------------------------------- */

static uint32_t id_tag(uint64_t hash)
{
	return (uint32_t)(hash ^ hash >> 32);
}

static uint32_t id_next(const struct id_index *x, uint32_t i)
{
	return (i + 1) & (x->cap - 1);
}

static void id_fill(struct id_index *x, struct id_slot slot)
{
	uint32_t i = slot.tag & (x->cap - 1);
	while (x->slots[i].id1)
		i = id_next(x, i);
	x->slots[i] = slot;
}

static void id_grow(struct id_index *x)
{
	struct id_index old = *x;
	if (map_has_room(x->cap, (uint64_t)x->n + 1))
		return;
	assert(x->cap < MAP_MAX_SLOTS);
	x->cap = x->cap ? 2 * x->cap : MAP_FIRST_SLOTS;
	x->slots = xreallocarray(NULL, x->cap, sizeof *x->slots);
	memset(x->slots, 0, x->cap * sizeof *x->slots); /* as in map_reserve */
	for (uint32_t i = 0; i < old.cap; i++)
		if (old.slots[i].id1)
			id_fill(x, old.slots[i]);
	free(old.slots);
}

uint32_t id_intern(struct id_index *x, uint64_t hash, uint32_t fresh,
		   bool (*same)(const void *ctx, uint32_t id), const void *ctx)
{
	id_grow(x);
	uint32_t tag = id_tag(hash), i = tag & (x->cap - 1);
	for (; x->slots[i].id1; i = id_next(x, i))
		if (x->slots[i].tag == tag && same(ctx, x->slots[i].id1 - 1))
			return x->slots[i].id1 - 1;
	assert(fresh < UINT32_MAX);
	x->slots[i] = (struct id_slot){ tag, fresh + 1 };
	x->n++;
	return fresh;
}

bool id_lookup(const struct id_index *x, uint64_t hash, bool (*same)(const void *ctx, uint32_t id),
	       const void *ctx, uint32_t *id)
{
	uint32_t tag = id_tag(hash), i = x->n ? tag & (x->cap - 1) : 0;
	for (; x->n && x->slots[i].id1; i = id_next(x, i))
		if (x->slots[i].tag == tag && same(ctx, x->slots[i].id1 - 1)) {
			*id = x->slots[i].id1 - 1;
			return true;
		}
	return false;
}

static bool id_any(const void *ctx, uint32_t id)
{
	(void)ctx, (void)id;
	return true;
}

bool id_likely(const struct id_index *x, uint64_t hash, uint32_t *id)
{
	return id_lookup(x, hash, id_any, NULL, id);
}

void id_prefetch(const struct id_index *x, uint64_t hash)
{
	if (x->n)
		__builtin_prefetch(&x->slots[id_tag(hash) & (x->cap - 1)]);
}

void id_index_done(struct id_index *x)
{
	free(x->slots);
	*x = (struct id_index){ 0 };
}
