/* symbol/name_cache.h: caches names that are made on first use: read from the file and demangled.
 *
 * A profile uses a few hundred of the hundred thousand symbols of a large library, so this makes
 * reading a symbol table cheap. The cache holds at most NAME_CACHE_MAX_BYTES of text; beyond that,
 * names are not demangled. */
#ifndef CRESSET_SYMBOL_NAME_CACHE_H
#define CRESSET_SYMBOL_NAME_CACHE_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"

#include <stdint.h>

enum { NAME_CACHE_MAX_BYTES = 64 << 20 };

struct cached_name {
	const char *name, *linkage; /* as in struct symbol; valid until name_cache_done */
};

struct name_cache { /* zeroed = empty */
	struct arena text;
	struct map index;
	VEC(struct cached_name) names;
};

void name_cache_done(struct name_cache *c);

/* Returns the names added under key, or NULL. Valid until the next add. */
const struct cached_name *name_cache_get(const struct name_cache *c, uint64_t key);

/* Returns a copy of text that lives as long as the cache, or NULL if the cache is full. */
const char *name_cache_copy(struct name_cache *c, const char *text, size_t len);

/* Adds finished names; both must live as long as the cache. */
void name_cache_put(struct name_cache *c, uint64_t key, struct cached_name names);

/* Makes the names of one symbol, for callers that store them. linkage must live as long as the
 * cache; suffix ("" or "@plt") is appended to both. */
struct cached_name name_cache_make(struct name_cache *c, const char *linkage, const char *suffix);
/* Does the same and adds them. */
struct cached_name name_cache_add(struct name_cache *c, uint64_t key, const char *linkage,
				  const char *suffix);

#endif
