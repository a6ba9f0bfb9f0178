#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/identity.h"
#include "profile/tree/matcher.h"
#include "profile/tree/tree_match.h"

#include <stdlib.h>

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
			nameless_of(x, matcher_binary(x, x->names->funcs.v[i].binary), true);
		uint32_t name = x->names->funcs.v[i].name;
		b->has_unknown |= identity_is_unknown(strtab_get(&x->names->strings, name),
						      strtab_len(&x->names->strings, name));
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
			nameless_of(x, matcher_binary(x, x->names->funcs.v[i].binary), false);
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

/* "[unknown]" is equal in all builds, so it proves nothing. */
static bool must_fold(const struct nameless *b)
{
	return !is_one_build(b) || (b->has_unknown && lacking_side(b));
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
			nameless_of(x, matcher_binary(x, x->names->funcs.v[i].binary), false);
		if (b && b->is_folded && (x->is_address[i] || is_hidden(x, i, b->lacking)))
			x->same[i] = b->fold;
	}
}

/* The functions that stand for a binary come last in names. */
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

void match_nameless(struct matcher *x)
{
	uint32_t n = x->m->n;
	find_nameless(x);
	if (!x->nameless.n)
		return;
	weigh_nameless(x, 0);
	weigh_nameless(x, 1);
	for (uint32_t i = 0; i < x->nameless.n; i++)
		if (must_fold(&x->nameless.v[i]))
			begin_fold(x, &x->nameless.v[i]);
	fold_nameless(x, n);
	grow_by_folds(x, n);
}
