/* Decides which functions of two trees are the same. */
#include "profile/tree/tree_match.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/identity.h"
#include "profile/identity_generated.h"
#include "profile/tree/matcher.h"

#include <stdlib.h>
#include <string.h>

const char *const match_how_names[] = {
	[MATCH_EXACT] = "exact",
	[MATCH_LOOSE] = "loose",
	[MATCH_NO_NAMES] = "no-names",
};

/* --- functions of both sides --- */

/* The strings of a tree, by id, as strings of names; UINT32_MAX: not copied yet. */
static uint32_t copy_string(struct matcher *x, const struct tree *t, uint32_t *known, uint32_t id)
{
	if (known[id] == UINT32_MAX)
		known[id] = strtab_putn(&x->names->strings, strtab_get(&t->strings, id),
					strtab_len(&t->strings, id));
	return known[id];
}

static uint32_t *copy_funcs(struct matcher *x, const struct tree *t)
{
	uint32_t *of = xreallocarray(NULL, t->funcs.n, sizeof *of), n = t->strings.all.n;
	uint32_t *known = xreallocarray(NULL, n, sizeof *known);
	memset(known, 0xff, n * sizeof *known);
	map_reserve(&x->names->func_index, t->funcs.n);
	for (uint32_t i = 0; i < t->funcs.n; i++) {
		struct tree_func f = t->funcs.v[i];
		f.name = copy_string(x, t, known, f.name);
		f.binary = copy_string(x, t, known, f.binary);
		f.file = copy_string(x, t, known, f.file);
		f.inlined = false;
		of[i] = tree_func_intern(x->names, &f);
	}
	free(known);
	return of;
}

static void note_sides(struct matcher *x)
{
	for (int side = 0; side < 2 && x->trees[side]; side++) {
		const uint32_t *of = side ? x->m->older : x->m->newer;
		for (uint32_t i = 0; i < x->trees[side]->funcs.n; i++)
			x->sides[of[i]] |= side ? OLDER : NEWER;
	}
}

/* --- keys --- */

static uint32_t put_text(struct matcher *x)
{
	return strtab_putn(&x->names->strings, x->text.data, x->text.len);
}

typedef bool identity_fn(const char *s, size_t len, struct buf *out);

static uint32_t cached_key(struct matcher *x, struct map *cache, identity_fn *identity, uint32_t id)
{
	const uint32_t *known = map_get(cache, id);
	if (known)
		return *known;
	const struct strtab *s = &x->names->strings;
	buf_clear(&x->text);
	bool differs = identity(strtab_get(s, id), strtab_len(s, id), &x->text);
	uint32_t key = differs ? put_text(x) : id;
	map_put(cache, id, key);
	return key;
}

uint32_t matcher_binary(struct matcher *x, uint32_t id)
{
	return id ? cached_key(x, &x->binary_keys, identity_binary, id) : 0;
}

uint32_t matcher_file(struct matcher *x, uint32_t id)
{
	return id ? cached_key(x, &x->file_keys, identity_file, id) : 0;
}

static enum frame_kind language_of(const struct matcher *x, const struct tree_func *f)
{
	const struct strtab *s = &x->names->strings;
	return identity_language(f->kind, strtab_get(s, f->name), strtab_len(s, f->name),
				 strtab_get(s, f->file), strtab_len(s, f->file));
}

static uint32_t name_key(struct matcher *x, const struct tree_func *f, enum frame_kind language)
{
	const struct strtab *s = &x->names->strings;
	buf_clear(&x->text);
	if (!identity_name(language, strtab_get(s, f->name), strtab_len(s, f->name), &x->text))
		return f->name;
	return put_text(x);
}

static bool is_address(const struct matcher *x, const struct tree_func *f)
{
	const struct strtab *s = &x->names->strings;
	if (identity_is_unknown(strtab_get(s, f->name), strtab_len(s, f->name)))
		return true;
	return identity_is_address(strtab_get(s, f->name), strtab_len(s, f->name),
				   strtab_get(s, f->binary), strtab_len(s, f->binary));
}

/* JavaScript's runtimes and CPython write the source file into names. */
static uint32_t file_of(struct matcher *x, const struct tree_func *f, enum frame_kind language)
{
	const struct strtab *s = &x->names->strings;
	size_t n = 0;
	if (f->file || language != FRAME_JIT)
		return f->file;
	const char *path = identity_place(strtab_get(s, f->name), strtab_len(s, f->name), &n);
	buf_clear(&x->text);
	buf_add(&x->text, path, n);
	return n ? put_text(x) : 0;
}

/* --- groups --- */

struct group_key {
	const struct matcher *x;
	const struct match_group *g;
};

static bool is_group(const void *ctx, uint32_t id)
{
	const struct group_key *key = ctx;
	const struct match_group *a = &key->x->groups.v[id], *b = key->g;
	return a->name == b->name && a->binary == b->binary && a->kind == b->kind;
}

static void add_to_group(struct matcher *x, uint32_t func)
{
	const struct tree_func *f = &x->names->funcs.v[func];
	enum frame_kind language = language_of(x, f);
	struct match_group g = { .name = name_key(x, f, language),
				 .binary = matcher_binary(x, f->binary),
				 .kind = f->kind,
				 .language = f->kind,
				 .first = TREE_NONE };
	struct group_key key = { x, &g };
	uint32_t fresh = x->groups.n;
	x->files[func] = file_of(x, f, language);
	uint64_t hash = hash_mix((uint64_t)g.name << 32 | g.binary, g.kind);
	uint32_t id = map_intern(&x->group_index, hash, fresh, is_group, &key);
	if (id == fresh)
		vec_push(&x->groups, g);
	struct match_group *to = &x->groups.v[id];
	x->next[func] = to->first;
	x->group_of[func] = id;
	to->language = language != f->kind ? language : to->language;
	to->first = func;
	to->n++;
	to->has_lone |= x->sides[func] != BOTH;
}

static void make_groups(struct matcher *x)
{
	map_reserve(&x->group_index, x->m->n);
	vec_reserve(&x->groups, x->m->n);
	for (uint32_t i = 0; i < x->m->n; i++) {
		const struct tree_func *f = &x->names->funcs.v[i];
		x->same[i] = i;
		x->files[i] = f->file;
		x->group_of[i] = x->next[i] = TREE_NONE;
		if (!identity_is_function(f->kind))
			continue;
		x->is_address[i] = is_address(x, f);
		if (!x->is_address[i])
			add_to_group(x, i);
	}
}

/* --- the same functions --- */

/* Prefers the newer side's, then short names: "f" to "f.isra.0". */
static bool stands_better(const struct matcher *x, uint32_t a, uint32_t b)
{
	const struct tree_func *f = x->names->funcs.v;
	bool a_newer = x->sides[a] & NEWER, b_newer = x->sides[b] & NEWER;
	if (a_newer != b_newer)
		return a_newer;
	uint32_t a_len = strtab_len(&x->names->strings, f[a].name);
	uint32_t b_len = strtab_len(&x->names->strings, f[b].name);
	return a_len != b_len ? a_len < b_len : a < b;
}

static void join_set(struct matcher *x, const struct classes *c, uint32_t set)
{
	uint32_t best = TREE_NONE, n = 0;
	bool has_lone = false;
	for (uint32_t i = set; i < c->v.n; i++) {
		const struct match_class *k = &c->v.v[i];
		for (uint32_t at = k->first; k->set == set && at < k->first + k->n; at++, n++) {
			uint32_t func = c->members.v[at].func;
			has_lone |= x->sides[func] != BOTH;
			if (best == TREE_NONE || stands_better(x, func, best))
				best = func;
		}
	}
	if (n < 2 || !has_lone)
		return;
	for (uint32_t i = set; i < c->v.n; i++) {
		const struct match_class *k = &c->v.v[i];
		for (uint32_t at = k->first; k->set == set && at < k->first + k->n; at++)
			x->same[c->members.v[at].func] = best;
	}
	x->m->how[best] = MATCH_LOOSE;
	x->m->is_exact = false;
}

static void match_groups(struct matcher *x)
{
	struct classes c = { 0 };
	for (uint32_t i = 0; i < x->groups.n; i++) {
		const struct match_group g = x->groups.v[i];
		if (g.n < 2 || !g.has_lone)
			continue;
		classes_make(x, &g, &c);
		if (c.v.n > 1 && x->is_within)
			classes_join_within(x, &g, &c);
		else if (c.v.n > 1)
			classes_join_sides(x, &g, &c);
		for (uint32_t k = 0; k < c.v.n; k++)
			if (c.v.v[k].set == k)
				join_set(x, &c, k);
	}
	classes_done(&c);
}

/* --- all together --- */

static void stand_in(const struct matcher *x, uint32_t *of, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		of[i] = x->same[of[i]];
}

/* Replaces functions by the ones that stand for them. */
static void settle(struct matcher *x)
{
	struct tree_match *m = x->m;
	stand_in(x, m->newer, x->trees[0]->funcs.n);
	if (x->is_within)
		return;
	stand_in(x, m->older, x->trees[1]->funcs.n);
	m->of_older = xreallocarray(NULL, m->n, sizeof *m->of_older);
	memset(m->of_older, 0xff, m->n * sizeof *m->of_older);
	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t *older = &m->of_older[x->same[i]];
		if (x->sides[i] & OLDER && (*older == TREE_NONE || i == x->same[i]))
			*older = i;
	}
}

static void matcher_done(struct matcher *x)
{
	free(x->sides);
	free(x->files);
	free(x->same);
	free(x->next);
	free(x->group_of);
	free(x->is_address);
	vec_done(&x->groups);
	vec_done(&x->nameless);
	map_done(&x->group_index);
	map_done(&x->binary_keys);
	map_done(&x->file_keys);
	map_done(&x->paths);
	map_done(&x->bases);
	map_done(&x->bundles);
	map_done(&x->dir_funcs);
	map_done(&x->renames);
	map_done(&x->nameless_index);
	buf_done(&x->text);
}

static void matcher_init(struct matcher *x)
{
	struct tree_match *m = x->m;
	x->names = tree_new();
	*m = (struct tree_match){ .names = x->names, .is_exact = true };
	m->newer = copy_funcs(x, x->trees[0]);
	m->older = x->is_within ? NULL : copy_funcs(x, x->trees[1]);
	m->n = x->names->funcs.n;
	m->how = xcalloc(m->n, sizeof *m->how);
	x->sides = xcalloc(m->n, sizeof *x->sides);
	x->files = xcalloc(m->n, sizeof *x->files);
	x->same = xcalloc(m->n, sizeof *x->same);
	x->next = xcalloc(m->n, sizeof *x->next);
	x->group_of = xcalloc(m->n, sizeof *x->group_of);
	x->is_address = xcalloc(m->n, sizeof *x->is_address);
	note_sides(x);
	for (uint32_t i = 0; i < m->n; i++)
		x->same[i] = i;
}

void tree_match_within(struct tree_match *m, const struct tree *t)
{
	struct matcher x = { .m = m, .trees = { t }, .is_within = true };
	matcher_init(&x);
	make_groups(&x);
	vote_renames(&x);
	match_groups(&x);
	settle(&x);
	matcher_done(&x);
}

void tree_match_init(struct tree_match *m, const struct tree *newer, const struct tree *older,
		     bool is_strict)
{
	struct matcher x = { .m = m, .trees = { newer, older } };
	matcher_init(&x);
	if (!is_strict) {
		make_groups(&x);
		match_groups(&x);
		match_nameless(&x);
	}
	settle(&x);
	matcher_done(&x);
}

void tree_match_done(struct tree_match *m)
{
	tree_free(m->names);
	free(m->newer);
	free(m->older);
	free(m->how);
	free(m->of_older);
}
