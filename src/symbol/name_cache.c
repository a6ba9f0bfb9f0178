/* A table of made names by offset. */
#include "symbol/name_cache.h"

#include "base/buf.h"
#include "symbol/symbol.h"

#include <string.h>

void name_cache_done(struct name_cache *c)
{
	arena_done(&c->text);
	map_done(&c->index);
	vec_done(&c->names);
}

const struct cached_name *name_cache_get(const struct name_cache *c, uint64_t key)
{
	const uint32_t *i = map_get(&c->index, key);
	return i ? &c->names.v[*i] : NULL;
}

const char *name_cache_copy(struct name_cache *c, const char *text, size_t len)
{
	if (len > NAME_CACHE_MAX_BYTES || c->text.total > NAME_CACHE_MAX_BYTES - len)
		return NULL;
	return arena_dup(&c->text, text, len);
}

/* Returns text + suffix in the cache; text itself if suffix is empty or the cache is full. */
static const char *name_cache_join(struct name_cache *c, const char *text, const char *suffix)
{
	if (!*suffix)
		return text;
	struct buf both = { 0 };
	buf_adds(&both, text);
	buf_adds(&both, suffix);
	const char *copy = name_cache_copy(c, both.data, both.len);
	buf_done(&both);
	return copy ? copy : text;
}

void name_cache_put(struct name_cache *c, uint64_t key, struct cached_name names)
{
	map_put(&c->index, key, c->names.n);
	vec_push(&c->names, names);
}

struct cached_name name_cache_make(struct name_cache *c, const char *linkage, const char *suffix)
{
	char *demangled = symbol_demangle(linkage);
	struct cached_name made = { .linkage = name_cache_join(c, linkage, suffix) };
	made.name = made.linkage;
	if (demangled) {
		const char *copy = name_cache_copy(c, demangled, strlen(demangled));
		made.name = copy ? name_cache_join(c, copy, suffix) : made.linkage;
		free(demangled);
	}
	return made;
}

struct cached_name name_cache_add(struct name_cache *c, uint64_t key, const char *linkage,
				  const char *suffix)
{
	struct cached_name made = name_cache_make(c, linkage, suffix);
	name_cache_put(c, key, made);
	return made;
}
