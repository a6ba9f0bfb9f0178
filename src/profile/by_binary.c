#include "profile/by_binary.h"

#include "profile/sum.h"

#include <stdio.h>

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
