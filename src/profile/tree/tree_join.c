/* Joins two trees: adds them up, or puts newer next to older. */
#include "profile/tree/tree.h"

#include "base/mem.h"
#include "base/vec.h"
#include "profile/sum.h"
#include "profile/tree/tree_match.h"
#include "profile/tree/tree_stacks.h"

#include <math.h>
#include <string.h>

/* The nodes of dst for those of src, and the factor for their values. */
struct join {
	struct tree *dst;
	const struct tree *src;
	double scale;
	uint32_t *node; /* of dst, by node of src */
};

static int64_t scaled(int64_t value, double scale)
{
	if (scale == 1)
		return value;
	double v = round(value * scale);
	return v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : (int64_t)v;
}

/* Converts all values to the scaled unit. */
static void tree_rescale(struct tree *t)
{
	for (uint32_t i = 0; i < t->nodes.n; i++) {
		t->nodes.v[i].self = scaled(t->nodes.v[i].self, t->scale);
		t->nodes.v[i].other_self = scaled(t->nodes.v[i].other_self, t->scale);
	}
	for (size_t i = 0; i < t->spreads.n; i++) {
		t->spreads.v[i].self.squares *= t->scale * t->scale;
		t->spreads.v[i].total.squares *= t->scale * t->scale;
	}
	t->unfiltered_total = scaled(t->unfiltered_total, t->scale);
	t->unit = t->scaled_unit;
	t->scaled_unit = NULL;
	t->scale = 0;
}

static bool is_empty(const struct tree *t)
{
	return t->nodes.n == 1 && !t->n_samples && !t->nodes.v[0].self && !t->nodes.v[0].other_self;
}

/* Returns the unit that values of this tree have or can be scaled to. */
static const char *common_unit(const struct tree *t)
{
	return t->scaled_unit ? t->scaled_unit : t->unit;
}

/* Converts dst to a unit common to both and returns the factor for values of src. */
static double meet_units(struct tree *dst, const struct tree *src)
{
	if (is_empty(dst)) {
		tree_take_unit(dst, src);
		dst->is_inverted = src->is_inverted;
	}
	if (dst->scale == src->scale || strcmp(common_unit(dst), common_unit(src)) != 0)
		return 1;
	if (dst->scaled_unit)
		tree_rescale(dst);
	return src->scaled_unit ? src->scale : 1;
}

static struct join join_nodes(struct tree *dst, const struct tree *src)
{
	struct join j = { .dst = dst, .src = src, .scale = meet_units(dst, src) };
	uint32_t *func = xreallocarray(NULL, src->funcs.n, sizeof *func);
	for (uint32_t i = 0; i < src->funcs.n; i++)
		func[i] = tree_func_copy(dst, src, i);
	j.node = xreallocarray(NULL, src->nodes.n, sizeof *j.node);
	j.node[TREE_ROOT] = TREE_ROOT;
	for (uint32_t i = 1; i < src->nodes.n; i++) {
		const struct tree_node *n = &src->nodes.v[i];
		j.node[i] = tree_child(dst, j.node[n->parent], func[n->func]);
	}
	free(func);
	return j;
}

static void drop_spreads(struct tree *t)
{
	vec_done(&t->spreads);
	vec_done(&t->other_spreads);
}

void tree_merge(struct tree *dst, const struct tree *src)
{
	drop_spreads(dst);
	struct join j = join_nodes(dst, src);
	for (uint32_t i = 0; i < src->nodes.n; i++) {
		const struct tree_node *from = &src->nodes.v[i];
		struct tree_node *to = &dst->nodes.v[j.node[i]];
		to->self = sum_add(to->self, scaled(from->self, j.scale));
		to->other_self = sum_add(to->other_self, scaled(from->other_self, j.scale));
	}
	dst->is_diff |= src->is_diff;
	dst->n_samples += src->n_samples;
	dst->unfiltered_total =
		sum_add(dst->unfiltered_total, scaled(src->unfiltered_total, j.scale));
	free(j.node);
	tree_total(dst);
}

/* --- differences --- */

/* One side of a difference, being added to a tree of both. */
struct graft {
	struct tree *dst;
	const struct tree *src;
	const struct tree_match *match;
	const uint32_t *same; /* by function of src: of match->names */
	bool is_older, is_strict;
	uint32_t *node; /* of dst, by node of src */
};

static uint32_t copy_func(const struct graft *g, uint32_t func, bool inlined)
{
	struct tree *names = g->match->names;
	struct tree_func f = names->funcs.v[g->same[func]];
	f.inlined = inlined;
	return tree_func_copy(g->dst, names, tree_func_intern(names, &f));
}

/* The functions of dst for those of src; as called: by the other flag. */
static uint32_t *graft_funcs(const struct graft *g, bool flip)
{
	uint32_t *of = xreallocarray(NULL, g->src->funcs.n, sizeof *of);
	for (uint32_t i = 0; i < g->src->funcs.n; i++)
		of[i] = copy_func(g, i, g->src->funcs.v[i].inlined ^ flip);
	return of;
}

/* Whether a node is a clone or a part of the function that calls it, or both have no names. */
static bool is_part(const struct graft *g, const struct tree_node *n)
{
	const struct tree_func *f = g->src->funcs.v;
	uint32_t above = g->src->nodes.v[n->parent].func;
	if (n->parent == TREE_ROOT || g->same[n->func] != g->same[above])
		return false;
	return f[n->func].name != f[above].name;
}

static void graft_nodes(struct graft *g)
{
	uint32_t *func = graft_funcs(g, false), *flipped = graft_funcs(g, true);
	g->node = xreallocarray(NULL, g->src->nodes.n, sizeof *g->node);
	g->node[TREE_ROOT] = TREE_ROOT;
	for (uint32_t i = 1; i < g->src->nodes.n; i++) {
		const struct tree_node *n = &g->src->nodes.v[i];
		uint32_t parent = g->node[n->parent], child = TREE_NONE;
		if (is_part(g, n)) {
			g->node[i] = parent;
			continue;
		}
		if (g->is_older && !g->is_strict)
			child = tree_find_child(g->dst, parent, func[n->func]);
		if (child == TREE_NONE && g->is_older && !g->is_strict)
			child = tree_find_child(g->dst, parent, flipped[n->func]);
		g->node[i] = child != TREE_NONE ? child : tree_child(g->dst, parent, func[n->func]);
	}
	free(func);
	free(flipped);
}

static void graft_values(const struct graft *g, double scale)
{
	for (uint32_t i = 0; i < g->src->nodes.n; i++) {
		struct tree_node *to = &g->dst->nodes.v[g->node[i]];
		int64_t *self = g->is_older ? &to->other_self : &to->self;
		*self = sum_add(*self, scaled(g->src->nodes.v[i].self, scale));
	}
}

static void graft_spreads(const struct graft *g, double scale)
{
	struct tree_node_spread *to = g->is_older ? g->dst->other_spreads.v : g->dst->spreads.v;
	for (uint32_t i = 0; i < g->src->spreads.n; i++) {
		struct tree_spread from = g->src->spreads.v[i].self;
		from.squares *= scale * scale;
		tree_spread_add(&to[g->node[i]].self, from);
	}
}

static void make_spreads(struct tree *t)
{
	tree_spreads_grow(t);
	vec_reserve(&t->other_spreads, t->nodes.n);
	t->other_spreads.n = t->nodes.n;
	memset(t->other_spreads.v, 0, t->nodes.n * sizeof *t->other_spreads.v);
}

/* Sets the unit of both, and the factors for values of each side. */
static void meet_both_units(struct tree *t, const struct tree *newer, const struct tree *older,
			    double *newer_scale, double *older_scale)
{
	*newer_scale = *older_scale = 1;
	tree_take_unit(t, is_empty(newer) ? older : newer);
	if (is_empty(newer) || newer->scale == older->scale ||
	    strcmp(common_unit(newer), common_unit(older)) != 0)
		return;
	if (newer->scaled_unit) {
		*newer_scale = newer->scale;
		tree_set_unit(t, newer->type_name, newer->scaled_unit, 0, NULL);
	}
	*older_scale = older->scaled_unit ? older->scale : 1;
}

/* A tree without nodes that has all else of both. */
static struct tree *begin_diff(const struct tree *newer, const struct tree *older,
			       double *newer_scale, double *older_scale)
{
	struct tree *t = tree_new();
	meet_both_units(t, newer, older, newer_scale, older_scale);
	t->is_inverted = is_empty(newer) ? older->is_inverted : newer->is_inverted;
	t->n_samples = newer->n_samples;
	t->unfiltered_total = scaled(newer->unfiltered_total, *newer_scale);
	t->other_unfiltered_total = scaled(older->unfiltered_total, *older_scale);
	t->is_diff = true;
	return t;
}

static void take_place(struct tree *of, struct tree *t)
{
	struct tree old = *of;
	*of = *t;
	*t = old;
	tree_free(t);
	tree_total(of);
}

void tree_diff(struct tree *newer, const struct tree *older, bool is_strict)
{
	double newer_scale, older_scale;
	struct tree_match match;
	struct tree *t = begin_diff(newer, older, &newer_scale, &older_scale);
	tree_match_init(&match, newer, older, is_strict);
	struct graft b = {
		.dst = t, .src = newer, .match = &match, .same = match.newer, .is_strict = is_strict
	};
	struct graft a = { .dst = t,
			   .src = older,
			   .match = &match,
			   .same = match.older,
			   .is_older = true,
			   .is_strict = is_strict };
	graft_nodes(&b);
	graft_nodes(&a);
	graft_values(&b, newer_scale);
	graft_values(&a, older_scale);
	if (newer->spreads.n && older->spreads.n) {
		make_spreads(t);
		graft_spreads(&b, newer_scale);
		graft_spreads(&a, older_scale);
	}
	free(b.node);
	free(a.node);
	tree_match_done(&match);
	take_place(newer, t);
}

static struct tree *begin_merge(const struct tree *from)
{
	struct tree *t = tree_new();
	tree_take_unit(t, from);
	t->is_inverted = from->is_inverted;
	t->n_samples = from->n_samples;
	t->unfiltered_total = from->unfiltered_total;
	return t;
}

void tree_merge_builds(struct tree *t)
{
	struct tree_match match;
	tree_match_within(&match, t);
	if (!match.is_exact) {
		struct tree *merged = begin_merge(t);
		struct graft g = { .dst = merged, .src = t, .match = &match, .same = match.newer };
		graft_nodes(&g);
		graft_values(&g, 1);
		if (t->spreads.n)
			tree_spreads_grow(merged);
		graft_spreads(&g, 1);
		free(g.node);
		take_place(t, merged);
	}
	tree_match_done(&match);
}

int tree_build_diff(struct profile *newer, const struct tree_opts *newer_opts,
		    struct profile *older, const struct tree_opts *older_opts, struct tree **out,
		    struct err *err)
{
	struct tree *t = NULL, *o = NULL;
	int rc = tree_build(newer, newer_opts, &t, err);
	if (rc == 0)
		rc = tree_build(older, older_opts, &o, err);
	if (rc == 0) {
		tree_diff(t, o, newer_opts->is_strict);
		*out = t;
	} else {
		tree_free(t);
	}
	tree_free(o);
	return rc;
}
