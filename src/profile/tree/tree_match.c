/* Decides which functions of two trees are the same. */
#include "profile/tree/tree_match.h"

#include "base/buf.h"
#include "base/mem.h"
#include "profile/identity.h"

#include <stdlib.h>
#include <string.h>

const char *const match_how_names[] = {
	[MATCH_EXACT] = "exact",
	[MATCH_LOOSE] = "loose",
	[MATCH_NO_NAMES] = "no-names",
};

enum { NEWER = 1, OLDER = 2, BOTH = NEWER | OLDER };
#define NO_NAMES "[no names]"

/* Functions with the same kind, name and binary in every build. */
struct match_group {
	uint32_t name, binary; /* strings, without what a build adds */
	uint8_t kind;
	bool has_lone;  /* a member is on one side only */
	uint32_t first; /* member; the others follow in matcher.next */
	uint32_t n;
};
/* Functions of a binary that have no names. */
struct nameless {
	uint32_t binary; /* string, as in groups */
	uint32_t func;   /* one of them */
	/* By side: self values without names, the ones that are equal on both sides, and all. */
	double sum[2], equal[2], all[2];
	uint32_t n, n_equal;
	bool is_folded;
	uint8_t lacking; /* the side that lacks names; 0: none, or both */
	uint32_t fold;   /* the function that stands for them */
};
struct matcher {
	struct tree_match *m;
	struct tree *names;
	const struct tree *trees[2]; /* newer, older */
	/* By function of names. */
	uint8_t *sides;
	uint32_t *same;     /* the function that stands for it */
	uint32_t *next;     /* in its group; TREE_NONE */
	uint32_t *group_of; /* TREE_NONE: in none */
	bool *is_address;
	VEC(struct match_group) groups;
	struct map group_index;
	struct map binary_keys, file_keys; /* string → string without what a build adds */
	struct map dirs;                   /* hash of a directory → sides that have it */
	bool has_dirs, is_within;
	struct map dir_funcs; /* is_within: hash of a directory → functions below it */
	struct map renames;   /* hash of two directories → functions of both, under one path */
	VEC(struct nameless) nameless;
	struct map nameless_index; /* binary → index */
	struct buf text;
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

static uint32_t binary_key(struct matcher *x, uint32_t id)
{
	return id ? cached_key(x, &x->binary_keys, identity_binary, id) : 0;
}

static uint32_t file_key(struct matcher *x, uint32_t id)
{
	return id ? cached_key(x, &x->file_keys, identity_file, id) : 0;
}

static uint32_t name_key(struct matcher *x, const struct tree_func *f)
{
	const struct strtab *s = &x->names->strings;
	buf_clear(&x->text);
	if (!identity_name(f->kind, strtab_get(s, f->name), strtab_len(s, f->name), &x->text))
		return f->name;
	return put_text(x);
}

static bool is_address(const struct matcher *x, const struct tree_func *f)
{
	const struct strtab *s = &x->names->strings;
	return identity_is_address(strtab_get(s, f->name), strtab_len(s, f->name),
				   strtab_get(s, f->binary), strtab_len(s, f->binary));
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
	struct match_group g = { .name = name_key(x, f),
				 .binary = binary_key(x, f->binary),
				 .kind = f->kind,
				 .first = TREE_NONE };
	struct group_key key = { x, &g };
	uint32_t fresh = x->groups.n;
	uint64_t hash = hash_mix((uint64_t)g.name << 32 | g.binary, g.kind);
	uint32_t id = map_intern(&x->group_index, hash, fresh, is_group, &key);
	if (id == fresh)
		vec_push(&x->groups, g);
	struct match_group *to = &x->groups.v[id];
	x->next[func] = to->first;
	x->group_of[func] = id;
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
		x->group_of[i] = x->next[i] = TREE_NONE;
		if (!identity_is_function(f->kind))
			continue;
		x->is_address[i] = is_address(x, f);
		if (!x->is_address[i])
			add_to_group(x, i);
	}
}

/* --- source files --- */

static void note_dirs_of(struct matcher *x, uint32_t file, uint8_t sides)
{
	const char *s = strtab_get(&x->names->strings, file);
	for (const char *slash = strchr(s, '/'); slash; slash = strchr(slash + 1, '/')) {
		uint64_t hash = hash_bytes(s, slash - s);
		const uint32_t *known = map_get(&x->dirs, hash);
		map_put(&x->dirs, hash, (known ? *known : 0) | sides);
	}
}

static void note_dirs(struct matcher *x)
{
	struct map seen = { 0 }; /* file → sides */
	for (uint32_t i = 0; i < x->m->n; i++) {
		uint32_t file = file_key(x, x->names->funcs.v[i].file);
		const uint32_t *known = map_get(&seen, file);
		if (known && (*known | x->sides[i]) == *known)
			continue;
		map_put(&seen, file, (known ? *known : 0) | x->sides[i]);
		note_dirs_of(x, file, x->sides[i]);
	}
	map_done(&seen);
	x->has_dirs = true;
}

static bool has_dir(struct matcher *x, const char *s, size_t len, uint8_t side)
{
	if (!x->has_dirs)
		note_dirs(x);
	const uint32_t *sides = len ? map_get(&x->dirs, hash_bytes(s, len)) : NULL;
	return sides && *sides & side;
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
	return has_dir(x, a, a_dir, OLDER) || has_dir(x, b, b_dir, NEWER) ? 0 : n;
}

/* --- members of a group that are told apart --- */

/* Members first … first + n - 1 have the same `part`: the file's string, or the package's major
 * version. */
struct match_class {
	uint32_t part, first, n;
	uint32_t set; /* the first class of the ones that are the same */
	uint8_t sides;
};
struct match_member {
	uint32_t part, func;
};
struct classes {
	VEC(struct match_member) members;
	VEC(struct match_class) v;
};

static uint32_t part_of(struct matcher *x, const struct tree_func *f)
{
	size_t n;
	const struct strtab *s = &x->names->strings;
	if (!identity_is_unique(f->kind))
		return file_key(x, f->file);
	const char *major = identity_major(strtab_get(s, f->name), strtab_len(s, f->name), &n);
	return f->kind == FRAME_GO ? strtab_putn(&x->names->strings, major, n) : 0;
}

static int member_cmp(const void *a, const void *b)
{
	const struct match_member *x = a, *y = b;
	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	return x->func < y->func ? -1 : x->func > y->func;
}

static void make_classes(struct matcher *x, const struct match_group *g, struct classes *c)
{
	vec_clear(&c->members);
	vec_clear(&c->v);
	for (uint32_t i = g->first; i != TREE_NONE; i = x->next[i])
		vec_push(&c->members,
			 (struct match_member){ part_of(x, &x->names->funcs.v[i]), i });
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

/* Returns the index of the only class that is on this side alone; UINT32_MAX: none or more
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

/* limit: pairs of files compared for the functions of one name; beyond it they stay apart */
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
		const char *s =
			strtab_get(&x->names->strings, file_key(x, x->names->funcs.v[i].file));
		for (const char *slash = strchr(s, '/'); slash; slash = strchr(slash + 1, '/')) {
			uint64_t hash = hash_bytes(s, slash - s);
			map_put(&x->dir_funcs, hash, count_of(&x->dir_funcs, hash) + 1);
		}
	}
	x->has_dirs = true;
}

/* The directories in which two files have the same path; false if none exists. */
struct rename_dirs {
	uint64_t a, b; /* hashes, in the order of size */
};

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
	if (identity_is_unique(g->kind) || c->v.n > MATCH_MAX_PAIRS / c->v.n)
		return;
	if (joins && c->v.n == 2 && !c->v.v[0].part)
		join_classes(c, 0, 1);
	else
		each_rename(x, c, joins);
}

static void vote_renames(struct matcher *x)
{
	struct classes c = { 0 };
	for (uint32_t i = 0; i < x->groups.n; i++) {
		const struct match_group g = x->groups.v[i];
		if (g.n < 2)
			continue;
		make_classes(x, &g, &c);
		if (c.v.n > 1)
			link_within(x, &g, &c, false);
	}
	vec_done(&c.members);
	vec_done(&c.v);
}

/* --- two sides --- */

static void link_sides(struct matcher *x, const struct match_group *g, struct classes *c)
{
	uint32_t newer = only_class(c, NEWER), older = only_class(c, OLDER);
	bool is_pair = newer != UINT32_MAX && older != UINT32_MAX;
	if (!identity_is_unique(g->kind) && (has_no_parts(c, NEWER) || has_no_parts(c, OLDER)))
		for (uint32_t i = 1; i < c->v.n; i++)
			join_classes(c, 0, i);
	else if (is_pair && !identity_is_of_file(g->kind) &&
		 (c->v.n == 2 || identity_is_unique(g->kind)))
		join_classes(c, newer, older);
	else if (!identity_is_unique(g->kind) && c->v.n <= MATCH_MAX_PAIRS / c->v.n)
		while (join_most_alike(x, c))
			;
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
		make_classes(x, &g, &c);
		if (c.v.n > 1 && x->is_within)
			link_within(x, &g, &c, true);
		else if (c.v.n > 1)
			link_sides(x, &g, &c);
		for (uint32_t k = 0; k < c.v.n; k++)
			if (c.v.v[k].set == k)
				join_set(x, &c, k);
	}
	vec_done(&c.members);
	vec_done(&c.v);
}

/* --- functions without names --- */

static struct nameless *nameless_of(struct matcher *x, uint32_t binary, bool add)
{
	const uint32_t *known = map_get(&x->nameless_index, binary);
	if (known)
		return &x->nameless.v[*known];
	if (!add)
		return NULL;
	map_put(&x->nameless_index, binary, x->nameless.n);
	vec_push(&x->nameless, (struct nameless){ .binary = binary });
	return &x->nameless.v[x->nameless.n - 1];
}

static void find_nameless(struct matcher *x)
{
	for (uint32_t i = 0; i < x->m->n; i++) {
		if (!x->is_address[i])
			continue;
		struct nameless *b =
			nameless_of(x, binary_key(x, x->names->funcs.v[i].binary), true);
		b->func = i;
		b->n++;
		b->n_equal += x->sides[i] == BOTH;
	}
}

/* Sums self values by binary. */
static void weigh_nameless(struct matcher *x, int side)
{
	const struct tree *t = x->trees[side];
	const uint32_t *of = side ? x->m->older : x->m->newer;
	double *self = xcalloc(x->m->n, sizeof *self);
	for (uint32_t i = 1; i < t->nodes.n; i++)
		self[of[t->nodes.v[i].func]] += t->nodes.v[i].self;
	for (uint32_t i = 0; i < x->m->n; i++) {
		struct nameless *b =
			nameless_of(x, binary_key(x, x->names->funcs.v[i].binary), false);
		if (!b)
			continue;
		b->all[side] += self[i];
		b->sum[side] += x->is_address[i] ? self[i] : 0;
		b->equal[side] += x->is_address[i] && x->sides[i] == BOTH ? self[i] : 0;
	}
	free(self);
}

/* Whether most samples without names are at addresses of both sides: of one build. */
static bool is_one_build(const struct nameless *b)
{
	if (!b->sum[0] && !b->sum[1])
		return 2 * b->n_equal >= b->n;
	return 2 * b->equal[0] >= b->sum[0] && 2 * b->equal[1] >= b->sum[1];
}

/* A side lacks names if this share of the binary has none, and at most half as much on the other
 * side. */
#define LACKING_SHARE 0.05

static uint8_t lacking_side(const struct nameless *b)
{
	double share[2];
	for (int i = 0; i < 2; i++)
		share[i] = b->all[i] > 0 ? b->sum[i] / b->all[i] : 0;
	if (share[0] >= LACKING_SHARE && 2 * share[1] <= share[0])
		return NEWER;
	return share[1] >= LACKING_SHARE && 2 * share[0] <= share[1] ? OLDER : 0;
}

static void begin_fold(struct matcher *x, struct nameless *b)
{
	struct tree_func f = x->names->funcs.v[b->func];
	f.name = strtab_put(&x->names->strings, NO_NAMES);
	f.file = 0;
	b->fold = tree_func_intern(x->names, &f);
	b->is_folded = true;
	b->lacking = lacking_side(b);
}

/* Whether a function has a name that only one side has, and the other side lacks names. */
static bool is_hidden(const struct matcher *x, uint32_t func, uint8_t lacking)
{
	if (!lacking || x->same[func] != func || x->group_of[func] == TREE_NONE)
		return false;
	return x->sides[func] == (BOTH & ~lacking) && !x->m->how[func];
}

static void fold_nameless(struct matcher *x, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct nameless *b =
			nameless_of(x, binary_key(x, x->names->funcs.v[i].binary), false);
		if (b && b->is_folded && (x->is_address[i] || is_hidden(x, i, b->lacking)))
			x->same[i] = b->fold;
	}
}

/* The functions that stand for a binary are last in names. */
static void grow_by_folds(struct matcher *x, uint32_t n)
{
	struct tree_match *m = x->m;
	m->n = x->names->funcs.n;
	m->how = xreallocarray(m->how, m->n, sizeof *m->how);
	x->same = xreallocarray(x->same, m->n, sizeof *x->same);
	x->sides = xreallocarray(x->sides, m->n, sizeof *x->sides);
	for (uint32_t i = n; i < m->n; i++) {
		m->how[i] = MATCH_NO_NAMES;
		x->same[i] = i;
		x->sides[i] = 0;
	}
	m->is_exact &= n == m->n;
}

static void match_nameless(struct matcher *x)
{
	uint32_t n = x->m->n;
	find_nameless(x);
	if (!x->nameless.n)
		return;
	weigh_nameless(x, 0);
	weigh_nameless(x, 1);
	for (uint32_t i = 0; i < x->nameless.n; i++)
		if (!is_one_build(&x->nameless.v[i]))
			begin_fold(x, &x->nameless.v[i]);
	fold_nameless(x, n);
	grow_by_folds(x, n);
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
	free(x->same);
	free(x->next);
	free(x->group_of);
	free(x->is_address);
	vec_done(&x->groups);
	vec_done(&x->nameless);
	map_done(&x->group_index);
	map_done(&x->binary_keys);
	map_done(&x->file_keys);
	map_done(&x->dirs);
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
