#include "profile/tree_sums.h"

#include "profile/sum.h"
#include "profile/tree_stacks.h"

int tree_sums_begin(struct tree_sums *s, const struct tree_opts *opts, struct err *err)
{
	*s = (struct tree_sums){ .opts = opts };
	int rc = tree_filter_init(&s->filter, opts, err);
	if (rc < 0)
		tree_filter_done(&s->filter);
	else
		s->t = tree_new();
	return rc;
}

void tree_sums_unit(struct tree_sums *s, const char *type_name, const struct value_scale *scale)
{
	tree_set_unit(s->t, type_name, scale->unit, scale->scale, scale->scaled_unit);
}

uint32_t tree_sums_root(struct tree_sums *s, const char *const *names, uint32_t n)
{
	uint32_t node = TREE_ROOT;
	s->n_roots = n;
	for (uint32_t i = 0; i < n; i++) {
		struct tree_func f = { .name = strtab_put(&s->t->strings, names[i]),
				       .kind = FRAME_MARKER };
		node = tree_child(s->t, node, tree_func_intern(s->t, &f));
	}
	return node;
}

static void add_spread(struct tree *t, uint32_t node, const struct stack_values *sums, uint32_t i)
{
	double factor = sums->factor;
	struct tree_spread spread = { .n = sums->value[i],
				      .squares = sums->value[i] * factor * factor };
	if (sums->count)
		spread = (struct tree_spread){ sums->count[i], sums->squares[i] * factor * factor };
	tree_spreads_grow(t);
	tree_spread_add(&t->spreads.v[node].self, spread);
}

static void add_sum(struct tree_sums *s, struct tree_stacks *stacks, uint32_t number,
		    const struct stack_values *sums, uint32_t i)
{
	int64_t value = sum_mul(sums->value[i], sums->factor);
	s->t->unfiltered_total = sum_add(s->t->unfiltered_total, value);
	if (!tree_stacks_pass(stacks, number))
		return;
	uint32_t id = tree_stacks_node(stacks, number);
	struct tree_node *node = &s->t->nodes.v[id];
	node->self = sum_add(node->self, value);
	s->t->n_samples += sums->rows ? sums->rows[i] : 0;
	if (s->opts->with_spread)
		add_spread(s->t, id, sums, i);
}

void tree_sums_add(struct tree_sums *s, struct profile *dict, uint32_t root,
		   const struct stack_values *sums)
{
	struct tree_stacks stacks;
	uint32_t *number = xreallocarray(NULL, sums->n, sizeof *number);
	tree_stacks_init(&stacks, dict, s->t, s->opts, &s->filter, sums->stack, sums->n);
	for (uint32_t i = 0; i < sums->n; i++)
		number[i] = tree_stacks_number(&stacks, sums->stack[i]);
	tree_stacks_group(&stacks, root);
	for (uint32_t i = 0; i < sums->n; i++) {
		tree_stacks_prefetch(&stacks, number, sums->n, i);
		add_sum(s, &stacks, number[i], sums, i);
	}
	tree_stacks_done(&stacks);
	free(number);
}

struct tree *tree_sums_end(struct tree_sums *s)
{
	tree_finish(s->t, s->opts, s->n_roots);
	tree_filter_done(&s->filter);
	return s->t;
}
