/* Sums by function over the tree, each stack once per function. */
#include "profile/tree/top.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "profile/sum.h"

#include <errno.h>
#include <string.h>

/* --- walking --- */

/* Visits all nodes but the root, on entry and again on leaving, parents first; without
 * recursion. */
struct walk {
	const struct tree *t;
	uint32_t node;
	bool leaving;
};

static bool walk_next(struct walk *w)
{
	const struct tree_node *n = &w->t->nodes.v[w->node];
	if (!w->leaving && n->first_child != TREE_NONE) {
		w->node = n->first_child;
	} else if (!w->leaving) {
		w->leaving = true;
	} else if (n->next != TREE_NONE) {
		w->node = n->next;
		w->leaving = false;
	} else {
		w->node = n->parent;
	}
	return w->node != TREE_ROOT;
}

/* --- the table --- */

/* Returns the row of each function of the tree, the same for inlined and called ones. */
static uint32_t *func_rows(const struct tree *t, struct top_table *out)
{
	uint32_t *row = xreallocarray(NULL, t->funcs.n, sizeof *row);
	struct tree called = { 0 }; /* only its funcs are used: all of t, none inlined */
	for (uint32_t i = 0; i < t->funcs.n; i++) {
		struct tree_func f = t->funcs.v[i];
		f.inlined = false;
		row[i] = tree_func_intern(&called, &f);
		if (row[i] == out->rows.n)
			vec_push(&out->rows, (struct top_row){ .func = i });
	}
	vec_done(&called.funcs);
	map_done(&called.func_index);
	return row;
}

void top_sums(const struct tree *t, const uint32_t *row, struct top_row *rows, size_t n_rows)
{
	uint32_t *on_path = xcalloc(n_rows, sizeof *on_path);
	struct walk w = { .t = t };
	while (walk_next(&w)) {
		const struct tree_node *n = &t->nodes.v[w.node];
		struct top_row *r = &rows[row[n->func]];
		if (w.leaving) {
			on_path[row[n->func]]--;
			continue;
		}
		bool is_outermost = on_path[row[n->func]]++ == 0;
		r->self = sum_add(r->self, n->self);
		r->other_self = sum_add(r->other_self, n->other_self);
		if (is_outermost) {
			r->total = sum_add(r->total, n->total);
			r->other_total = sum_add(r->other_total, n->other_total);
		}
		if (t->spreads.n)
			tree_spread_add(&r->spread.self, t->spreads.v[w.node].self);
		if (t->spreads.n && is_outermost)
			tree_spread_add(&r->spread.total, t->spreads.v[w.node].total);
	}
	free(on_path);
}

static bool is_zero(const struct top_row *r)
{
	return !r->self && !r->total && !r->other_self && !r->other_total;
}

static int row_cmp(const void *a, const void *b, void *ctx)
{
	const struct tree *t = ctx;
	const struct top_row *x = a, *y = b;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	int order = strcmp(strtab_get(&t->strings, t->funcs.v[x->func].name),
			   strtab_get(&t->strings, t->funcs.v[y->func].name));
	return order ? order : x->func < y->func ? -1 : x->func > y->func;
}

void top_build(const struct tree *t, struct top_table *out)
{
	*out = (struct top_table){ .total = t->nodes.v[TREE_ROOT].total };
	uint32_t *row = func_rows(t, out);
	top_sums(t, row, out->rows.v, out->rows.n);
	free(row);
	size_t kept = 0;
	for (size_t i = 0; i < out->rows.n; i++)
		if (!is_zero(&out->rows.v[i]))
			out->rows.v[kept++] = out->rows.v[i];
	out->rows.n = kept;
	qsort_r(out->rows.v, kept, sizeof *out->rows.v, row_cmp, (void *)t);
}

void top_done(struct top_table *t)
{
	vec_done(&t->rows);
}

/* --- callers and callees --- */

struct around {
	const struct tree *t;
	uint32_t name; /* of the requested function: a string of t */
	struct tree *callers, *callees;
	uint32_t *callee; /* by node of t inside the function: its node in callees */
};

static bool is_asked(const struct around *a, uint32_t node)
{
	return a->t->funcs.v[a->t->nodes.v[node].func].name == a->name;
}

static struct tree *around_new(const struct tree *t, uint32_t func)
{
	struct tree *n = tree_new();
	tree_take_unit(n, t);
	n->is_diff = t->is_diff;
	n->unfiltered_total = t->unfiltered_total;
	n->funcs.v[0] = n->funcs.v[tree_func_copy(n, t, func)];
	return n;
}

/* Adds the total of an outermost node at the end of its path to the root. */
static void add_callers(struct around *a, uint32_t node)
{
	const struct tree_node *nodes = a->t->nodes.v;
	uint32_t to = TREE_ROOT;
	for (uint32_t up = nodes[node].parent; up != TREE_ROOT; up = nodes[up].parent)
		to = tree_child(a->callers, to, tree_func_copy(a->callers, a->t, nodes[up].func));
	struct tree_node *end = &a->callers->nodes.v[to];
	end->self = sum_add(end->self, nodes[node].total);
	end->other_self = sum_add(end->other_self, nodes[node].other_total);
}

static void add_callee(struct around *a, uint32_t node, bool is_outermost)
{
	const struct tree_node *n = &a->t->nodes.v[node];
	a->callee[node] = TREE_ROOT;
	if (!is_outermost)
		a->callee[node] = tree_child(a->callees, a->callee[n->parent],
					     tree_func_copy(a->callees, a->t, n->func));
	struct tree_node *to = &a->callees->nodes.v[a->callee[node]];
	to->self = sum_add(to->self, n->self);
	to->other_self = sum_add(to->other_self, n->other_self);
}

static void around_run(struct around *a)
{
	struct walk w = { .t = a->t };
	uint32_t inside = 0; /* nodes of the function on the path */
	while (walk_next(&w)) {
		if (w.leaving) {
			inside -= is_asked(a, w.node);
			continue;
		}
		bool is_outermost = !inside && is_asked(a, w.node);
		inside += is_asked(a, w.node);
		if (is_outermost)
			add_callers(a, w.node);
		if (inside)
			add_callee(a, w.node, is_outermost);
	}
}

static int no_such_function(const struct tree *t, const char *fn, struct err *err)
{
	VEC(const char *) names = { 0 };
	for (uint32_t i = 1; i < t->funcs.n; i++)
		vec_push(&names, strtab_get(&t->strings, t->funcs.v[i].name));
	const char *nearest = str_nearest(fn, names.v, names.n);
	err_set(err, ENOENT, "no function is called '%s'", fn);
	if (nearest)
		err_hint(err, "the nearest name is '%s'", nearest);
	vec_done(&names);
	return -ENOENT;
}

/* Returns the first function with this name that has a node; TREE_NONE if none. */
static uint32_t find_func(const struct tree *t, uint32_t name)
{
	for (uint32_t id = 1; id < t->nodes.n; id++)
		if (t->funcs.v[t->nodes.v[id].func].name == name)
			return t->nodes.v[id].func;
	return TREE_NONE;
}

int top_callers(const struct tree *t, const char *fn, struct tree **callers, struct tree **callees,
		struct err *err)
{
	struct around a = { .t = t, .name = strtab_find(&t->strings, fn) };
	uint32_t func = find_func(t, a.name);
	if (func == TREE_NONE)
		return no_such_function(t, fn, err);
	a.callers = around_new(t, func);
	a.callees = around_new(t, func);
	a.callers->is_inverted = true;
	a.callee = xreallocarray(NULL, t->nodes.n, sizeof *a.callee);
	around_run(&a);
	free(a.callee);
	tree_total(a.callers);
	tree_total(a.callees);
	*callers = a.callers;
	*callees = a.callees;
	return 0;
}
