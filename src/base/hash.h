/* base/hash.h: hashing (xxHash) and one hash map: u64 key → u32 value.
 *
 * The map is open addressing with linear probing on a 64-bit key that is mixed again inside. Interning tables use the hash of
 * the content as key and compare the content by a callback; pid and id tables use the id itself. */
#ifndef CRESSET_BASE_HASH_H
#define CRESSET_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* XXH3-64. */
uint64_t hash_bytes(const void *data, size_t len);

/* Order matters; for one a no two b give the same, and the other way round. */
uint64_t hash_mix(uint64_t a, uint64_t b);

struct map_slot {
	uint64_t key;
	uint32_t value;
	uint32_t used; /* 0 free, 1 used */
};
/* A zeroed map is empty and valid. */
struct map {
	struct map_slot *slots;
	uint32_t n, cap;
};

/* Plain map: one value per key. map_get returns NULL when absent; its pointer is valid until the next change. */
uint32_t *map_get(const struct map *m, uint64_t key);
void map_put(struct map *m, uint64_t key, uint32_t value);

/* So many more can be added before the map has to grow. */
void map_reserve(struct map *m, uint32_t more);

/* Asks for the memory where key is looked up: many look-ups can so wait for it together. */
void map_prefetch(const struct map *m, uint64_t key);

/* False when there was no such key. */
bool map_del(struct map *m, uint64_t key);

/* Interning map: several values may share a key; same(ctx, value) decides. Returns the stored value for which same() is
 * true, else stores and returns `fresh` (the id the caller will give to the new entry). same may be NULL where the key says
 * all. */
uint32_t map_intern(struct map *m, uint64_t key, uint32_t fresh,
		    bool (*same)(const void *ctx, uint32_t value), const void *ctx);

/* The same without storing: false when there is none, *value is then untouched. */
bool map_lookup(const struct map *m, uint64_t key, bool (*same)(const void *ctx, uint32_t value),
		const void *ctx, uint32_t *value);

static inline uint64_t map_size_bytes(const struct map *m)
{
	return m->cap * sizeof *m->slots;
}

/* map_clear keeps the memory. */
void map_clear(struct map *m);
void map_done(struct map *m);

/* Runs over the used slots in no order: map_each(&m, s) use(s->key, s->value); the map must not change meanwhile. */
#define map_each(m, s) \
	for (struct map_slot *s = (m)->slots; s && s < (m)->slots + (m)->cap; s++) \
		if (s->used)

#endif
