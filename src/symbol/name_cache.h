/* symbol/name_cache.h: names that are made when they are first asked for: read from the file, demangled, kept.
 *
 * A profile touches a few hundred of the hundred thousand symbols of a large library, so this is what makes reading a symbol
 * table cheap. The cache holds at most NAME_CACHE_MAX_BYTES of text: past that names stay as they are in the file. */
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

/* What was added under key, or NULL. Valid until the next add. */
const struct cached_name *name_cache_get(const struct name_cache *c, uint64_t key);

/* A copy of text that lives as long as the cache, or NULL when the cache is full. */
const char *name_cache_copy(struct name_cache *c, const char *text, size_t len);

/* Adds names that are ready: both must live as long as the cache. */
void name_cache_put(struct name_cache *c, uint64_t key, struct cached_name names);

/* The names of one symbol, made now, for whoever keeps them himself: linkage must live as long as the cache, suffix ("" or "@plt")
 * goes behind both. */
struct cached_name name_cache_make(struct name_cache *c, const char *linkage, const char *suffix);
/* The same, and adds them. */
struct cached_name name_cache_add(struct name_cache *c, uint64_t key, const char *linkage,
				  const char *suffix);

#endif
