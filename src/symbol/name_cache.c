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

/* clang moves what a function rarely runs to a place of its own, NAME.__part.N: that is no other
 * function. Returns the length of NAME. */
static size_t whole_length(const char *linkage)
{
	static const char mark[] = ".__part.";
	const char *part = strstr(linkage, mark);
	const char *number = part ? part + sizeof mark - 1 : "";
	size_t digits = strspn(number, "0123456789");
	bool is_part = digits && !number[digits] && part > linkage;
	return is_part ? (size_t)(part - linkage) : strlen(linkage);
}

struct cached_name name_cache_make(struct name_cache *c, const char *linkage, const char *suffix)
{
	size_t len = whole_length(linkage);
	const char *whole = linkage[len] ? name_cache_copy(c, linkage, len) : NULL;
	char *demangled = symbol_demangle(whole ? whole : linkage);
	struct cached_name made = { .linkage = name_cache_join(c, linkage, suffix) };
	made.name = whole ? name_cache_join(c, whole, suffix) : made.linkage;
	if (demangled) {
		const char *copy = name_cache_copy(c, demangled, strlen(demangled));
		made.name = copy ? name_cache_join(c, copy, suffix) : made.name;
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
