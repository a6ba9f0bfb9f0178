/* Profile → flame tree.
 *
 * Samples are added up by (root frames, stack) first. Then each stack that was used is walked once
 * per group of root frames, and of it only its own frames: the front coding says at which node of
 * its parent they begin. So the work is one lookup of a child per distinct (prefix of a stack,
 * line), not per sample and frame. */
#include "profile/state.h"
#include "profile/sum.h"
#include "profile/time_range.h"
#include "profile/tree_filter.h"
#include "profile/tree_keys.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

enum { NO_GROUP = UINT32_MAX, NO_MATCH = UINT32_MAX };

/* The functions a frame becomes, root-most first, without those that are dropped; resolved when
 * first met. */
struct frame_funcs {
	uint32_t first; /* in build.funcs */
	uint16_t n;
	uint8_t bits; /* of all its functions, the dropped ones included */
	bool is_resolved;
};

/* What a sample of a series adds to the tree. */
struct series_share {
	bool is_wanted;
	int64_t factor;
	double weight; /* of one sample; 0: each row is one; NaN: not known */
};

/* The samples of one stack in the group at hand. */
struct stack_sum {
	int64_t value;
	uint32_t rows;
};

/* A stack of which the first `want` frames need nodes. */
struct stack_want {
	uint32_t stack, want;
};

struct build {
	struct profile *p;
	const struct tree_opts *opts;
	struct tree *t;
	struct tree_filter filter;
	struct tree_keys keys;

	VEC(uint32_t) strings;      /* of the tree, by string of the profile; 0 = not asked yet */
	struct frame_funcs *frames; /* by frame */
	VEC(uint32_t) funcs;
	VEC(uint8_t) func_bits; /* by function of the tree */
	/* By stack: the smallest depth of a frame that matches, NO_MATCH; NULL without such a
	 * filter. */
	uint32_t *focus_depth, *ignore_depth;

	struct series_share *shares; /* by series */

	struct stack_sum *sums;      /* by stack */
	struct tree_spread *spreads; /* by stack; NULL when nobody asked */
	VEC(uint32_t) used;          /* stacks that have a sum */
	uint32_t group_root;         /* node of the group at hand */
	uint32_t *node_at;           /* by own frame of the stack table: the node it ends at + 1 */
	VEC(uint32_t) walked;        /* stacks that have something in node_at */
	VEC(struct stack_want) wanted; /* parents on the way up */

	struct tree_samples *samples; /* NULL: not asked for */
};

/* --- functions --- */

static uint32_t tree_string(struct build *b, uint32_t id)
{
	const struct strtab *from = &b->p->strings;
	vec_reserve(&b->strings, (size_t)id + 1);
	while (b->strings.n <= id)
		b->strings.v[b->strings.n++] = 0;
	if (id && !b->strings.v[id])
		b->strings.v[id] =
			strtab_putn(&b->t->strings, strtab_get(from, id), strtab_len(from, id));
	return b->strings.v[id];
}

/* Each function meets the filters once, when it is new. */
static unsigned func_bits(struct build *b, uint32_t func)
{
	for (uint32_t i = b->func_bits.n; i <= func; i++)
		vec_push(&b->func_bits, tree_filter_func(&b->filter, b->t, i));
	return b->func_bits.v[func];
}

static void resolve_frame(struct build *b, uint32_t frame)
{
	struct frame_funcs *ff = &b->frames[frame];
	struct shown_line lines[NAMES_MAX_INLINE];
	uint32_t n = profile_frame_lines(b->p, frame, lines, NAMES_MAX_INLINE);
	struct tree_func f = { .kind = b->p->frames.frames.v[frame].kind,
			       .binary = tree_string(b, profile_frame_binary(b->p, frame)) };
	*ff = (struct frame_funcs){ .first = b->funcs.n, .is_resolved = true };
	for (uint32_t i = n; i-- > 0;) {
		f.name = tree_string(b, lines[i].name);
		f.file = tree_string(b, lines[i].file);
		f.inlined = i + 1 < n;
		uint32_t func = tree_func_intern(b->t, &f);
		unsigned bits = func_bits(b, func);
		ff->bits |= bits;
		if (bits & FUNC_DROP)
			continue;
		vec_push(&b->funcs, func);
		ff->n++;
	}
}

static const struct frame_funcs *frame_funcs(struct build *b, uint32_t frame)
{
	if (!b->frames[frame].is_resolved)
		resolve_frame(b, frame);
	return &b->frames[frame];
}

/* --- focus and ignore --- */

static uint32_t own_match_depth(struct build *b, const struct stack *s, unsigned bit)
{
	for (uint32_t depth = s->shared; depth < s->depth; depth++) {
		uint32_t frame = b->p->stacks.own.v[s->own + depth - s->shared];
		if (frame_funcs(b, frame)->bits & bit)
			return depth;
	}
	return NO_MATCH;
}

/* A stack inherits the match of the part that it shares with its parent. */
static uint32_t *match_depths(struct build *b, unsigned bit)
{
	uint32_t n = b->p->stacks.stacks.n, *depth = xreallocarray(NULL, n, sizeof *depth);
	depth[0] = NO_MATCH;
	for (uint32_t id = 1; id < n; id++) {
		const struct stack *s = &b->p->stacks.stacks.v[id];
		depth[id] = depth[s->parent];
		if (depth[id] >= s->shared)
			depth[id] = own_match_depth(b, s, bit);
	}
	return depth;
}

static bool stack_passes(const struct build *b, uint32_t stack)
{
	return (!b->focus_depth || b->focus_depth[stack] != NO_MATCH) &&
	       (!b->ignore_depth || b->ignore_depth[stack] == NO_MATCH);
}

/* --- which samples go in, and what they are worth --- */

static const char *own_text(struct tree *t, const char *s)
{
	return strtab_get(&t->strings, strtab_put(&t->strings, s));
}

static bool text_is(const struct build *b, uint32_t id, const char *text)
{
	return strcmp(profile_str(b->p, id), text) == 0;
}

/* Counts of samples are worth a period each; other counts (allocations, contentions) are not. */
static bool is_periodic(const struct build *b, const struct type *type)
{
	return type->period_unit && text_is(b, type->sample_type, "samples") &&
	       text_is(b, type->unit, "count");
}

/* The period that all series of the type have, 0 where one has none, -1 where they differ. */
static int64_t common_period(const struct build *b)
{
	int64_t common = 0;
	bool differ = false;
	for (size_t i = 0; i < b->p->series.series.n; i++) {
		const struct series *s = &b->p->series.series.v[i];
		if (s->type != b->opts->type)
			continue;
		if (s->period <= 0)
			return 0;
		differ |= common && common != s->period;
		common = s->period;
	}
	return differ ? -1 : common;
}

/* What one sample of a series weighs that has no times, in the unit of the tree; NaN: not known. */
static double sample_weight(const struct build *b, const struct type *type, const struct series *s,
			    int64_t factor)
{
	bool is_count = text_is(b, type->unit, "count");
	if (is_count && text_is(b, type->sample_type, "samples"))
		return factor;
	int64_t least = is_count ? 1 : 2;
	return type->unit == type->period_unit && s->period >= least ? s->period : NAN;
}

/* A series without such a weight, but with times, is a stream of single samples. */
static void share_weights(struct build *b, const struct type *type)
{
	const struct profile *p = b->p;
	for (size_t i = 0; i < p->series.series.n; i++)
		b->shares[i].weight =
			sample_weight(b, type, &p->series.series.v[i], b->shares[i].factor);
	for (size_t row = 0; row < p->samples.n; row++) {
		struct series_share *share = &b->shares[p->samples.series[row]];
		if (p->samples.time_ns[row] && isnan(share->weight))
			share->weight = 0;
	}
}

/* Sets the unit of the tree and what each series adds to it. */
static void share_series(struct build *b)
{
	const struct type *type = &b->p->series.types.v[b->opts->type];
	int64_t period = is_periodic(b, type) ? common_period(b) : 0;
	bool is_count = text_is(b, type->unit, "count");
	const char *period_unit = profile_str(b->p, type->period_unit);
	b->t->type_name = own_text(b->t, profile_str(b->p, type->name));
	b->t->unit = own_text(b->t, profile_str(b->p, is_count ? type->sample_type : type->unit));
	if (period > 0) {
		b->t->scale = period;
		b->t->scaled_unit = own_text(b->t, period_unit);
	} else if (period < 0) {
		b->t->unit = own_text(b->t, period_unit);
	}
	b->shares = xcalloc(b->p->series.series.n, sizeof *b->shares);
	for (size_t i = 0; i < b->p->series.series.n; i++) {
		const struct series *s = &b->p->series.series.v[i];
		b->shares[i].is_wanted = s->type == b->opts->type;
		b->shares[i].factor = period < 0 ? s->period : 1;
	}
	if (b->opts->with_spread)
		share_weights(b, type);
}

static int64_t whole_value(const struct build *b, size_t row)
{
	const struct sample_columns *c = &b->p->samples;
	return sum_mul(c->value[row], b->shares[c->series[row]].factor);
}

/* What the part in the time range is worth; 0 when there is none. */
static int64_t row_value(const struct build *b, size_t row)
{
	struct sample_part part;
	if (!b->opts->time_from_ns && !b->opts->time_to_ns)
		return whole_value(b, row);
	if (!sample_part_in(b->p, row, b->opts, &part))
		return 0;
	return sum_mul(part.value, b->shares[b->p->samples.series[row]].factor);
}

/* Whether a sample is of the type, in the time range and worth anything. */
static bool row_goes_in(struct build *b, size_t row)
{
	if (!b->shares[b->p->samples.series[row]].is_wanted)
		return false;
	b->t->unfiltered_total = sum_add(b->t->unfiltered_total, whole_value(b, row));
	return row_value(b, row) != 0;
}

/* --- stacks become nodes --- */

/* The same function, whether it was inlined here or called. */
static bool func_repeats(const struct build *b, uint32_t node, uint32_t func)
{
	const struct tree_func *x = &b->t->funcs.v[b->t->nodes.v[node].func];
	const struct tree_func *y = &b->t->funcs.v[func];
	return node != b->group_root && x->name == y->name && x->kind == y->kind &&
	       x->binary == y->binary && x->file == y->file;
}

static uint32_t frame_node(struct build *b, uint32_t node, uint32_t frame)
{
	const struct frame_funcs *ff = frame_funcs(b, frame);
	for (uint32_t i = 0; i < ff->n; i++) {
		uint32_t func = b->funcs.v[ff->first + i];
		if (!b->opts->collapse_recursion || !func_repeats(b, node, func))
			node = tree_child(b->t, node, func);
	}
	return node;
}

/* Where the node of the first `depth` frames of a stack is kept; the last of them is its own. */
static uint32_t *node_slot(const struct build *b, uint32_t stack, uint32_t depth)
{
	const struct stack *s = &b->p->stacks.stacks.v[stack];
	return &b->node_at[s->own + depth - 1 - s->shared];
}

/* Makes nodes of own frames up to depth `want`; those of the parent are there already. */
static void add_own_nodes(struct build *b, uint32_t stack, uint32_t want)
{
	const struct stack *s = &b->p->stacks.stacks.v[stack];
	const uint32_t *frames = &b->p->stacks.own.v[s->own];
	uint32_t *slots = &b->node_at[s->own], n = want - s->shared, done = 0;
	uint32_t node = s->shared ? *node_slot(b, s->parent, s->shared) - 1 : b->group_root;
	for (; done < n && slots[done]; done++)
		node = slots[done] - 1;
	if (done == 0)
		vec_push(&b->walked, stack);
	for (; done < n; done++) {
		node = frame_node(b, node, frames[done]);
		slots[done] = node + 1;
	}
}

/* The node of a whole stack. Climbs to the first parent that has what is shared, then adds on the
 * way back. */
static uint32_t stack_node(struct build *b, uint32_t stack)
{
	const struct stack *stacks = b->p->stacks.stacks.v;
	uint32_t depth = stacks[stack].depth;
	if (depth == stacks[stack].shared)
		stack = stacks[stack].parent;
	vec_clear(&b->wanted);
	for (uint32_t up = stack, want = depth; want && !*node_slot(b, up, want);) {
		vec_push(&b->wanted, (struct stack_want){ up, want });
		want = stacks[up].shared;
		up = stacks[up].parent;
	}
	while (b->wanted.n) {
		struct stack_want w = b->wanted.v[--b->wanted.n];
		add_own_nodes(b, w.stack, w.want);
	}
	return depth ? *node_slot(b, stack, depth) - 1 : b->group_root;
}

/* Forgets the nodes of the group before. */
static void clear_walked(struct build *b)
{
	for (size_t i = 0; i < b->walked.n; i++) {
		const struct stack *s = &b->p->stacks.stacks.v[b->walked.v[i]];
		memset(&b->node_at[s->own], 0, (s->depth - s->shared) * sizeof *b->node_at);
	}
	vec_clear(&b->walked);
}

/* Of a row that is one sample. */
static double single_weight(const struct build *b, size_t row, double value)
{
	uint32_t leaf = stack_leaf(&b->p->stacks, b->p->samples.stack[row]);
	const struct frame *f = leaf == UINT32_MAX ? NULL : &b->p->frames.frames.v[leaf];
	if (!f || f->kind != FRAME_MARKER || f->mapping != MAPPING_NONE ||
	    strcmp(b->t->unit, "nanoseconds") != 0)
		return value;
	uint64_t below_ns = state_below_ns(profile_str(b->p, f->function),
					   strtab_len(&b->p->strings, f->function));
	return below_ns && below_ns < value ? below_ns : value;
}

static struct tree_spread row_spread(const struct build *b, size_t row)
{
	double value = fabs((double)row_value(b, row));
	double weight = b->shares[b->p->samples.series[row]].weight;
	if (weight == 0)
		weight = single_weight(b, row, value);
	return (struct tree_spread){ .n = value / weight, .squares = value * weight };
}

static void sum_row(struct build *b, size_t row)
{
	uint32_t stack = b->p->samples.stack[row];
	struct stack_sum *sum = &b->sums[stack];
	if (!sum->rows)
		vec_push(&b->used, stack);
	sum->rows++;
	sum->value = sum_add(sum->value, row_value(b, row));
	if (b->spreads)
		tree_spread_add(&b->spreads[stack], row_spread(b, row));
}

enum { AHEAD = 4 };

/* The empty stack behind the end. */
static const struct stack *stack_ahead(const struct build *b, size_t i)
{
	return &b->p->stacks.stacks.v[i < b->used.n ? b->used.v[i] : 0];
}

/* Parents are anywhere in memory, and waiting for them is most of the work. So what stack_node will
 * read of a parent is asked for some stacks ahead, one link of the chain stack → slot → node after
 * the other: that takes a quarter off tree_build with 200 000 stacks. Always inline: gcc takes a
 * function that only prefetches for one without effect and drops the call. */
static inline __attribute__((always_inline)) void prefetch_parents(const struct build *b, size_t i)
{
	const struct stack *s = stack_ahead(b, i + 4 * AHEAD);
	__builtin_prefetch(&b->p->stacks.stacks.v[s->parent]);
	s = stack_ahead(b, i + 2 * AHEAD);
	if (s->shared)
		__builtin_prefetch(node_slot(b, s->parent, s->shared));
	s = stack_ahead(b, i + AHEAD);
	uint32_t node = s->shared ? *node_slot(b, s->parent, s->shared) : 0;
	if (node)
		__builtin_prefetch(&b->t->nodes.v[node - 1]);
}

static void grow_spreads(struct tree *t)
{
	vec_reserve(&t->spreads, t->nodes.n);
	while (t->spreads.n < t->nodes.n)
		t->spreads.v[t->spreads.n++] = (struct tree_node_spread){ 0 };
}

static void node_add_spread(struct build *b, uint32_t node, uint32_t stack)
{
	grow_spreads(b->t);
	tree_spread_add(&b->t->spreads.v[node].self, b->spreads[stack]);
}

/* Gives the sums to nodes below this root, and starts anew. */
static void add_sums(struct build *b, uint32_t root)
{
	clear_walked(b);
	b->group_root = root;
	for (size_t i = 0; i < b->used.n; i++) {
		struct stack_sum *sum = &b->sums[b->used.v[i]];
		prefetch_parents(b, i);
		if (stack_passes(b, b->used.v[i])) {
			uint32_t id = stack_node(b, b->used.v[i]);
			struct tree_node *node = &b->t->nodes.v[id];
			node->self = sum_add(node->self, sum->value);
			b->t->n_samples += sum->rows;
			if (b->spreads)
				node_add_spread(b, id, b->used.v[i]);
		}
		*sum = (struct stack_sum){ 0 };
		if (b->spreads)
			b->spreads[b->used.v[i]] = (struct tree_spread){ 0 };
	}
	vec_clear(&b->used);
}

/* Where the samples of the group at hand went. */
static void note_rows(struct build *b, const uint32_t *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t stack = b->p->samples.stack[rows[i]];
		if (stack_passes(b, stack))
			vec_push(&b->samples->rows,
				 (struct tree_sample){ rows[i], stack_node(b, stack),
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

/* By sample: its group, NO_GROUP when it does not go in. */
static uint32_t *group_rows(struct build *b)
{
	size_t n = b->p->samples.n;
	uint32_t *group = xreallocarray(NULL, n, sizeof *group);
	for (size_t row = 0; row < n; row++)
		group[row] = row_goes_in(b, row) ? tree_keys_group(&b->keys, row) : NO_GROUP;
	return group;
}

/* Sorts the samples that go in by group, by counting: those of group g are then in rows[start[g]]
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
	uint32_t *group = group_rows(b);
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

static void build_init(struct build *b)
{
	const struct profile *p = b->p;
	b->frames = xcalloc(p->frames.frames.n, sizeof *b->frames);
	b->sums = xcalloc(p->stacks.stacks.n, sizeof *b->sums);
	if (b->opts->with_spread)
		b->spreads = xcalloc(p->stacks.stacks.n, sizeof *b->spreads);
	b->node_at = xcalloc(p->stacks.own.n, sizeof *b->node_at);
	tree_keys_init(&b->keys, b->p, b->t, b->opts);
	if (b->opts->focus)
		b->focus_depth = match_depths(b, FUNC_FOCUS);
	if (b->opts->ignore)
		b->ignore_depth = match_depths(b, FUNC_IGNORE);
}

static void build_done(struct build *b)
{
	tree_filter_done(&b->filter);
	tree_keys_done(&b->keys);
	vec_done(&b->strings);
	vec_done(&b->funcs);
	vec_done(&b->func_bits);
	vec_done(&b->used);
	vec_done(&b->walked);
	vec_done(&b->wanted);
	free(b->frames);
	free(b->focus_depth);
	free(b->ignore_depth);
	free(b->shares);
	free(b->sums);
	free(b->spreads);
	free(b->node_at);
}

static void build_run(struct build *b)
{
	build_init(b);
	share_series(b);
	if (b->keys.n || b->samples)
		add_grouped(b);
	else
		add_ungrouped(b);
	if (b->spreads)
		grow_spreads(b->t);
	tree_total(b->t);
	if (b->opts->inverted)
		tree_invert(b->t, b->keys.n);
	if (b->opts->max_depth)
		tree_cut(b->t, b->opts->max_depth);
}

static int build_tree(struct build *b, struct tree **out, struct err *err)
{
	assert(b->opts->n_by <= TREE_BY_MAX);
	assert(!b->opts->with_spread || (!b->opts->inverted && !b->opts->max_depth));
	if (b->opts->type >= b->p->series.types.n)
		return err_set(err, EINVAL, "there is no such type of samples");
	int ret = tree_filter_init(&b->filter, b->opts, err);
	if (ret == 0) {
		b->t = tree_new();
		build_run(b);
		*out = b->t;
	}
	build_done(b);
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
	struct build b = { .p = p, .opts = opts, .samples = samples };
	return build_tree(&b, out, err);
}
