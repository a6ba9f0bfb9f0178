/* base/hash.h: hashing (xxHash, SHA-256) and a hash map: u64 key → u32 value.
 *
 * The map uses open addressing with linear probing; it mixes the 64-bit key again. Interning
 * tables use the hash of the content as key and compare the content in a callback; pid and id
 * tables use the id itself. */
#ifndef CRESSET_BASE_HASH_H
#define CRESSET_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* XXH3-64. */
uint64_t hash_bytes(const void *data, size_t len);

/* Order matters; for a fixed a no two b give the same result, and vice versa. */
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

/* Plain map: one value per key. map_get returns NULL when absent; its pointer is valid until the
 * next change. */
uint32_t *map_get(const struct map *m, uint64_t key);
void map_put(struct map *m, uint64_t key, uint32_t value);

/* Makes space for `more` further entries. */
void map_reserve(struct map *m, uint32_t more);

/* Prefetches the slot of key, so that the cache misses of several lookups overlap. */
void map_prefetch(const struct map *m, uint64_t key);

/* Returns false if there was no such key. */
bool map_del(struct map *m, uint64_t key);

/* Interning map: several values may share a key; same(ctx, value) decides. Returns the stored value
 * for which same() is true, else stores and returns `fresh` (the id of the caller's new entry).
 * same may be NULL if the key alone identifies the entry. */
uint32_t map_intern(struct map *m, uint64_t key, uint32_t fresh,
		    bool (*same)(const void *ctx, uint32_t value), const void *ctx);

/* Does the same without storing: returns false, with *value untouched, if none exists. */
bool map_lookup(const struct map *m, uint64_t key, bool (*same)(const void *ctx, uint32_t value),
		const void *ctx, uint32_t *value);

static inline uint64_t map_size_bytes(const struct map *m)
{
	return m->cap * sizeof *m->slots;
}

/* map_clear retains the memory. */
void map_clear(struct map *m);
void map_done(struct map *m);

/* Iterates over the used slots in no particular order: map_each(&m, s) use(s->key, s->value); the
 * map must not change in the meantime. */
#define map_each(m, s) \
	for (struct map_slot *s = (m)->slots; s && s < (m)->slots + (m)->cap; s++) \
		if (s->used)

/* An interning map for tables that can compare their entries: it stores 32 bits of each hash, half
 * the memory of a struct map. Ids are below UINT32_MAX. A zeroed index is empty and valid. */
struct id_slot {
	uint32_t tag, id1; /* the id + 1; 0: free */
};
struct id_index {
	struct id_slot *slots;
	uint32_t n, cap;
};

/* As map_intern and map_lookup, with a hash of the entry; same is called for entries that may be
 * equal. */
uint32_t id_intern(struct id_index *x, uint64_t hash, uint32_t fresh,
		   bool (*same)(const void *ctx, uint32_t id), const void *ctx);
bool id_lookup(const struct id_index *x, uint64_t hash, bool (*same)(const void *ctx, uint32_t id),
	       const void *ctx, uint32_t *id);

/* Prefetches the slot of hash; returns whether an entry is likely to be equal, for the caller to
 * prefetch it. */
void id_prefetch(const struct id_index *x, uint64_t hash);
bool id_likely(const struct id_index *x, uint64_t hash, uint32_t *id);

static inline uint64_t id_index_bytes(const struct id_index *x)
{
	return (uint64_t)x->cap * sizeof *x->slots;
}

void id_index_done(struct id_index *x);

/* SHA-256 (FIPS 180-4): of a whole input, or of one in pieces: sha256_init, any number of
 * sha256_add, sha256_end. Plain C, for programs and pages, not for gigabytes. */
enum { SHA256_BYTES = 32, SHA256_BLOCK = 64 };

void sha256(const void *data, size_t len, uint8_t out[SHA256_BYTES]);

struct sha256 {
	uint32_t state[8];
	uint64_t len; /* so far; its rest is in block */
	uint8_t block[SHA256_BLOCK];
};
void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len); /* data may be NULL if len is 0 */
void sha256_end(struct sha256 *s, uint8_t out[SHA256_BYTES]);

#endif
