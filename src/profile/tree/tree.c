/* Nodes in an array; children are found through a hash table. */
#include "profile/tree/tree.h"

#include "base/mem.h"
#include "profile/frame.h"
#include "profile/state.h"
#include "profile/sum.h"

#include <string.h>

/* Up to this many children are searched in their list, which costs no memory and one cache miss
 * each; if a parent has more, all its children are in child_index. Most nodes have one to
 * three. */
enum { TREE_SCAN = 8 };

static uint32_t tree_add(struct tree *t, uint32_t parent, uint32_t func)
{
	uint32_t id = t->nodes.n;
	vec_push(&t->nodes, (struct tree_node){ .parent = parent,
						.first_child = TREE_NONE,
						.next = TREE_NONE,
						.func = func });
	if (parent != TREE_NONE) {
		t->nodes.v[id].next = t->nodes.v[parent].first_child;
		t->nodes.v[parent].first_child = id;
	}
	return id;
}

struct tree *tree_new(void)
{
	struct tree *t = xcalloc(1, sizeof *t);
	strtab_init(&t->strings);
	t->type_name = t->unit = strtab_get(&t->strings, 0);
	struct tree_func root = { .name = strtab_put(&t->strings, "all"), .kind = FRAME_MARKER };
	tree_add(t, TREE_NONE, tree_func_intern(t, &root));
	return t;
}

void tree_free(struct tree *t)
{
	if (!t)
		return;
	strtab_done(&t->strings);
	vec_done(&t->funcs);
	vec_done(&t->nodes);
	vec_done(&t->spreads);
	vec_done(&t->other_spreads);
	map_done(&t->func_index);
	map_done(&t->child_index);
	free(t);
}

struct tree_func_key {
	const struct tree *t;
	const struct tree_func *f;
};

static bool tree_func_same(const void *ctx, uint32_t id)
{
	const struct tree_func_key *key = ctx;
	return tree_func_eq(&key->t->funcs.v[id], key->f);
}

uint32_t tree_func_intern(struct tree *t, const struct tree_func *f)
{
	struct tree_func_key key = { t, f };
	uint32_t fresh = t->funcs.n;
	uint32_t id = map_intern(&t->func_index, tree_func_hash(f), fresh, tree_func_same, &key);
	if (id == fresh)
		vec_push(&t->funcs, *f);
	return id;
}

static uint32_t own_string(struct tree *dst, const struct tree *src, uint32_t id)
{
	return strtab_putn(&dst->strings, strtab_get(&src->strings, id),
			   strtab_len(&src->strings, id));
}

uint32_t tree_func_copy(struct tree *dst, const struct tree *src, uint32_t func)
{
	struct tree_func f = src->funcs.v[func];
	f.name = own_string(dst, src, f.name);
	f.binary = own_string(dst, src, f.binary);
	f.file = own_string(dst, src, f.file);
	return tree_func_intern(dst, &f);
}

static const char *own_text(struct tree *t, const char *s)
{
	return s ? strtab_get(&t->strings, strtab_put(&t->strings, s)) : NULL;
}

void tree_set_unit(struct tree *t, const char *type_name, const char *unit, double scale,
		   const char *scaled_unit)
{
	t->type_name = own_text(t, type_name);
	t->unmarked = state_of_type(type_name);
	t->unit = own_text(t, unit);
	t->scale = scale;
	t->scaled_unit = own_text(t, scaled_unit);
}

void tree_take_unit(struct tree *dst, const struct tree *src)
{
	tree_set_unit(dst, src->type_name, src->unit, src->scale, src->scaled_unit);
	dst->unmarked = src->unmarked;
}

static uint64_t child_key(uint32_t parent, uint32_t func)
{
	return (uint64_t)parent << 32 | func;
}

static void index_children(struct tree *t, uint32_t parent)
{
	for (uint32_t c = t->nodes.v[parent].first_child; c != TREE_NONE; c = t->nodes.v[c].next)
		map_put(&t->child_index, child_key(parent, t->nodes.v[c].func), c);
}

static uint32_t indexed_child(struct tree *t, uint32_t parent, uint32_t func)
{
	uint32_t *child = map_get(&t->child_index, child_key(parent, func));
	if (child)
		return *child;
	uint32_t id = tree_add(t, parent, func);
	map_put(&t->child_index, child_key(parent, func), id);
	return id;
}

uint32_t tree_child(struct tree *t, uint32_t parent, uint32_t func)
{
	const struct tree_node *nodes = t->nodes.v;
	int n = 0;
	for (uint32_t c = nodes[parent].first_child; c != TREE_NONE; c = nodes[c].next) {
		if (n++ == TREE_SCAN)
			return indexed_child(t, parent, func);
		if (nodes[c].func == func)
			return c;
	}
	uint32_t id = tree_add(t, parent, func);
	if (n == TREE_SCAN)
		index_children(t, parent);
	return id;
}

uint32_t tree_find_child(const struct tree *t, uint32_t parent, uint32_t func)
{
	const struct tree_node *nodes = t->nodes.v;
	int n = 0;
	for (uint32_t c = nodes[parent].first_child; c != TREE_NONE; c = nodes[c].next) {
		if (n++ == TREE_SCAN) {
			const uint32_t *child = map_get(&t->child_index, child_key(parent, func));
			return child ? *child : TREE_NONE;
		}
		if (nodes[c].func == func)
			return c;
	}
	return TREE_NONE;
}

void tree_reindex(struct tree *t)
{
	map_clear(&t->child_index);
	for (uint32_t id = 0; id < t->nodes.n; id++) {
		int n = 0;
		for (uint32_t c = t->nodes.v[id].first_child; c != TREE_NONE && n <= TREE_SCAN;
		     c = t->nodes.v[c].next)
			n++;
		if (n > TREE_SCAN)
			index_children(t, id);
	}
}

static void total_spreads(const struct tree *t, struct tree_node_spread *spreads, size_t n)
{
	for (uint32_t id = 0; id < n; id++)
		spreads[id].total = spreads[id].self;
	for (uint32_t id = n; id-- > 1;)
		tree_spread_add(&spreads[t->nodes.v[id].parent].total, spreads[id].total);
}

void tree_total(struct tree *t)
{
	total_spreads(t, t->spreads.v, t->spreads.n);
	total_spreads(t, t->other_spreads.v, t->other_spreads.n);
	struct tree_node *nodes = t->nodes.v;
	for (uint32_t id = 0; id < t->nodes.n; id++) {
		nodes[id].total = nodes[id].self;
		nodes[id].other_total = nodes[id].other_self;
		nodes[id].first_child = TREE_NONE;
	}
	for (uint32_t id = t->nodes.n - 1; id > TREE_ROOT; id--) {
		struct tree_node *n = &nodes[id], *parent = &nodes[n->parent];
		parent->total = sum_add(parent->total, n->total);
		parent->other_total = sum_add(parent->other_total, n->other_total);
		n->next = parent->first_child;
		parent->first_child = id;
	}
}
