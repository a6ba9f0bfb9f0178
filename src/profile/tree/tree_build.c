/* Profile → flame tree.
 *
 * Samples are first added up by (root frames, stack); then stacks become nodes (tree_stacks.h). So
 * the cost is not per sample and frame. */
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/state.h"
#include "profile/sum.h"
#include "profile/tree/time_range.h"
#include "profile/tree/tree.h"
#include "profile/tree/tree_filter.h"
#include "profile/tree/tree_keys.h"
#include "profile/tree/tree_stacks.h"
#include "profile/weight.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

enum { NO_GROUP = UINT32_MAX };

/* How samples of a series are added to the tree. */
struct series_share {
	bool is_wanted;
	int64_t factor;
	struct sample_weight weight; /* of one sample */
};

/* The samples of one stack in the current group. */
struct stack_sum {
	int64_t value;
	uint32_t rows;
};

struct build {
	struct profile *p;
	const struct tree_opts *opts;
	struct tree *t;
	struct tree_filter filter;
	struct tree_keys keys;
	struct tree_stacks stacks;

	struct series_share *shares; /* by series */

	/* By number of a stack (tree_stacks.h). */
	struct stack_sum *sums;
	struct tree_spread *spreads; /* NULL: not requested */
	VEC(uint32_t) used;          /* stacks that have a sum */

	struct tree_samples *samples; /* NULL: not requested */
};

/* --- which samples are added, and their values ------ */

static void share_weights(struct build *b)
{
	const struct profile *p = b->p;
	bool *has_times = xcalloc(p->series.series.n, sizeof *has_times);
	for (size_t row = 0; row < p->samples.n; row++)
		has_times[p->samples.series[row]] |= p->samples.time_ns[row] != 0;
	for (uint32_t i = 0; i < p->series.series.n; i++)
		if (b->shares[i].is_wanted)
			b->shares[i].weight = series_weight(p, i, has_times[i]);
	free(has_times);
}

/* Sets the unit of the tree and how each series is added. */
static void share_series(struct build *b)
{
	struct value_scale scale = value_scale_of(b->p, b->opts->type, NULL);
	tree_set_unit(b->t, profile_type_name(b->p, b->opts->type), scale.unit, scale.scale,
		      scale.scaled_unit);
	b->t->unmarked = state_of_type_in(b->p, b->opts->type);
	b->shares = xcalloc(b->p->series.series.n, sizeof *b->shares);
	for (size_t i = 0; i < b->p->series.series.n; i++) {
		const struct series *s = &b->p->series.series.v[i];
		b->shares[i].is_wanted = s->type == b->opts->type;
		b->shares[i].factor = value_factor(&scale, s);
	}
	if (b->opts->with_spread)
		share_weights(b);
}

static int64_t of_sign(const struct build *b, int64_t value)
{
	if (!b->opts->sign)
		return value;
	return (value > 0) == (b->opts->sign > 0) ? sum_mul(value, b->opts->sign) : 0;
}

static int64_t whole_value(const struct build *b, size_t row)
{
	const struct sample_columns *c = &b->p->samples;
	return of_sign(b, sum_mul(c->value[row], b->shares[c->series[row]].factor));
}

/* Returns the value of the part in the time range, or 0. */
static int64_t row_value(const struct build *b, size_t row)
{
	struct sample_part part;
	if (!b->opts->time_from_ns && !b->opts->time_to_ns)
		return whole_value(b, row);
	if (!sample_part_in(b->p, row, b->opts, &part))
		return 0;
	return of_sign(b, sum_mul(part.value, b->shares[b->p->samples.series[row]].factor));
}

/* Whether a sample has the type, is in the time range and is not 0. */
static bool row_goes_in(struct build *b, size_t row)
{
	if (!b->shares[b->p->samples.series[row]].is_wanted)
		return false;
	b->t->unfiltered_total = sum_add(b->t->unfiltered_total, whole_value(b, row));
	return row_value(b, row) != 0;
}

/* --- sums by stack --- */

static struct tree_spread row_spread(const struct build *b, size_t row)
{
	const struct series_share *share = &b->shares[b->p->samples.series[row]];
	double value = fabs((double)row_value(b, row)) / share->factor;
	double weight = row_weight(b->p, share->weight, b->p->samples.stack[row], value);
	return (struct tree_spread){ .n = value / weight,
				     .squares = value * weight * share->factor * share->factor };
}

static void sum_row(struct build *b, size_t row)
{
	uint32_t stack = tree_stacks_number(&b->stacks, b->p->samples.stack[row]);
	struct stack_sum *sum = &b->sums[stack];
	if (!sum->rows)
		vec_push(&b->used, stack);
	sum->rows++;
	sum->value = sum_add(sum->value, row_value(b, row));
	if (b->spreads)
		tree_spread_add(&b->spreads[stack], row_spread(b, row));
}

/* Adds the sums to nodes below this root, and resets them. */
static void add_sums(struct build *b, uint32_t root)
{
	tree_stacks_group(&b->stacks, root);
	for (size_t i = 0; i < b->used.n; i++) {
		struct stack_sum *sum = &b->sums[b->used.v[i]];
		tree_stacks_prefetch(&b->stacks, b->used.v, b->used.n, i);
		if (tree_stacks_pass(&b->stacks, b->used.v[i])) {
			uint32_t id = tree_stacks_node(&b->stacks, b->used.v[i]);
			struct tree_node *node = &b->t->nodes.v[id];
			node->self = sum_add(node->self, sum->value);
			b->t->n_samples += sum->rows;
			if (b->spreads) {
				tree_spreads_grow(b->t);
				tree_spread_add(&b->t->spreads.v[id].self,
						b->spreads[b->used.v[i]]);
			}
		}
		*sum = (struct stack_sum){ 0 };
		if (b->spreads)
			b->spreads[b->used.v[i]] = (struct tree_spread){ 0 };
	}
	vec_clear(&b->used);
}

/* Records the nodes of the current group's samples. */
static void note_rows(struct build *b, const uint32_t *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t stack = tree_stacks_number(&b->stacks, b->p->samples.stack[rows[i]]);
		if (tree_stacks_pass(&b->stacks, stack))
			vec_push(&b->samples->rows,
				 (struct tree_sample){ rows[i], tree_stacks_node(&b->stacks, stack),
						       row_value(b, rows[i]) });
	}
}

/* --- groups of samples with the same root frames --- */

static void add_ungrouped(struct build *b)
{
	for (size_t row = 0; row < b->p->samples.n; row++)
		if (row_goes_in(b, row))
			sum_row(b, row);
	add_sums(b, TREE_ROOT);
}

/* Sorts the samples to be added by group, by counting: those of group g are then in rows[start[g]]
 * to rows[start[g + 1]]. */
static uint32_t *sort_rows(const struct build *b, const uint32_t *group, size_t *start)
{
	size_t n = b->p->samples.n, n_groups = b->keys.nodes.n;
	for (size_t row = 0; row < n; row++)
		if (group[row] != NO_GROUP)
			start[group[row] + 2]++;
	for (size_t g = 2; g < n_groups + 2; g++)
		start[g] += start[g - 1];
	uint32_t *rows = xreallocarray(NULL, start[n_groups + 1], sizeof *rows);
	for (size_t row = 0; row < n; row++)
		if (group[row] != NO_GROUP)
			rows[start[group[row] + 1]++] = row;
	return rows;
}

static void add_grouped(struct build *b)
{
	size_t n = b->p->samples.n;
	uint32_t *group = xreallocarray(NULL, n, sizeof *group); /* of each sample */
	for (size_t row = 0; row < n; row++)
		group[row] = row_goes_in(b, row) ? tree_keys_group(&b->keys, row) : NO_GROUP;
	size_t *start = xcalloc(b->keys.nodes.n + 2, sizeof *start);
	uint32_t *rows = sort_rows(b, group, start);
	for (size_t g = 0; g < b->keys.nodes.n; g++) {
		for (size_t i = start[g]; i < start[g + 1]; i++)
			sum_row(b, rows[i]);
		add_sums(b, b->keys.nodes.v[g]);
		if (b->samples)
			note_rows(b, rows + start[g], start[g + 1] - start[g]);
	}
	free(group);
	free(start);
	free(rows);
}

/* --- all together --- */

static void build_run(struct build *b)
{
	const struct sample_columns *c = &b->p->samples;
	tree_stacks_init(&b->stacks, b->p, b->t, b->opts, &b->filter, c->stack, c->n);
	b->sums = xcalloc(b->stacks.n, sizeof *b->sums);
	if (b->opts->with_spread)
		b->spreads = xcalloc(b->stacks.n, sizeof *b->spreads);
	tree_keys_init(&b->keys, b->p, b->t, b->opts);
	share_series(b);
	if (b->keys.n || b->samples)
		add_grouped(b);
	else
		add_ungrouped(b);
	tree_finish(b->t, b->opts, b->keys.n);
}

static int build_tree(struct build *b, struct tree **out, struct err *err)
{
	assert(b->opts->n_by <= TREE_BY_MAX);
	assert(!b->opts->with_spread || (!b->opts->inverted && !b->opts->max_depth));
	if (b->opts->type >= b->p->series.types.n)
		return err_set(err, EINVAL, "no such type of samples");
	int ret = tree_filter_init(&b->filter, b->opts, err);
	if (ret == 0) {
		b->t = tree_new();
		build_run(b);
		*out = b->t;
	}
	tree_filter_done(&b->filter);
	tree_keys_done(&b->keys);
	tree_stacks_done(&b->stacks);
	vec_done(&b->used);
	free(b->shares);
	free(b->sums);
	free(b->spreads);
	return ret;
}

int tree_build(struct profile *p, const struct tree_opts *opts, struct tree **out, struct err *err)
{
	struct build b = { .p = p, .opts = opts };
	return build_tree(&b, out, err);
}

int tree_build_samples(struct profile *p, const struct tree_opts *opts, struct tree **out,
		       struct tree_samples *samples, struct err *err)
{
	assert(!opts->inverted && !opts->max_depth);
	struct tree_opts own = *opts;
	own.merges_builds = false; /* samples refer to nodes */
	struct build b = { .p = p, .opts = &own, .samples = samples };
	return build_tree(&b, out, err);
}
