/* Trees of the container, with a limit on nodes. */
#include "format/html/container.h"

#include "base/mem.h"
#include "format/common/tree_bin.h"
#include "profile/sum.h"
#include "profile/tree/tree.h"

/* Numbers nodes in the order of writing: parents first, siblings in tree order. */
static void number_nodes(const struct tree *t, uint32_t *number)
{
	const struct tree_node *nodes = t->nodes.v;
	uint32_t id = TREE_ROOT, next = 0;
	while (id != TREE_NONE) {
		number[id] = next++;
		if (nodes[id].first_child != TREE_NONE) {
			id = nodes[id].first_child;
			continue;
		}
		while (id != TREE_ROOT && nodes[id].next == TREE_NONE)
			id = nodes[id].parent;
		id = id == TREE_ROOT ? TREE_NONE : nodes[id].next;
	}
}

/* --- trees that are too large --- */

static bool is_small(const struct tree *t, uint32_t id, int64_t least)
{
	const struct tree_node *n = &t->nodes.v[id];
	return id != TREE_ROOT && n->total < least && n->other_total < least;
}

/* Returns the smallest total of a node that stays, doubled until few enough are left. Each of them
 * may have a rest. */
static int64_t least_total(const struct tree *t, size_t max_nodes)
{
	int64_t least = 0;
	for (size_t n = t->nodes.n; n > max_nodes && least < INT64_MAX / 2; n *= 2) {
		least = least ? 2 * least : 2;
		n = 0;
		for (uint32_t i = 0; i < t->nodes.n; i++)
			n += !is_small(t, i, least);
	}
	return least;
}

/* Returns a copy without small nodes; place: the new number of each node. Nodes below a small one
 * are small as well, or, with negative values, are treated as small. */
static struct tree *copy_large(const struct tree *t, int64_t least, uint32_t *place)
{
	struct tree *copy = tree_new();
	/* By node: number of nodes omitted below it, counted at the nearest one that stays. */
	uint32_t *below = xcalloc(t->nodes.n, sizeof *below);
	bool *is_rest = xcalloc(t->nodes.n, sizeof *is_rest);
	for (uint32_t i = t->nodes.n; i-- > 1;)
		if (is_small(t, i, least))
			below[t->nodes.v[i].parent] += below[i] + 1;
	tree_take_unit(copy, t);
	copy->is_diff = t->is_diff;
	copy->is_inverted = t->is_inverted;
	copy->unfiltered_total = t->unfiltered_total;
	copy->other_unfiltered_total = t->other_unfiltered_total;
	for (uint32_t i = 0; i < t->nodes.n; i++) {
		uint32_t parent = i ? t->nodes.v[i].parent : TREE_ROOT;
		is_rest[i] = is_rest[parent] || is_small(t, i, least);
		if (is_rest[parent])
			place[i] = place[parent];
		else if (is_rest[i])
			place[i] = tree_child(copy, place[parent],
					      tree_rest_func(copy, below[parent], least));
		else if (i)
			place[i] = tree_child(copy, place[parent],
					      tree_func_copy(copy, t, t->nodes.v[i].func));
		struct tree_node *to = &copy->nodes.v[place[i]];
		to->self = sum_add(to->self, t->nodes.v[i].self);
		to->other_self = sum_add(to->other_self, t->nodes.v[i].other_self);
	}
	free(below);
	free(is_rest);
	tree_total(copy);
	return copy;
}

static uint32_t *put_large(const struct tree *t, size_t max_nodes, const struct tree_bin_opts *opts,
			   struct buf *b)
{
	uint32_t *place = xcalloc(t->nodes.n, sizeof *place);
	struct tree *copy = copy_large(t, least_total(t, max_nodes), place);
	uint32_t *number = xcalloc(copy->nodes.n, sizeof *number);
	tree_sort(copy, ORDER_NAME);
	tree_bin_write(copy, opts, b);
	number_nodes(copy, number);
	for (uint32_t i = 0; i < t->nodes.n; i++)
		place[i] = number[place[i]];
	free(number);
	tree_free(copy);
	return place;
}

uint32_t *container_put_tree(struct tree *t, size_t max_nodes, const char *norm, struct buf *b)
{
	struct tree_bin_opts opts = { .norm = norm };
	if (t->nodes.n > max_nodes)
		return put_large(t, max_nodes, &opts, b);
	uint32_t *number = xcalloc(t->nodes.n, sizeof *number);
	tree_sort(t, ORDER_NAME);
	tree_bin_write(t, &opts, b);
	number_nodes(t, number);
	return number;
}
