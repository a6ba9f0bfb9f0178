/* Adds sums by stack from several dictionaries. */
#include "profile/tree/tree_sums.h"

#include "base/mem.h"
#include "profile/frame.h"
#include "profile/sum.h"
#include "profile/tree/tree_stacks.h"
#include "profile/weight.h"

#include <stdlib.h>

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

static void add_all(struct tree_sums *s, struct profile *dict, uint32_t root,
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

/* --- with min_share -------------- */

static void hold(struct tree_sums *s, struct profile *dict, uint32_t root,
		 const struct stack_values *sums)
{
	bool asks = s->opts->focus || s->opts->ignore;
	struct tree_stacks stacks;
	struct tree_held held = { .dict = dict, .root = root };
	held.stack = xreallocarray(NULL, sums->n + 1, sizeof *held.stack);
	held.value = xreallocarray(NULL, sums->n + 1, sizeof *held.value);
	if (asks)
		tree_stacks_init(&stacks, dict, s->t, s->opts, &s->filter, sums->stack, sums->n);
	for (uint32_t i = 0; i < sums->n; i++) {
		bool passes =
			!asks ||
			tree_stacks_pass(&stacks, tree_stacks_number(&stacks, sums->stack[i]));
		int64_t value = sum_mul(sums->value[i], sums->factor);
		s->t->unfiltered_total = sum_add(s->t->unfiltered_total, value);
		held.stack[held.n] = sums->stack[i];
		held.value[held.n] = value;
		held.n += passes;
		s->t->n_samples += passes && sums->rows ? sums->rows[i] : 0;
	}
	if (asks)
		tree_stacks_done(&stacks);
	vec_push(&s->held, held);
}

void tree_sums_add(struct tree_sums *s, struct profile *dict, uint32_t root,
		   const struct stack_values *sums)
{
	if (s->opts->min_share > 0)
		hold(s, dict, root, sums);
	else
		add_all(s, dict, root, sums);
}

uint64_t tree_sums_bytes(const struct tree_sums *s)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < s->held.n; i++)
		bytes += s->held.v[i].n * (sizeof(uint32_t) + sizeof(int64_t));
	return bytes;
}

static int64_t held_total(const struct tree_held *h)
{
	int64_t total = 0;
	for (uint32_t i = 0; i < h->n; i++)
		total = sum_add(total, h->value[i]);
	return total;
}

/* Removes root frames that are too small, with all below them; the others get new ids. */
static void prune_roots(struct tree_sums *s)
{
	for (size_t i = 0; i < s->held.n; i++) {
		struct tree_node *node = &s->t->nodes.v[s->held.v[i].root];
		node->self = sum_add(node->self, held_total(&s->held.v[i]));
	}
	tree_total(s->t);
	uint32_t *new_id = xreallocarray(NULL, s->t->nodes.n, sizeof *new_id);
	tree_prune_share(s->t, s->opts->min_share, s->opts->zoom, new_id);
	for (size_t i = 0; i < s->held.n; i++) {
		struct tree_held *h = &s->held.v[i];
		h->root = new_id[h->root];
		if (h->root != TREE_NONE)
			s->t->nodes.v[h->root].self = 0;
	}
	free(new_id);
}

static int by_root(const void *a, const void *b)
{
	const struct tree_held *x = a, *y = b;
	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return x->dict < y->dict ? -1 : x->dict > y->dict;
}

/* Adds everything below one root at one time. Returns the start of the next root's entries. */
static size_t add_root(struct tree_sums *s, size_t from, int64_t min_total)
{
	VEC(struct tree_top_part) parts = { 0 };
	uint32_t root = s->held.v[from].root;
	for (; from < s->held.n && s->held.v[from].root == root; from++) {
		const struct tree_held *h = &s->held.v[from];
		vec_push(&parts, (struct tree_top_part){ h->dict, h->n, h->stack, h->value });
	}
	tree_top_add(s->t, s->opts, &s->filter, root, parts.v, parts.n, min_total);
	vec_done(&parts);
	return from;
}

static void add_held(struct tree_sums *s)
{
	if (!s->held.n)
		return;
	int64_t total = 0;
	for (size_t i = 0; i < s->held.n; i++)
		total = sum_add(total, held_total(&s->held.v[i]));
	int64_t min_total = tree_min_total(total, s->opts->min_share);
	if (s->n_roots)
		prune_roots(s);
	qsort(s->held.v, s->held.n, sizeof *s->held.v, by_root);
	for (size_t i = 0; i < s->held.n && s->held.v[i].root != TREE_NONE;)
		i = add_root(s, i, min_total);
	for (size_t i = 0; i < s->held.n; i++) {
		free(s->held.v[i].stack);
		free(s->held.v[i].value);
	}
	vec_done(&s->held);
}

struct tree *tree_sums_end(struct tree_sums *s)
{
	add_held(s);
	tree_finish(s->t, s->opts, s->n_roots);
	tree_filter_done(&s->filter);
	return s->t;
}
