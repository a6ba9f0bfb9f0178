#include "base/hash.h"
#include "base/vec.h"
#include "profile/identity.h"
#include "profile/tree/matcher.h"
#include "profile/tree/tree_match.h"

#include <stdlib.h>
#include <string.h>

static void add_sides(struct map *m, uint64_t hash, uint8_t sides)
{
	const uint32_t *known = map_get(m, hash);
	map_put(m, hash, (known ? *known : 0) | sides);
}

static uint64_t base_hash(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	return hash_bytes(base, strlen(base));
}

static void note_dirs_of(struct matcher *x, uint32_t file, uint8_t sides)
{
	const char *s = strtab_get(&x->names->strings, file);
	for (const char *slash = strchr(s, '/'); slash; slash = strchr(slash + 1, '/'))
		add_sides(&x->paths, hash_bytes(s, slash - s), sides);
	add_sides(&x->paths, hash_bytes(s, strlen(s)), sides);
	add_sides(&x->bases, base_hash(s), sides);
}

static void note_dirs(struct matcher *x)
{
	struct map seen = { 0 }; /* file → sides */
	for (uint32_t i = 0; i < x->m->n; i++) {
		uint32_t file = matcher_file(x, x->files[i]);
		const uint32_t *known = map_get(&seen, file);
		if (known && (*known | x->sides[i]) == *known)
			continue;
		map_put(&seen, file, (known ? *known : 0) | x->sides[i]);
		note_dirs_of(x, file, x->sides[i]);
	}
	map_done(&seen);
	x->has_dirs = true;
}

static bool has_path(struct matcher *x, const char *s, size_t len, uint8_t side)
{
	if (!x->has_dirs)
		note_dirs(x);
	const uint32_t *sides = len ? map_get(&x->paths, hash_bytes(s, len)) : NULL;
	return sides && *sides & side;
}

/* Whether both sides have functions of both files, by the names of the files, or by their paths if
 * the names are equal. */
static bool both_stay(struct matcher *x, uint32_t newer, uint32_t older)
{
	const struct strtab *s = &x->names->strings;
	const char *a = strtab_get(s, newer), *b = strtab_get(s, older);
	uint64_t a_base = base_hash(a), b_base = base_hash(b);
	if (a_base == b_base)
		return has_path(x, a, strtab_len(s, newer), OLDER) &&
		       has_path(x, b, strtab_len(s, older), NEWER);
	if (!x->has_dirs)
		note_dirs(x);
	const uint32_t *a_sides = map_get(&x->bases, a_base);
	const uint32_t *b_sides = map_get(&x->bases, b_base);
	return a_sides && b_sides && *a_sides & OLDER && *b_sides & NEWER;
}

/* Returns how many bytes of whole path components two files have in common at their ends, 0 if not
 * even their names. */
static size_t common_end(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t n = 0, whole = 0;
	while (n < a_len && n < b_len && a[a_len - n - 1] == b[b_len - n - 1])
		if (a[a_len - ++n] == '/')
			whole = n - 1;
	bool ends_a = n == a_len || a[a_len - n - 1] == '/';
	bool ends_b = n == b_len || b[b_len - n - 1] == '/';
	return ends_a && ends_b ? n : whole;
}

/* Returns the length of the common end if the older file may be the newer one in another directory,
 * else 0. */
static size_t likeness(struct matcher *x, uint32_t newer, uint32_t older)
{
	const struct strtab *s = &x->names->strings;
	const char *a = strtab_get(s, newer), *b = strtab_get(s, older);
	size_t a_len = strtab_len(s, newer), b_len = strtab_len(s, older);
	size_t n = common_end(a, a_len, b, b_len);
	if (!n)
		return 0;
	size_t a_dir = a_len > n ? a_len - n - 1 : 0, b_dir = b_len > n ? b_len - n - 1 : 0;
	return has_path(x, a, a_dir, OLDER) || has_path(x, b, b_dir, NEWER) ? 0 : n;
}

/* --- members of a group that are told apart --- */

static uint64_t bundle_key(uint32_t file, uint8_t side)
{
	return hash_mix(file, side);
}

static void note_bundles(struct matcher *x)
{
	const struct strtab *s = &x->names->strings;
	for (uint32_t i = 0; i < x->m->n; i++) {
		uint32_t file = x->files[i];
		if (!identity_is_bundle(strtab_get(s, file), strtab_len(s, file)))
			continue;
		for (uint8_t side = NEWER; side <= OLDER; side++) {
			uint64_t key = bundle_key(matcher_file(x, file), side);
			const uint32_t *known = map_get(&x->bundles, key);
			if (x->sides[i] & side)
				map_put(&x->bundles, key,
					known && *known != file ? TREE_NONE : file);
		}
	}
	x->has_bundles = true;
}

/* Whether a side has several bundles that differ only in their hashes: "index-3f2a1b9c.js" and
 * "index-9d0e1f2a.js" of one build have nothing in common. */
static bool is_ambiguous(struct matcher *x, uint32_t file)
{
	const struct strtab *s = &x->names->strings;
	if (!identity_is_bundle(strtab_get(s, file), strtab_len(s, file)))
		return false;
	if (!x->has_bundles)
		note_bundles(x);
	for (uint8_t side = NEWER; side <= OLDER; side++) {
		uint64_t key = bundle_key(matcher_file(x, file), side);
		const uint32_t *known = map_get(&x->bundles, key);
		if (known && *known == TREE_NONE)
			return true;
	}
	return false;
}

static uint32_t part_of(struct matcher *x, uint32_t func, enum frame_kind language)
{
	size_t n;
	uint32_t file = x->files[func], name = x->names->funcs.v[func].name;
	const struct strtab *s = &x->names->strings;
	if (!identity_is_unique(language))
		return is_ambiguous(x, file) ? file : matcher_file(x, file);
	const char *major = identity_major(strtab_get(s, name), strtab_len(s, name), &n);
	return language == FRAME_GO ? strtab_putn(&x->names->strings, major, n) : 0;
}

static int member_cmp(const void *a, const void *b)
{
	const struct match_member *x = a, *y = b;
	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	return x->func < y->func ? -1 : x->func > y->func;
}

void classes_make(struct matcher *x, const struct match_group *g, struct classes *c)
{
	vec_clear(&c->members);
	vec_clear(&c->v);
	for (uint32_t i = g->first; i != TREE_NONE; i = x->next[i])
		vec_push(&c->members, (struct match_member){ part_of(x, i, g->language), i });
	qsort(c->members.v, c->members.n, sizeof *c->members.v, member_cmp);
	for (uint32_t i = 0; i < c->members.n; i++) {
		struct match_member m = c->members.v[i];
		struct match_class fresh = { .part = m.part, .first = i, .set = c->v.n };
		if (!c->v.n || c->v.v[c->v.n - 1].part != m.part)
			vec_push(&c->v, fresh);
		struct match_class *last = &c->v.v[c->v.n - 1];
		last->n++;
		last->sides |= x->sides[m.func];
	}
}

void classes_done(struct classes *c)
{
	vec_done(&c->members);
	vec_done(&c->v);
}

/* Returns the index of the only class that is on this side alone; UINT32_MAX: there is none or more
 * than one. */
static uint32_t only_class(const struct classes *c, uint8_t side)
{
	uint32_t found = UINT32_MAX;
	for (uint32_t i = 0; i < c->v.n; i++) {
		if (c->v.v[i].sides != side)
			continue;
		if (found != UINT32_MAX)
			return UINT32_MAX;
		found = i;
	}
	return found;
}

/* Whether a side knows no file of the group: files cannot tell anything apart then. */
static bool has_no_parts(const struct classes *c, uint8_t side)
{
	bool unknown = false, known = false;
	for (uint32_t i = 0; i < c->v.n; i++) {
		unknown |= c->v.v[i].sides & side && !c->v.v[i].part;
		known |= c->v.v[i].sides & side && c->v.v[i].part;
	}
	return unknown && !known;
}

static void join_classes(struct classes *c, uint32_t a, uint32_t b)
{
	uint32_t from = c->v.v[b].set, to = c->v.v[a].set;
	if (from < to) {
		from = to;
		to = c->v.v[b].set;
	}
	for (uint32_t i = 0; i < c->v.n; i++)
		if (c->v.v[i].set == from)
			c->v.v[i].set = to;
}

/* limit: pairs of files compared for functions of one name; others stay apart */
enum { MATCH_MAX_PAIRS = 4096 };

/* Joins the most alike files of both sides. */
static bool join_most_alike(struct matcher *x, struct classes *c)
{
	size_t most = 0;
	uint32_t newer = 0, older = 0;
	for (uint32_t i = 0; i < c->v.n; i++) {
		for (uint32_t k = 0; c->v.v[i].sides == NEWER && k < c->v.n; k++) {
			if (c->v.v[k].sides != OLDER)
				continue;
			size_t n = likeness(x, c->v.v[i].part, c->v.v[k].part);
			if (n > most)
				most = n, newer = i, older = k;
		}
	}
	if (!most)
		return false;
	join_classes(c, newer, older);
	c->v.v[newer].sides = c->v.v[older].sides = BOTH;
	return true;
}

/* --- one tree of several builds --- */

static uint32_t count_of(const struct map *m, uint64_t key)
{
	const uint32_t *n = map_get(m, key);
	return n ? *n : 0;
}

static void count_dirs(struct matcher *x)
{
	for (uint32_t i = 0; i < x->m->n; i++) {
		const char *s = strtab_get(&x->names->strings, matcher_file(x, x->files[i]));
		for (const char *slash = strchr(s, '/'); slash; slash = strchr(slash + 1, '/')) {
			uint64_t hash = hash_bytes(s, slash - s);
			map_put(&x->dir_funcs, hash, count_of(&x->dir_funcs, hash) + 1);
		}
	}
	x->has_dirs = true;
}

struct rename_dirs {
	uint64_t a, b; /* hashes, in the order of size */
};

/* Finds the directories in which two files have the same path. Returns false without such. */
static bool rename_of(const struct matcher *x, uint32_t one, uint32_t other,
		      struct rename_dirs *out)
{
	const struct strtab *s = &x->names->strings;
	const char *a = strtab_get(s, one), *b = strtab_get(s, other);
	size_t a_len = strtab_len(s, one), b_len = strtab_len(s, other);
	size_t n = common_end(a, a_len, b, b_len);
	if (!n || n + 1 >= a_len || n + 1 >= b_len)
		return false;
	uint64_t x_hash = hash_bytes(a, a_len - n - 1), y_hash = hash_bytes(b, b_len - n - 1);
	*out = x_hash < y_hash ? (struct rename_dirs){ x_hash, y_hash }
			       : (struct rename_dirs){ y_hash, x_hash };
	return true;
}

static bool is_renamed(struct matcher *x, struct rename_dirs d)
{
	if (!x->has_dirs)
		count_dirs(x);
	uint32_t votes = count_of(&x->renames, hash_mix(d.a, d.b));
	uint32_t a = count_of(&x->dir_funcs, d.a), b = count_of(&x->dir_funcs, d.b);
	return votes >= 2 && 2 * votes >= (a < b ? a : b);
}

/* Votes for each pair of directories, or joins the classes whose directories are the same. */
static void each_rename(struct matcher *x, struct classes *c, bool joins)
{
	struct rename_dirs d;
	for (uint32_t i = 0; i < c->v.n; i++) {
		for (uint32_t k = 0; k < i; k++) {
			if (!rename_of(x, c->v.v[i].part, c->v.v[k].part, &d))
				continue;
			uint64_t key = hash_mix(d.a, d.b);
			if (!joins)
				map_put(&x->renames, key, count_of(&x->renames, key) + 1);
			else if (is_renamed(x, d))
				join_classes(c, i, k);
		}
	}
}

static void link_within(struct matcher *x, const struct match_group *g, struct classes *c,
			bool joins)
{
	if (identity_is_unique(g->language) || c->v.n > MATCH_MAX_PAIRS / c->v.n)
		return;
	if (joins && c->v.n == 2 && !c->v.v[0].part)
		join_classes(c, 0, 1);
	else
		each_rename(x, c, joins);
}

void classes_join_within(struct matcher *x, const struct match_group *g, struct classes *c)
{
	link_within(x, g, c, true);
}

void vote_renames(struct matcher *x)
{
	struct classes c = { 0 };
	for (uint32_t i = 0; i < x->groups.n; i++) {
		const struct match_group g = x->groups.v[i];
		if (g.n < 2)
			continue;
		classes_make(x, &g, &c);
		if (c.v.n > 1)
			link_within(x, &g, &c, false);
	}
	classes_done(&c);
}

/* --- two sides --- */

/* Joins the only functions of a name, of two files, as one that was moved. If both sides have both
 * files, they are more often two functions, and two others were not sampled. */
static void join_moved(struct matcher *x, const struct match_group *g, struct classes *c,
		       uint32_t newer, uint32_t older)
{
	uint32_t a = c->v.v[newer].part, b = c->v.v[older].part;
	if (identity_is_unique(g->language) || likeness(x, a, b) || !both_stay(x, a, b))
		join_classes(c, newer, older);
}

void classes_join_sides(struct matcher *x, const struct match_group *g, struct classes *c)
{
	uint32_t newer = only_class(c, NEWER), older = only_class(c, OLDER);
	bool is_pair = newer != UINT32_MAX && older != UINT32_MAX;
	if (!identity_is_unique(g->language) && (has_no_parts(c, NEWER) || has_no_parts(c, OLDER)))
		for (uint32_t i = 1; i < c->v.n; i++)
			join_classes(c, 0, i);
	else if (is_pair && !identity_is_of_file(g->language) &&
		 (c->v.n == 2 || identity_is_unique(g->language)))
		join_moved(x, g, c, newer, older);
	else if (!identity_is_unique(g->language) && c->v.n <= MATCH_MAX_PAIRS / c->v.n)
		while (join_most_alike(x, c))
			;
}
