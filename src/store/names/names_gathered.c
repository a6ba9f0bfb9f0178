/* A log of new names in memory. */
#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "store/names/names_db_state.h"

void names_gathered_init(struct names_gathered *g)
{
	*g = (struct names_gathered){ .generation = 1 };
	pthread_mutex_init(&g->lock, NULL);
	strtab_init(&g->keys);
	strtab_init(&g->strings);
	vec_push(&g->days, 0); /* of mapping 0, none */
}

static void free_tables(struct names_gathered *g)
{
	strtab_done(&g->keys);
	vec_done(&g->days);
	strtab_done(&g->strings);
	names_done(&g->names);
	vec_done(&g->entries);
	map_done(&g->index);
	vec_done(&g->best);
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
	return t->arena.total + vec_size_bytes(&t->all) + id_index_bytes(&t->index);
}

uint64_t names_gathered_bytes(const struct names_gathered *g)
{
	const struct names *n = &g->names;

	return strtab_bytes(&g->keys) + strtab_bytes(&g->strings) + vec_size_bytes(&g->days) +
	       vec_size_bytes(&n->functions) + vec_size_bytes(&n->lines) +
	       map_size_bytes(&n->function_index) + vec_size_bytes(&g->entries) +
	       map_size_bytes(&g->index) + vec_size_bytes(&g->best);
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

struct names_lines names_gathered_lines(const struct names_gathered *g, uint32_t entry)
{
	struct line_run run = g->entries.v[entry].run;

	return (struct names_lines){ &g->strings, &g->names, g->names.lines.v + run.first, run.n };
}

void names_gathered_put(struct names_gathered *g, uint32_t mapping, uint64_t offset,
			const struct line *lines, uint32_t n)
{
	struct gathered_entry e = { offset, mapping, { g->names.lines.n, n } };

	vec_append(&g->names.lines, lines, n);
	vec_push(&g->entries, e);
	g->generation++;
}

/* 0 is "" in both. */
static uint32_t moved(uint32_t string, uint32_t by)
{
	return string ? string + by : 0;
}

uint32_t names_gathered_append(struct names_gathered *g, const struct strtab *strings,
			       const struct names *names)
{
	struct strtab *to = &g->strings;
	uint32_t by = to->all.n - 1, first = g->names.functions.n;

	vec_reserve(&to->all, to->all.n + strings->all.n);
	for (uint32_t i = 1; i < strings->all.n; i++) {
		struct strtab_entry e = strings->all.v[i];

		e.s = arena_dup(&to->arena, e.s, e.len);
		to->all.v[to->all.n++] = e;
	}
	vec_append(&g->names.functions, names->functions.v, names->functions.n);
	for (size_t i = first; i < g->names.functions.n; i++) {
		struct function *f = &g->names.functions.v[i];

		f->name = moved(f->name, by);
		f->linkage = moved(f->linkage, by);
		f->file = moved(f->file, by);
	}
	return first;
}

/* --- looking up ------------------------------------------------------------------------------- */

struct entry_key {
	const struct names_gathered *g;
	uint32_t mapping;
	uint64_t offset;
};

static bool entry_same(const void *ctx, uint32_t id)
{
	const struct entry_key *key = ctx;
	const struct gathered_entry *e = &key->g->entries.v[id];

	return e->mapping == key->mapping && e->offset == key->offset;
}

static void index_entry(struct names_gathered *g, uint32_t entry)
{
	const struct gathered_entry *e = &g->entries.v[entry];
	struct entry_key key = { g, e->mapping, e->offset };
	uint32_t first =
		map_intern(&g->index, hash_mix(e->mapping, e->offset), entry, entry_same, &key);

	vec_push(&g->best, entry);
	struct names_lines old = names_gathered_lines(g, g->best.v[first]);
	struct names_lines newer = names_gathered_lines(g, entry);
	if (!names_lines_less(&newer, &old))
		g->best.v[first] = entry;
}

bool names_gathered_find(struct names_gathered *g, uint32_t mapping, uint64_t offset,
			 struct names_lines *out)
{
	struct entry_key key = { g, mapping, offset };
	uint32_t entry;

	if (g->best.n < g->entries.n) {
		map_reserve(&g->index, g->entries.n - g->best.n);
		vec_reserve(&g->best, g->entries.n);
		while (g->best.n < g->entries.n)
			index_entry(g, g->best.n);
	}
	if (!map_lookup(&g->index, hash_mix(mapping, offset), entry_same, &key, &entry))
		return false;
	*out = names_gathered_lines(g, g->best.v[entry]);
	return true;
}
