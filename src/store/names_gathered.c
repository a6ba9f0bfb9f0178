#include "store/names_gathered.h"

void names_gathered_init(struct names_gathered *g)
{
	*g = (struct names_gathered){ .generation = 1 };
	pthread_mutex_init(&g->lock, NULL);
	strtab_init(&g->keys);
	strtab_init(&g->strings);
	vec_push(&g->days, 0); /* of no mapping */
}

static void free_tables(struct names_gathered *g)
{
	strtab_done(&g->keys);
	vec_done(&g->days);
	strtab_done(&g->strings);
	names_done(&g->names);
	vec_done(&g->entries);
	map_done(&g->index);
}

void names_gathered_done(struct names_gathered *g)
{
	free_tables(g);
	pthread_mutex_destroy(&g->lock);
}

void names_gathered_clear(struct names_gathered *g)
{
	free_tables(g);
	g->names = (struct names){ 0 };
	strtab_init(&g->keys);
	strtab_init(&g->strings);
	vec_push(&g->days, 0);
}

bool names_gathered_is_empty(const struct names_gathered *g)
{
	return g->days.n == 1;
}

static uint64_t strtab_bytes(const struct strtab *t)
{
	return t->arena.total + vec_size_bytes(&t->all) + map_size_bytes(&t->index);
}

uint64_t names_gathered_bytes(const struct names_gathered *g)
{
	const struct names *n = &g->names;

	return strtab_bytes(&g->keys) + strtab_bytes(&g->strings) + vec_size_bytes(&g->days) +
	       vec_size_bytes(&n->functions) + vec_size_bytes(&n->lines) +
	       vec_size_bytes(&n->by_frame) + map_size_bytes(&n->function_index) +
	       vec_size_bytes(&g->entries) + map_size_bytes(&g->index);
}

uint32_t names_gathered_use(struct names_gathered *g, const void *key, size_t len, int32_t day)
{
	uint32_t mapping = strtab_putn(&g->keys, key, len);

	if (mapping == g->days.n)
		vec_push(&g->days, day);
	if (g->days.v[mapping] < day)
		g->days.v[mapping] = day;
	return mapping;
}

uint32_t names_gathered_mapping(const struct names_gathered *g, const void *key, size_t len)
{
	uint32_t mapping = strtab_findn(&g->keys, key, len);

	return mapping == UINT32_MAX ? 0 : mapping;
}

/* --- names ------------------------------------------------------------------------------------ */

struct entry_key {
	const struct names_gathered *g;
	struct gathered_entry e;
};

static bool entry_same(const void *ctx, uint32_t id)
{
	const struct entry_key *key = ctx;
	const struct gathered_entry *e = &key->g->entries.v[id];

	return e->mapping == key->e.mapping && e->offset == key->e.offset;
}

struct names_lines names_gathered_lines(const struct names_gathered *g, uint32_t entry)
{
	struct names_lines l = { .strings = &g->strings, .names = &g->names };

	l.n = names_get(&g->names, entry, &l.lines);
	return l;
}

void names_gathered_put(struct names_gathered *g, uint32_t mapping, uint64_t offset,
			const struct names_lines *lines, struct names_copy *copy)
{
	struct entry_key key = { g, { mapping, offset } };
	uint32_t fresh = g->entries.n;
	uint32_t entry = map_intern(&g->index, hash_mix(mapping, offset), fresh, entry_same, &key);
	struct line there[NAMES_MAX_INLINE];

	if (entry == fresh)
		vec_push(&g->entries, key.e);
	struct names_lines old = names_gathered_lines(g, entry);
	if (names_lines_less(lines, &old))
		return;
	names_copy_lines(copy, lines, there);
	names_set(&g->names, entry, there, lines->n);
	g->generation++;
}

bool names_gathered_find(const struct names_gathered *g, uint32_t mapping, uint64_t offset,
			 struct names_lines *out)
{
	struct entry_key key = { g, { mapping, offset } };
	uint32_t entry;

	if (!map_lookup(&g->index, hash_mix(mapping, offset), entry_same, &key, &entry))
		return false;
	*out = names_gathered_lines(g, entry);
	return true;
}
