/* Lists the nodes of a tree in pre-order; small ones become rests. */
#include "format/common/outline.h"

#include "base/mem.h"
#include "profile/sum.h"

#include <string.h>

struct outliner {
	const struct tree *tree;
	enum tree_order order;
	int64_t min_total;
	uint32_t *frames;                /* number in each subtree, including its root */
	VEC(struct outline_row) pending; /* the next one is the last */
};

static int row_by_name(const struct tree *t, const struct outline_row *x,
		       const struct outline_row *y)
{
	const struct tree_func *f = &t->funcs.v[t->nodes.v[x->node].func];
	const struct tree_func *g = &t->funcs.v[t->nodes.v[y->node].func];
	int order = strcmp(strtab_get(&t->strings, f->name), strtab_get(&t->strings, g->name));
	order = order ? order : f->kind - g->kind;
	order = order ? order
		      : strcmp(strtab_get(&t->strings, f->binary),
			       strtab_get(&t->strings, g->binary));
	return order ? order : x->node < y->node ? -1 : 1;
}

/* Compares in reverse, because rows are popped from a stack. The row of omitted nodes is always
 * shown last. */
static int row_order(const void *a, const void *b, void *arg)
{
	const struct outliner *o = arg;
	const struct outline_row *x = b, *y = a;
	if (x->below || y->below)
		return x->below ? 1 : -1;
	if (o->order == ORDER_TOTAL && x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (o->order == ORDER_TOTAL && x->other_total != y->other_total)
		return x->other_total > y->other_total ? -1 : 1;
	return row_by_name(o->tree, x, y);
}

static void push_children(struct outliner *o, const struct outline_row *parent)
{
	const struct tree_node *nodes = o->tree->nodes.v;
	struct outline_row rest = { .node = parent->node, .depth = parent->depth + 1 };
	size_t first = o->pending.n;
	for (uint32_t c = nodes[parent->node].first_child; c != TREE_NONE; c = nodes[c].next) {
		const struct tree_node *n = &nodes[c];
		if (n->total < o->min_total && n->other_total < o->min_total) {
			rest.below += o->frames[c];
			rest.total = sum_add(rest.total, n->total);
			rest.other_total = sum_add(rest.other_total, n->other_total);
			continue;
		}
		vec_push(&o->pending, (struct outline_row){ .node = c,
							    .depth = rest.depth,
							    .total = n->total,
							    .other_total = n->other_total });
	}
	if (rest.below > 0)
		vec_push(&o->pending, rest);
	size_t n = o->pending.n - first;
	if (n == 0)
		return;
	struct outline_row *rows = o->pending.v + first;
	qsort_r(rows, n, sizeof *rows, row_order, o);
	rows[0].last = true;
	rows[0].only = n == 1;
}

void outline_build(const struct tree *t, enum tree_order order, int64_t min_total,
		   struct outline *out)
{
	uint32_t *frames = xcalloc(t->nodes.n, sizeof *frames); /* by node: number in its subtree */
	for (uint32_t i = t->nodes.n; i-- > 1;) {
		frames[i]++;
		frames[t->nodes.v[i].parent] += frames[i];
	}
	struct outliner o = { t, order, min_total, frames, { 0 } };
	const struct tree_node *root = &t->nodes.v[TREE_ROOT];
	vec_push(&o.pending, (struct outline_row){ .node = TREE_ROOT,
						   .last = true,
						   .only = true,
						   .total = root->total,
						   .other_total = root->other_total });
	while (o.pending.n > 0) {
		struct outline_row row = o.pending.v[--o.pending.n];
		vec_push(&out->rows, row);
		out->depth = row.depth + 1 > out->depth ? row.depth + 1 : out->depth;
		if (!row.below)
			push_children(&o, &row);
	}
	vec_done(&o.pending);
	free(frames);
}

void outline_done(struct outline *o)
{
	vec_done(&o->rows);
}
