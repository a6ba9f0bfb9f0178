/* Adds stacks to the tree with a cache per root. */
#include "profile/tree/tree_stacks.h"

#include "base/mem.h"
#include "profile/tree/shown_funcs.h"
#include "profile/tree/tree_filter.h"

#include <stdint.h>
#include <string.h>

/* --- which stacks --- */

/* Entries of a large table are spread over memory: prefetch this many ahead. */
enum { PART_AHEAD = 8 };

/* Below this share of the table, renumbering the stacks is worth its cost. */
enum { PART_OF = 8 };

/* Records that the first `want` frames of a stack are needed; returns false if it has no number
 * yet. */
static bool part_wants(struct tree_stacks *s, uint32_t stack, uint32_t want)
{
	uint32_t number = s->stack_number[stack];
	if (!number)
		return false;
	struct stack_want *w = &s->part_wants.v[number - 1];
	w->want = w->want < want ? want : w->want;
	return true;
}

static void part_push(struct tree_stacks *s, struct stack_want w)
{
	struct stack copy = s->p->stacks.stacks.v[w.stack];
	if (s->part.n) /* the empty stack is first and is its own parent */
		copy.parent = s->stack_number[copy.parent] - 1;
	vec_push(&s->part, copy);
	s->stack_number[w.stack] = s->part.n;
	vec_push(&s->part_wants, w);
}

/* Adds a stack, after all its ancestors. */
static void part_add(struct tree_stacks *s, uint32_t stack)
{
	const struct stack *all = s->p->stacks.stacks.v;
	uint32_t want = all[stack].depth;
	vec_clear(&s->wanted);
	for (; !part_wants(s, stack, want); stack = all[stack].parent) {
		vec_push(&s->wanted, (struct stack_want){ stack, want });
		want = all[stack].shared;
	}
	while (s->wanted.n)
		part_push(s, s->wanted.v[--s->wanted.n]);
}

/* Copies own frames as far as they are needed, by id. */
static void part_take_own(struct tree_stacks *s)
{
	const uint32_t *all = s->p->stacks.own.v;
	for (uint32_t i = 0; i < s->part.n; i++) {
		struct stack *stack = &s->part.v[i];
		const uint32_t *own = &all[stack->own];
		uint32_t want = s->part_wants.v[i].want;
		if (i + PART_AHEAD < s->part.n)
			__builtin_prefetch(&all[stack[PART_AHEAD].own]);
		stack->own = s->part_own.n;
		stack->depth = want > stack->shared ? want : stack->shared;
		vec_append(&s->part_own, own, (size_t)(stack->depth - stack->shared));
	}
}

/* Replaces frame ids by numbers. */
static void part_take_frames(struct tree_stacks *s)
{
	uint32_t *own = s->part_own.v;
	size_t n = s->part_own.n;
	for (size_t i = 0; i < n; i++) {
		if (i + 2 * PART_AHEAD < n)
			__builtin_prefetch(&s->frame_number[own[i + 2 * PART_AHEAD]], 1);
		uint32_t *number = &s->frame_number[own[i]];
		if (!*number) {
			vec_push(&s->part_frames, own[i]);
			*number = s->part_frames.n;
		}
		own[i] = *number - 1;
	}
}

static void take_part(struct tree_stacks *s, const uint32_t *used, size_t n_used)
{
	s->is_part = true;
	s->stack_number = shown_funcs_borrow_stacks(s->shown, s->p);
	s->frame_number = shown_funcs_borrow_frames(s->shown, s->p);
	part_push(s, (struct stack_want){ 0, 0 });
	for (size_t i = 0; i < n_used; i++) {
		uint32_t later = used[i + PART_AHEAD < n_used ? i + PART_AHEAD : i];
		__builtin_prefetch(&s->p->stacks.stacks.v[later]);
		__builtin_prefetch(&s->stack_number[later]);
		part_add(s, used[i]);
	}
	part_take_own(s);
	part_take_frames(s);
	s->stacks = s->part.v;
	s->own = s->part_own.v;
	s->n = s->part.n;
	s->n_own = s->part_own.n;
	s->n_frames = s->part_frames.n;
	/* An estimate of the size. */
	vec_reserve(&s->t->nodes, s->t->nodes.n + s->n_own);
	map_reserve(&s->t->func_index, s->n_frames);
	map_reserve(&s->strings, s->n_frames);
}

/* Returns the borrowed arrays, zeroed again. */
static void part_done(struct tree_stacks *s)
{
	if (!s->is_part)
		return;
	for (size_t i = 0; i < s->part_wants.n; i++)
		s->stack_number[s->part_wants.v[i].stack] = 0;
	for (size_t i = 0; i < s->part_frames.n; i++)
		s->frame_number[s->part_frames.v[i]] = 0;
	shown_funcs_return(s->shown, s->stack_number, s->frame_number);
	vec_done(&s->part);
	vec_done(&s->part_wants);
	vec_done(&s->part_own);
	vec_done(&s->part_frames);
}

static void take_all(struct tree_stacks *s)
{
	const struct stack_table *from = &s->p->stacks;
	s->stacks = from->stacks.v;
	s->own = from->own.v;
	s->n = from->stacks.n;
	s->n_own = from->own.n;
	s->n_frames = s->p->frames.frames.n;
}

/* --- functions --- */

static uint32_t tree_string(struct tree_stacks *s, uint32_t id)
{
	const struct strtab *from = &s->p->strings;
	const uint32_t *known = map_get(&s->strings, id);
	if (known)
		return *known;
	uint32_t own = strtab_putn(&s->t->strings, strtab_get(from, id), strtab_len(from, id));
	map_put(&s->strings, id, own);
	return own;
}

/* Each function is filtered once. */
static unsigned func_bits(struct tree_stacks *s, uint32_t shown)
{
	while (s->func_bits.n <= shown)
		vec_push(&s->func_bits, 0);
	uint8_t *bits = &s->func_bits.v[shown];
	if (!*bits)
		*bits = 1 + tree_filter_func(s->filter, &s->p->strings, &s->shown->all.v[shown]);
	return *bits - 1;
}

/* Returns TREE_NONE if the function is dropped. */
static uint32_t make_func(struct tree_stacks *s, uint32_t shown)
{
	struct tree_func f = s->shown->all.v[shown];
	if (s->drops && func_bits(s, shown) & FUNC_DROP)
		return TREE_NONE;
	f.name = tree_string(s, f.name);
	f.binary = tree_string(s, f.binary);
	f.file = tree_string(s, f.file);
	return tree_func_intern(s->t, &f);
}

static uint32_t func_of(struct tree_stacks *s, uint32_t shown)
{
	while (s->func_of.n <= shown)
		vec_push(&s->func_of, 0);
	if (!s->func_of.v[shown]) {
		uint32_t func = make_func(s, shown);
		s->func_of.v[shown] = func == TREE_NONE ? TREE_NONE : func + 1;
	}
	uint32_t func = s->func_of.v[shown];
	return func == TREE_NONE ? TREE_NONE : func - 1;
}

static const struct shown_run *frame_run(struct tree_stacks *s, uint32_t number)
{
	uint32_t frame = s->is_part ? s->part_frames.v[number] : number;
	return shown_funcs_get(s->shown, s->p, frame);
}

/* --- focus and ignore --- */

static unsigned frame_bits(struct tree_stacks *s, uint32_t number)
{
	const struct shown_run *run = frame_run(s, number);
	unsigned bits = 0;
	for (uint32_t i = 0; i < run->n; i++)
		bits |= func_bits(s, s->shown->lists.v[run->first + i]);
	return bits;
}

static uint32_t own_match_depth(const struct tree_stacks *s, const struct stack *stack,
				unsigned bit)
{
	const uint32_t *own = &s->own[stack->own];
	uint32_t n = stack->depth - stack->shared;
	for (uint32_t i = 0; i < n; i++)
		if (s->frame_bits[own[i]] & bit)
			return stack->shared + i;
	return TREE_NONE;
}

/* A stack inherits a match in the frames that it shares with its parent. */
static uint32_t *match_depths(struct tree_stacks *s, unsigned bit)
{
	uint32_t *depth = xreallocarray(NULL, s->n, sizeof *depth);
	depth[0] = TREE_NONE;
	for (uint32_t id = 1; id < s->n; id++) {
		const struct stack *stack = &s->stacks[id];
		depth[id] = depth[stack->parent];
		if (depth[id] >= stack->shared)
			depth[id] = own_match_depth(s, stack, bit);
	}
	return depth;
}

/* Returns for each stack the depth at which all focus patterns have matched. */
static uint32_t *focus_depths(struct tree_stacks *s)
{
	uint32_t *all = match_depths(s, FUNC_FOCUS);
	for (uint32_t i = 1; i < s->filter->focus.n; i++) {
		uint32_t *one = match_depths(s, FUNC_FOCUS << i);
		for (uint32_t id = 0; id < s->n; id++)
			if (one[id] > all[id]) /* TREE_NONE is the largest value */
				all[id] = one[id];
		free(one);
	}
	return all;
}

/* --- nodes --- */

/* Whether it is the same function, inlined or called. */
static bool func_repeats(const struct tree_stacks *s, uint32_t node, uint32_t func)
{
	const struct tree_func *x = &s->t->funcs.v[s->t->nodes.v[node].func];
	const struct tree_func *y = &s->t->funcs.v[func];
	return node != s->group_root && x->name == y->name && x->kind == y->kind &&
	       x->binary == y->binary && x->file == y->file;
}

/* Prefetches the data that frame_node reads for frames it has not seen. */
static void prefetch_frames(const struct tree_stacks *s, const uint32_t *frames, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!s->only_func[frames[i]])
			__builtin_prefetch(
				&s->shown->frames
					 .v[s->is_part ? s->part_frames.v[frames[i]] : frames[i]]);
}

static uint32_t line_node(struct tree_stacks *s, uint32_t node, uint32_t func)
{
	if (s->opts->collapse_recursion && func_repeats(s, node, func))
		return node;
	return tree_child(s->t, node, func);
}

static uint32_t frame_node(struct tree_stacks *s, uint32_t node, uint32_t frame)
{
	if (s->only_func[frame])
		return line_node(s, node, s->only_func[frame] - 1);
	const struct shown_run *run = frame_run(s, frame);
	for (uint32_t i = 0; i < run->n; i++) {
		uint32_t func = func_of(s, s->shown->lists.v[run->first + i]);
		if (func == TREE_NONE)
			continue;
		if (run->n == 1)
			s->only_func[frame] = func + 1;
		node = line_node(s, node, func);
	}
	return node;
}

/* Makes nodes of own frames up to depth `want`; the parent's nodes exist already. */
static void add_own_nodes(struct tree_stacks *s, uint32_t number, uint32_t want)
{
	const struct stack *stack = &s->stacks[number];
	const uint32_t *frames = &s->own[stack->own];
	uint32_t *slots = &s->node_at[stack->own], n = want - stack->shared, done = 0;
	uint32_t node = stack->shared ? *tree_stacks_slot(s, stack->parent, stack->shared) - 1
				      : s->group_root;
	for (; done < n && slots[done]; done++)
		node = slots[done] - 1;
	if (done == 0)
		vec_push(&s->walked, number);
	prefetch_frames(s, frames + done, n - done);
	for (; done < n; done++) {
		node = frame_node(s, node, frames[done]);
		slots[done] = node + 1;
	}
}

/* Climbs to the first ancestor whose shared frames have nodes, then adds the others on the way
 * back. */
uint32_t tree_stacks_node(struct tree_stacks *s, uint32_t number)
{
	const struct stack *stacks = s->stacks;
	uint32_t depth = stacks[number].depth;
	if (depth == stacks[number].shared)
		number = stacks[number].parent;
	vec_clear(&s->wanted);
	for (uint32_t up = number, want = depth; want && !*tree_stacks_slot(s, up, want);) {
		vec_push(&s->wanted, (struct stack_want){ up, want });
		want = stacks[up].shared;
		up = stacks[up].parent;
	}
	while (s->wanted.n) {
		struct stack_want w = s->wanted.v[--s->wanted.n];
		add_own_nodes(s, w.stack, w.want);
	}
	return depth ? *tree_stacks_slot(s, number, depth) - 1 : s->group_root;
}

/* Clears the nodes of the previous group. */
void tree_stacks_group(struct tree_stacks *s, uint32_t root)
{
	for (size_t i = 0; i < s->walked.n; i++) {
		const struct stack *stack = &s->stacks[s->walked.v[i]];
		memset(&s->node_at[stack->own], 0,
		       (stack->depth - stack->shared) * sizeof *s->node_at);
	}
	vec_clear(&s->walked);
	s->group_root = root;
}

/* --- all together --- */

void tree_stacks_init(struct tree_stacks *s, struct profile *p, struct tree *t,
		      const struct tree_opts *opts, const struct tree_filter *filter,
		      const uint32_t *used, size_t n_used)
{
	*s = (struct tree_stacks){
		.p = p, .t = t, .opts = opts, .filter = filter, .shown = shown_funcs_of(p)
	};
	s->drops = opts->hide || opts->no_kernel || opts->no_user;
	if (n_used < p->stacks.stacks.n / PART_OF)
		take_part(s, used, n_used);
	else
		take_all(s);
	s->node_at = xcalloc(s->n_own, sizeof *s->node_at);
	s->only_func = xcalloc(s->n_frames, sizeof *s->only_func);
	if (opts->focus || opts->ignore) {
		/* In memory order, before stacks need them in random order. */
		s->frame_bits = xreallocarray(NULL, s->n_frames, sizeof *s->frame_bits);
		for (size_t i = 0; i < s->n_frames; i++)
			s->frame_bits[i] = frame_bits(s, i);
	}
	if (opts->focus)
		s->focus_depth = focus_depths(s);
	if (opts->ignore)
		s->ignore_depth = match_depths(s, FUNC_IGNORE);
}

void tree_stacks_done(struct tree_stacks *s)
{
	part_done(s);
	map_done(&s->strings);
	vec_done(&s->func_of);
	vec_done(&s->func_bits);
	vec_done(&s->walked);
	vec_done(&s->wanted);
	free(s->frame_bits);
	free(s->focus_depth);
	free(s->ignore_depth);
	free(s->node_at);
	free(s->only_func);
}

void tree_spreads_grow(struct tree *t)
{
	vec_reserve(&t->spreads, t->nodes.n);
	while (t->spreads.n < t->nodes.n)
		t->spreads.v[t->spreads.n++] = (struct tree_node_spread){ 0 };
}

void tree_finish(struct tree *t, const struct tree_opts *opts, uint32_t keep)
{
	if (opts->with_spread)
		tree_spreads_grow(t);
	tree_total(t);
	if (opts->merges_builds)
		tree_merge_builds(t);
	if (opts->inverted)
		tree_invert(t, keep);
	if (opts->max_depth)
		tree_cut(t, opts->max_depth);
}
