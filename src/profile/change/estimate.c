/* Variance of sums with estimated stacks. */
#include "profile/change/estimate.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/stack.h"
#include "profile/strtab.h"
#include "profile/sum.h"
#include "profile/tree/tree.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define Z 1.959963984540054 /* for 95 % */

/* Work that was distributed together. */
struct kind {
	uint32_t pid, leaf;   /* a frame */
	uint32_t gpu, stream; /* labels: strings */
	double samples;
	int64_t sum; /* of the whole kind, regardless of filters */
};
/* The distances of a function's limits from its sums. */
struct spread {
	int64_t self, total;                               /* of the current kind */
	double self_low, self_high, total_low, total_high; /* squares */
	uint64_t seen;                                     /* the last row that reached it */
};
struct estimates {
	struct tree *tree;
	VEC(struct kind) kinds;
	struct map kind_of;
	VEC(uint32_t) touched;  /* functions, of the current kind */
	struct spread *by_func; /* of tree */
	struct map func_of;     /* by name */
	uint64_t rows;
	int64_t total;
};

/* --- kinds ------------------------------------------------------------------------------------ */

struct keys {
	uint32_t from, gpu, stream; /* strings */
};

static const struct label *label_of(const struct profile *p, uint32_t key, uint32_t row)
{
	uint32_t set = p->series.series.v[p->samples.series[row]].labels;
	return key == UINT32_MAX ? NULL : label_find(&p->series, set, key);
}

static uint32_t text_of(const struct profile *p, uint32_t key, uint32_t row)
{
	const struct label *l = label_of(p, key, row);
	return l && !l->is_num ? l->str : 0;
}

static double samples_of(const struct profile *p, uint32_t key, uint32_t row)
{
	const struct label *l = label_of(p, key, row);
	if (!l)
		return 0;
	return l->is_num ? (double)l->num : strtod(profile_str(p, l->str), NULL);
}

struct kind_want {
	const struct estimates *e;
	struct kind kind;
};

static bool same_kind(const void *ctx, uint32_t i)
{
	const struct kind_want *w = ctx;
	const struct kind *k = &w->e->kinds.v[i];
	return k->pid == w->kind.pid && k->leaf == w->kind.leaf && k->gpu == w->kind.gpu &&
	       k->stream == w->kind.stream && k->samples == w->kind.samples;
}

/* Returns UINT32_MAX if the row is no estimate. */
static uint32_t kind_of(struct estimates *e, const struct profile *p, const struct keys *keys,
			uint32_t row)
{
	struct kind_want w = { e, { .samples = samples_of(p, keys->from, row) } };
	if (!(w.kind.samples >= 1))
		return UINT32_MAX;
	w.kind.pid = p->samples.pid[row];
	w.kind.leaf = stack_leaf(&p->stacks, p->samples.stack[row]);
	w.kind.gpu = text_of(p, keys->gpu, row);
	w.kind.stream = text_of(p, keys->stream, row);
	uint64_t hash =
		hash_mix(hash_mix(w.kind.pid, w.kind.leaf), hash_mix(w.kind.gpu, w.kind.stream));
	uint32_t i = map_intern(&e->kind_of, hash, e->kinds.n, same_kind, &w);
	if (i == e->kinds.n)
		vec_push(&e->kinds, w.kind);
	return i;
}

static void find_kinds(struct estimates *e, const struct profile *p, uint32_t type,
		       const struct keys *keys)
{
	for (uint32_t row = 0; row < p->samples.n; row++) {
		if (p->series.series.v[p->samples.series[row]].type != type)
			continue;
		uint32_t kind = kind_of(e, p, keys, row);
		if (kind != UINT32_MAX)
			e->kinds.v[kind].sum = sum_add(e->kinds.v[kind].sum, p->samples.value[row]);
	}
}

/* --- functions -------------------------------------------------------------------------------- */

struct estimated {
	uint32_t kind, node;
	int64_t value;
};

static int compare_estimated(const void *a, const void *b)
{
	const struct estimated *x = a, *y = b;
	return x->kind < y->kind ? -1 : x->kind > y->kind;
}

static struct spread *touch(struct estimates *e, uint32_t func)
{
	struct spread *s = &e->by_func[func];
	if (!s->self && !s->total)
		vec_push(&e->touched, func);
	return s;
}

/* A function counts once on a path to the root. */
static void add_row(struct estimates *e, const struct estimated *row)
{
	const struct tree_node *nodes = e->tree->nodes.v;
	struct spread *leaf = touch(e, nodes[row->node].func);
	leaf->self = sum_add(leaf->self, row->value);
	e->rows++;
	for (uint32_t node = row->node; node != TREE_NONE; node = nodes[node].parent) {
		struct spread *s = touch(e, nodes[node].func);
		if (s->seen == e->rows)
			continue;
		s->seen = e->rows;
		s->total = sum_add(s->total, row->value);
	}
}

/* Adds the squared distances of the limits of a share of a kind, in its unit. */
static void add_distance(const struct kind *k, int64_t part, double *low, double *high)
{
	double n = k->samples, p = k->sum > 0 ? (double)part / (double)k->sum : 0;
	if (p <= 0 || p >= 1)
		return;
	double around = 1 + Z * Z / n, centre = (p + Z * Z / (2 * n)) / around;
	double half = Z * sqrt(p * (1 - p) / n + Z * Z / (4 * n * n)) / around;
	double below = (p - (centre - half)) * (double)k->sum;
	double above = (centre + half - p) * (double)k->sum;
	*low += below * below;
	*high += above * above;
}

static void end_kind(struct estimates *e, const struct kind *k)
{
	for (size_t i = 0; i < e->touched.n; i++) {
		struct spread *s = &e->by_func[e->touched.v[i]];
		add_distance(k, s->self, &s->self_low, &s->self_high);
		add_distance(k, s->total, &s->total_low, &s->total_high);
		s->self = s->total = 0;
	}
	vec_clear(&e->touched);
}

static void add_rows(struct estimates *e, const struct profile *p, const struct keys *keys,
		     const struct tree_samples *samples)
{
	VEC(struct estimated) rows = { 0 };
	for (size_t i = 0; i < samples->rows.n; i++) {
		const struct tree_sample *s = &samples->rows.v[i];
		uint32_t kind = kind_of(e, p, keys, s->row);
		if (kind != UINT32_MAX)
			vec_push(&rows, (struct estimated){ kind, s->node, s->value });
	}
	if (rows.n)
		qsort(rows.v, rows.n, sizeof *rows.v, compare_estimated);
	for (size_t i = 0; i < rows.n; i++) {
		add_row(e, &rows.v[i]);
		e->total = sum_add(e->total, rows.v[i].value);
		if (i + 1 == rows.n || rows.v[i + 1].kind != rows.v[i].kind)
			end_kind(e, &e->kinds.v[rows.v[i].kind]);
	}
	vec_done(&rows);
}

static void add_windows(struct estimates *e, const struct profile *p, uint32_t type,
			const struct tree_samples *samples)
{
	struct window_spread *of = xcalloc(e->tree->funcs.n + 1, sizeof *of);

	e->total = sum_add(e->total, window_spread(p, e->tree, samples, of));
	e->total = sum_add(e->total, period_spread(p, e->tree, type, samples, of));
	for (uint32_t i = 0; i < e->tree->funcs.n; i++) {
		struct spread *s = &e->by_func[i];
		s->self_low += Z * Z * of[i].self;
		s->self_high += Z * Z * of[i].self;
		s->total_low += Z * Z * of[i].total;
		s->total_high += Z * Z * of[i].total;
	}
	free(of);
}

/* --- by name ---------------------------------------------------------------------------------- */

static uint64_t name_hash(const struct tree *t, uint32_t func)
{
	const struct tree_func *f = &t->funcs.v[func];
	const char *texts[] = { strtab_get(&t->strings, f->name),
				strtab_get(&t->strings, f->binary),
				strtab_get(&t->strings, f->file) };
	uint64_t hash = f->kind;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		hash = hash_mix(hash, hash_bytes(texts[i], strlen(texts[i])));
	return hash;
}

/* An inlined and a called function are one, as in top tables. */
static void name_funcs(struct estimates *e)
{
	for (uint32_t i = 0; i < e->tree->funcs.n; i++) {
		uint32_t first = map_intern(&e->func_of, name_hash(e->tree, i), i, NULL, NULL);
		struct spread *to = &e->by_func[first], *from = &e->by_func[i];
		if (first == i)
			continue;
		to->self_low += from->self_low;
		to->self_high += from->self_high;
		to->total_low += from->total_low;
		to->total_high += from->total_high;
	}
}

/* --- all together ----------------------------------------------------------------------------- */

static struct estimates *estimates_new(struct tree *t)
{
	struct estimates *e = xcalloc(1, sizeof *e);
	e->tree = t;
	e->by_func = xcalloc(t->funcs.n + 1, sizeof *e->by_func);
	return e;
}

int estimates_build(struct profile *p, const struct tree_opts *opts, struct estimates **out,
		    struct err *err)
{
	struct keys keys = { strtab_find(&p->strings, ESTIMATE_LABEL),
			     strtab_find(&p->strings, "gpu"), strtab_find(&p->strings, "stream") };
	struct tree_opts plain = *opts;
	struct tree_samples samples = { 0 };
	struct tree *tree = NULL;
	*out = NULL;
	if (keys.from == UINT32_MAX && strtab_find(&p->strings, WINDOWS_LABEL) == UINT32_MAX &&
	    !has_own_period(p, opts->type))
		return 0;
	plain.with_spread = plain.inverted = false;
	plain.max_depth = 0;
	int rc = tree_build_samples(p, &plain, &tree, &samples, err);
	if (rc == 0) {
		*out = estimates_new(tree);
		find_kinds(*out, p, opts->type, &keys);
		add_rows(*out, p, &keys, &samples);
		add_windows(*out, p, opts->type, &samples);
		name_funcs(*out);
	}
	vec_done(&samples.rows);
	if (*out && !(*out)->kinds.n && !(*out)->total) {
		estimates_free(*out);
		*out = NULL;
	}
	return rc;
}

void estimates_free(struct estimates *e)
{
	if (!e)
		return;
	tree_free(e->tree);
	vec_done(&e->kinds);
	vec_done(&e->touched);
	map_done(&e->kind_of);
	map_done(&e->func_of);
	free(e->by_func);
	free(e);
}

int64_t estimates_total(const struct estimates *e)
{
	return e->total;
}

static int64_t moved(int64_t value, double square, int sign)
{
	double to = (double)value + sign * sqrt(square);
	return to < 0 ? 0 : to > (double)(INT64_MAX / 2) ? INT64_MAX / 2 : llround(to);
}

struct estimate estimates_get(const struct estimates *e, const struct tree *t, uint32_t func,
			      int64_t self, int64_t total)
{
	static const struct spread exact = { 0 };
	const uint32_t *own = map_get(&e->func_of, name_hash(t, func));
	const struct spread *s = own ? &e->by_func[*own] : &exact;
	return (struct estimate){ moved(self, s->self_low, -1), moved(self, s->self_high, 1),
				  moved(total, s->total_low, -1), moved(total, s->total_high, 1) };
}
