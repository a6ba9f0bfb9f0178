/* Changes the shape of a finished tree: inverting, sorting, pruning and cutting. */
#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "profile/frame.h"
#include "profile/sum.h"
#include "profile/tree/tree.h"
#include "profile/tree/tree_path.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static uint32_t *node_depths(const struct tree *t)
{
	uint32_t *depth = xcalloc(t->nodes.n, sizeof *depth);
	for (uint32_t id = 1; id < t->nodes.n; id++)
		depth[id] = depth[t->nodes.v[id].parent] + 1;
	return depth;
}

uint32_t tree_depth(const struct tree *t)
{
	uint32_t *depth = node_depths(t), deepest = 0;
	for (uint32_t id = 1; id < t->nodes.n; id++)
		deepest = depth[id] > deepest ? depth[id] : deepest;
	free(depth);
	return deepest;
}

/* --- inverting ------- */

void tree_invert(struct tree *t, uint32_t keep)
{
	struct tree_node *old = t->nodes.v;
	uint32_t n_old = t->nodes.n, *depth = node_depths(t);
	/* The kept node of the new tree above the inverted stacks. */
	uint32_t *anchor = xcalloc(n_old, sizeof *anchor);

	memset(&t->nodes, 0, sizeof t->nodes);
	map_clear(&t->child_index);
	vec_push(&t->nodes, old[TREE_ROOT]);
	t->nodes.v[TREE_ROOT].first_child = TREE_NONE;
	for (uint32_t id = 1; id < n_old; id++) {
		const struct tree_node *n = &old[id];
		anchor[id] = anchor[n->parent];
		if (depth[id] <= keep)
			anchor[id] = tree_child(t, anchor[id], n->func);
		if (!n->self && !n->other_self)
			continue;
		/* The self value belongs to the end of the path from leaf to root. */
		uint32_t turned = anchor[id];
		for (uint32_t up = id; depth[up] > keep; up = old[up].parent)
			turned = tree_child(t, turned, old[up].func);
		struct tree_node *to = &t->nodes.v[turned];
		to->self = sum_add(to->self, n->self);
		to->other_self = sum_add(to->other_self, n->other_self);
	}
	free(old);
	free(depth);
	free(anchor);
	t->is_inverted = !t->is_inverted;
	tree_total(t);
}

/* --- sorting --- */

static int func_cmp(const void *a, const void *b, void *ctx)
{
	const struct tree *t = ctx;
	const struct tree_func *x = &t->funcs.v[*(const uint32_t *)a];
	const struct tree_func *y = &t->funcs.v[*(const uint32_t *)b];
	int order = strcmp(strtab_get(&t->strings, x->name), strtab_get(&t->strings, y->name));
	order = order ? order : x->kind - y->kind;
	order = order ? order : x->inlined - y->inlined;
	order = order ? order
		      : strcmp(strtab_get(&t->strings, x->binary),
			       strtab_get(&t->strings, y->binary));
	return order ? order
		     : strcmp(strtab_get(&t->strings, x->file), strtab_get(&t->strings, y->file));
}

/* Returns the rank of each function in the order of names. */
static uint32_t *func_ranks(struct tree *t)
{
	uint32_t *order = xreallocarray(NULL, t->funcs.n, sizeof *order);
	uint32_t *rank = xreallocarray(NULL, t->funcs.n, sizeof *rank);
	for (uint32_t i = 0; i < t->funcs.n; i++)
		order[i] = i;
	qsort_r(order, t->funcs.n, sizeof *order, func_cmp, t);
	for (uint32_t i = 0; i < t->funcs.n; i++)
		rank[order[i]] = i;
	free(order);
	return rank;
}

struct sibling {
	bool is_rest;
	int64_t total, other_total; /* 0 when ordered by name */
	uint32_t rank, id;
};

static int sibling_cmp(const void *a, const void *b)
{
	const struct sibling *x = a, *y = b;
	if (x->is_rest != y->is_rest)
		return x->is_rest ? 1 : -1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->other_total != y->other_total)
		return x->other_total > y->other_total ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

void tree_sort(struct tree *t, enum tree_order order)
{
	struct tree_node *nodes = t->nodes.v;
	uint32_t *rank = func_ranks(t);
	VEC(struct sibling) list = { 0 };
	bool by_total = order == ORDER_TOTAL;
	for (uint32_t id = 0; id < t->nodes.n; id++) {
		vec_clear(&list);
		for (uint32_t c = nodes[id].first_child; c != TREE_NONE; c = nodes[c].next)
			vec_push(&list,
				 (struct sibling){ t->funcs.v[nodes[c].func].kind == FRAME_REST,
						   by_total ? nodes[c].total : 0,
						   by_total ? nodes[c].other_total : 0,
						   rank[nodes[c].func], c });
		if (list.n < 2)
			continue;
		qsort(list.v, list.n, sizeof *list.v, sibling_cmp);
		uint32_t next = TREE_NONE;
		for (size_t i = list.n; i--; next = list.v[i].id)
			nodes[list.v[i].id].next = next;
		nodes[id].first_child = next;
	}
	vec_done(&list);
	free(rank);
}

/* --- pruning and cutting --- */

/* Unlinks the removed nodes from the list of n's children. Links are set to new ids immediately: a
 * child comes after its parent, so it is moved later, with its links. */
static void compact_children(struct tree *t, struct tree_node *n, const uint32_t *new_id)
{
	uint32_t *link = &n->first_child;
	for (uint32_t c = n->first_child, next; c != TREE_NONE; c = next) {
		next = t->nodes.v[c].next;
		if (new_id[c] == TREE_NONE)
			continue;
		*link = new_id[c];
		link = &t->nodes.v[c].next;
	}
	*link = TREE_NONE;
}

/* Moves every node to its new id, which is at most its old one; removes those with TREE_NONE and
 * all below them. */
static void tree_compact(struct tree *t, const uint32_t *new_id)
{
	uint32_t kept = 0;
	for (uint32_t id = 0; id < t->nodes.n; id++) {
		if (new_id[id] == TREE_NONE)
			continue;
		struct tree_node n = t->nodes.v[id];
		compact_children(t, &n, new_id);
		if (id != TREE_ROOT)
			n.parent = new_id[n.parent];
		if (t->spreads.n)
			t->spreads.v[kept] = t->spreads.v[id];
		if (t->other_spreads.n)
			t->other_spreads.v[kept] = t->other_spreads.v[id];
		t->nodes.v[kept++] = n;
	}
	t->nodes.n = kept;
	t->spreads.n = t->spreads.n ? kept : 0;
	t->other_spreads.n = t->other_spreads.n ? kept : 0;
}

/* The replacement of the pruned children of one node. */
struct rest {
	uint32_t parent; /* new id */
	uint32_t n;      /* number of nodes removed */
	int64_t total, other_total;
	struct tree_spread spread, other_spread;
};
/* The smallest total of a node that stays, by side. */
struct limit {
	int64_t total, other_total;
};
struct pruning {
	uint32_t *new_id;
	/* by node: the rest below it, or that includes it; index + 1, 0 = none */
	uint32_t *rest_of;
	VEC(struct rest) rests;
	uint32_t gone;
	struct limit limit;
	/* For nodes below the end of a path. */
	double share;
	const struct tree_path *zoom;
	uint32_t *step; /* by node, NULL: no path */
	struct limit zoomed;
};

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

static bool is_below(const struct tree_node *n, const struct limit *limit)
{
	return limit->total > 0 && magnitude(n->total) < (uint64_t)limit->total &&
	       magnitude(n->other_total) < (uint64_t)limit->other_total;
}

static struct limit share_limit(const struct tree_node *n, double share)
{
	return (struct limit){ tree_min_total(n->total, share),
			       tree_min_total(n->other_total, share) };
}

/* Whether a node stays, given that its parent does. */
static bool stays(struct pruning *p, const struct tree *t, uint32_t id)
{
	const struct tree_node *n = &t->nodes.v[id];
	if (!p->step)
		return !is_below(n, &p->limit);
	uint32_t above = p->step[n->parent];
	p->step[id] = tree_path_step(p->zoom, above, t, n->func);
	if (tree_path_is_end(p->zoom, above))
		return !is_below(n, &p->zoomed);
	if (tree_path_is_end(p->zoom, p->step[id]))
		p->zoomed = share_limit(n, p->share);
	return p->step[id] != PATH_OFF || !is_below(n, &p->limit);
}

/* Adds a topmost removed node to the rest below its parent. */
static void prune_top(struct pruning *p, const struct tree *t, uint32_t id)
{
	const struct tree_node *n = &t->nodes.v[id];
	if (!p->rest_of[n->parent]) {
		vec_push(&p->rests, (struct rest){ .parent = p->new_id[n->parent] });
		p->rest_of[n->parent] = p->rests.n;
	}
	struct rest *r = &p->rests.v[p->rest_of[n->parent] - 1];
	r->total = sum_add(r->total, n->total);
	r->other_total = sum_add(r->other_total, n->other_total);
	if (t->spreads.n)
		tree_spread_add(&r->spread, t->spreads.v[id].total);
	if (t->other_spreads.n)
		tree_spread_add(&r->other_spread, t->other_spreads.v[id].total);
}

/* Decides for every node whether it is removed. */
static void prune_mark(struct pruning *p, const struct tree *t)
{
	p->new_id[TREE_ROOT] = TREE_ROOT;
	for (uint32_t id = 1; id < t->nodes.n; id++) {
		uint32_t parent = t->nodes.v[id].parent;
		bool parent_gone = p->new_id[parent] == TREE_NONE;
		if (!parent_gone && stays(p, t, id)) {
			p->new_id[id] = id - p->gone;
			continue;
		}
		if (!parent_gone)
			prune_top(p, t, id);
		p->new_id[id] = TREE_NONE;
		p->rest_of[id] = p->rest_of[parent];
		p->rests.v[p->rest_of[id] - 1].n++;
		p->gone++;
	}
}

static void add_amount(struct buf *text, const char *unit, int64_t v)
{
	if (strcmp(unit, "nanoseconds") == 0)
		fmt_duration(text, v);
	else if (strcmp(unit, "bytes") == 0)
		fmt_bytes(text, v);
	else
		fmt_count(text, v);
}

static void rest_name(const struct tree *t, uint32_t n, int64_t min_total, struct buf *text)
{
	if (n)
		buf_addf(text, "(%u frame%s", n, n == 1 ? "" : "s");
	else
		buf_adds(text, "(frames");
	if (min_total) {
		buf_adds(text, " below ");
		add_amount(text, t->unit, min_total);
	}
	buf_addc(text, ')');
}

uint32_t tree_rest_func(struct tree *t, uint32_t n, int64_t min_total)
{
	struct buf text = { 0 };
	rest_name(t, n, min_total, &text);
	struct tree_func f = { .name = strtab_putn(&t->strings, text.data, text.len),
			       .kind = FRAME_REST };
	buf_done(&text);
	return tree_func_intern(t, &f);
}

/* Adds a rest as the last of its siblings. */
static void rest_add(struct tree *t, const struct rest *r, int64_t min_total)
{
	struct tree_node n = { .parent = r->parent,
			       .first_child = TREE_NONE,
			       .next = TREE_NONE,
			       .func = tree_rest_func(t, r->n, min_total),
			       .self = r->total,
			       .total = r->total,
			       .other_self = r->other_total,
			       .other_total = r->other_total };
	uint32_t id = t->nodes.n;
	vec_push(&t->nodes, n);
	if (t->spreads.n)
		vec_push(&t->spreads, (struct tree_node_spread){ r->spread, r->spread });
	if (t->other_spreads.n)
		vec_push(&t->other_spreads,
			 (struct tree_node_spread){ r->other_spread, r->other_spread });
	uint32_t *link = &t->nodes.v[r->parent].first_child;
	while (*link != TREE_NONE)
		link = &t->nodes.v[*link].next;
	*link = id;
}

/* min_total: shown in the rests' names. */
static void prune(struct pruning *p, struct tree *t, int64_t min_total)
{
	p->rest_of = xcalloc(t->nodes.n, sizeof *p->rest_of);
	prune_mark(p, t);
	tree_compact(t, p->new_id);
	for (size_t i = 0; i < p->rests.n; i++)
		rest_add(t, &p->rests.v[i], min_total);
	tree_reindex(t);
	free(p->rest_of);
	vec_done(&p->rests);
}

uint32_t tree_prune(struct tree *t, int64_t min_total)
{
	struct pruning p = { .limit = { min_total, min_total } };
	p.new_id = xreallocarray(NULL, t->nodes.n, sizeof *p.new_id);
	prune(&p, t, min_total);
	free(p.new_id);
	return p.gone;
}

int64_t tree_min_total(int64_t total, double min_share)
{
	double min = ceil(fabs((double)total) * min_share);
	return min < 1 ? 1 : min < (double)INT64_MAX ? (int64_t)min : INT64_MAX;
}

uint32_t tree_prune_share(struct tree *t, double share, const struct tree_path *zoom,
			  uint32_t *new_id)
{
	struct pruning p = { .share = share, .zoom = zoom };
	uint32_t *own = new_id ? NULL : xreallocarray(NULL, t->nodes.n, sizeof *own);
	p.new_id = new_id ? new_id : own;
	p.limit = p.zoomed = share_limit(&t->nodes.v[TREE_ROOT], share);
	p.step = zoom ? xcalloc(t->nodes.n, sizeof *p.step) : NULL;
	prune(&p, t, zoom || t->is_diff ? 0 : p.limit.total);
	free(p.step);
	free(own);
	return p.gone;
}

void tree_cut(struct tree *t, uint32_t max_depth)
{
	uint32_t *depth = node_depths(t), *new_id = xreallocarray(NULL, t->nodes.n, sizeof *new_id);
	uint32_t kept = 0;
	for (uint32_t id = 0; id < t->nodes.n; id++) {
		struct tree_node *n = &t->nodes.v[id];
		new_id[id] = depth[id] <= max_depth ? kept++ : TREE_NONE;
		if (depth[id] == max_depth) {
			n->self = n->total;
			n->other_self = n->other_total;
		}
	}
	tree_compact(t, new_id);
	tree_reindex(t);
	free(depth);
	free(new_id);
}

/* --- binaries --------------------------------------------------------------------------------- */

static uint32_t binary_func(struct tree *to, const struct tree *t, uint32_t func)
{
	const struct tree_func *f = &t->funcs.v[func];
	struct tree_func binary = { .kind = f->kind };
	char kind[64];
	if (f->kind == FRAME_MARKER || f->kind == FRAME_REST)
		return tree_func_copy(to, t, func);
	snprintf(kind, sizeof kind, "[%s]", frame_kinds[f->kind].name);
	const char *name = strtab_get(&t->strings, f->binary);
	binary.name = strtab_put(&to->strings, *name ? name : kind);
	binary.binary = *name ? binary.name : 0;
	return tree_func_intern(to, &binary);
}

struct tree *tree_by_binary(const struct tree *t)
{
	struct tree *to = tree_new();
	uint32_t *func = xreallocarray(NULL, t->funcs.n, sizeof *func);
	uint32_t *node = xreallocarray(NULL, t->nodes.n, sizeof *node);
	tree_take_unit(to, t);
	to->is_diff = t->is_diff;
	to->is_inverted = t->is_inverted;
	to->other_factor = t->other_factor;
	to->n_negative = t->n_negative;
	to->whole = t->whole;
	to->is_marked = t->is_marked;
	to->unfiltered_total = t->unfiltered_total;
	to->n_samples = t->n_samples;
	for (uint32_t i = 0; i < t->funcs.n; i++)
		func[i] = i ? binary_func(to, t, i) : 0;
	for (uint32_t i = 0; i < t->nodes.n; i++) {
		const struct tree_node *n = &t->nodes.v[i];
		uint32_t parent = i == TREE_ROOT ? TREE_ROOT : node[n->parent];
		bool same = i == TREE_ROOT ||
			    (parent != TREE_ROOT && to->nodes.v[parent].func == func[n->func]);
		node[i] = same ? parent : tree_child(to, parent, func[n->func]);
		struct tree_node *sum = &to->nodes.v[node[i]];
		sum->self = sum_add(sum->self, n->self);
		sum->other_self = sum_add(sum->other_self, n->other_self);
	}
	tree_total(to);
	free(func);
	free(node);
	return to;
}
