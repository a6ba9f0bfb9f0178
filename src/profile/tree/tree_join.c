/* Joins two trees: adds them up, or puts newer beside older. */
#include "profile/tree/tree.h"

#include "profile/sum.h"
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

static void take_spreads(struct tree *newer, const struct tree *older, const struct join *j)
{
	if (!newer->spreads.n || !older->spreads.n) {
		drop_spreads(newer);
		return;
	}
	tree_spreads_grow(newer);
	vec_reserve(&newer->other_spreads, newer->nodes.n);
	newer->other_spreads.n = newer->nodes.n;
	memset(newer->other_spreads.v, 0, newer->nodes.n * sizeof *newer->other_spreads.v);
	for (uint32_t i = 0; i < older->spreads.n; i++) {
		struct tree_spread from = older->spreads.v[i].self;
		from.squares *= j->scale * j->scale;
		tree_spread_add(&newer->other_spreads.v[j->node[i]].self, from);
	}
}

void tree_diff(struct tree *newer, const struct tree *older)
{
	struct join j = join_nodes(newer, older);
	for (uint32_t i = 0; i < older->nodes.n; i++) {
		struct tree_node *to = &newer->nodes.v[j.node[i]];
		to->other_self = sum_add(to->other_self, scaled(older->nodes.v[i].self, j.scale));
	}
	newer->is_diff = true;
	newer->other_unfiltered_total = scaled(older->unfiltered_total, j.scale);
	take_spreads(newer, older, &j);
	free(j.node);
	tree_total(newer);
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
		tree_diff(t, o);
		*out = t;
	} else {
		tree_free(t);
	}
	tree_free(o);
	return rc;
}
