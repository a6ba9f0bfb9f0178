/* A hash table over one array of bytes. */
#include "profile/strtab.h"

#include <string.h>

/* The string being looked up. */
struct strtab_key {
	const struct strtab *t;
	const char *s;
	size_t len;
};

static bool strtab_same(const void *ctx, uint32_t id)
{
	const struct strtab_key *key = ctx;
	const struct strtab_entry *e = &key->t->all.v[id];
	return e->len == key->len && memcmp(e->s, key->s, key->len) == 0;
}

void strtab_init(struct strtab *t)
{
	*t = (struct strtab){ 0 };
	strtab_putn(t, "", 0);
}

void strtab_done(struct strtab *t)
{
	arena_done(&t->arena);
	id_index_done(&t->index);
	vec_done(&t->all);
}

uint32_t strtab_putn(struct strtab *t, const char *s, size_t len)
{
	struct strtab_key key = { t, len ? s : "", len < STRTAB_MAX_LEN ? len : STRTAB_MAX_LEN };
	uint32_t fresh = t->all.n;
	uint32_t id = id_intern(&t->index, hash_bytes(key.s, key.len), fresh, strtab_same, &key);
	if (id == fresh) {
		const char *copy = arena_dup(&t->arena, key.s, key.len);
		vec_push(&t->all, (struct strtab_entry){ copy, key.len });
	}
	return id;
}

uint32_t strtab_put(struct strtab *t, const char *s)
{
	return s ? strtab_putn(t, s, strlen(s)) : 0;
}

uint32_t strtab_findn(const struct strtab *t, const char *s, size_t len)
{
	struct strtab_key key = { t, len ? s : "", len < STRTAB_MAX_LEN ? len : STRTAB_MAX_LEN };
	uint32_t id = UINT32_MAX;
	id_lookup(&t->index, hash_bytes(key.s, key.len), strtab_same, &key, &id);
	return id;
}

uint32_t strtab_find(const struct strtab *t, const char *s)
{
	return strtab_findn(t, s, strlen(s));
}
