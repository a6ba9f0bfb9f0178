#include "profile/tree_stacks.h"

#include <string.h>

/* --- which stacks --- */

/* Below this share of the table numbers of their own are worth their making. */
enum { PART_OF = 8 };

static uint32_t part_frame(struct tree_stacks *s, uint32_t frame)
{
	uint32_t fresh = s->part_frames.n;
	uint32_t number = map_intern(&s->frame_number, frame, fresh, NULL, NULL);
	if (number == fresh)
		vec_push(&s->part_frames, frame);
	return number;
}

/* Notes that the first `want` frames of a stack are needed; false when it has no number yet. */
static bool part_wants(struct tree_stacks *s, uint32_t stack, uint32_t want)
{
	const uint32_t *number = map_get(&s->stack_number, stack);
	if (!number)
		return false;
	struct stack_want *w = &s->part_wants.v[*number];
	w->want = w->want < want ? want : w->want;
	return true;
}

static void part_push(struct tree_stacks *s, struct stack_want w)
{
	struct stack copy = s->p->stacks.stacks.v[w.stack];
	if (s->part.n) /* the empty stack comes first and is its own parent */
		copy.parent = *map_get(&s->stack_number, copy.parent);
	map_put(&s->stack_number, w.stack, s->part.n);
	vec_push(&s->part, copy);
	vec_push(&s->part_wants, w);
}

/* A stack, behind all that it builds on. */
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

/* Own frames as far as they are needed. */
static void part_take_frames(struct tree_stacks *s)
{
	for (uint32_t i = 0; i < s->part.n; i++) {
		struct stack *stack = &s->part.v[i];
		const uint32_t *own = &s->p->stacks.own.v[stack->own];
		uint32_t want = s->part_wants.v[i].want;
		stack->own = s->part_own.n;
		stack->depth = want > stack->shared ? want : stack->shared;
		for (uint32_t k = stack->shared; k < stack->depth; k++)
			vec_push(&s->part_own, part_frame(s, own[k - stack->shared]));
	}
}

static void take_part(struct tree_stacks *s, const uint32_t *used, size_t n_used)
{
	s->is_part = true;
	part_push(s, (struct stack_want){ 0, 0 });
	for (size_t i = 0; i < n_used; i++)
		part_add(s, used[i]);
	part_take_frames(s);
	s->stacks = s->part.v;
	s->own = s->part_own.v;
	s->n = s->part.n;
	s->n_own = s->part_own.n;
	s->n_frames = s->part_frames.n;
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

/* Each function meets the filters once, when it is new. */
static unsigned func_bits(struct tree_stacks *s, uint32_t func)
{
	for (uint32_t i = s->func_bits.n; i <= func; i++)
		vec_push(&s->func_bits, tree_filter_func(s->filter, s->t, i));
	return s->func_bits.v[func];
}

/* Few mappings have many frames. */
static uint32_t frame_binary(struct tree_stacks *s, uint32_t frame)
{
	const struct frame *f = &s->p->frames.frames.v[frame];
	uint64_t key = f->mapping == MAPPING_NONE ? UINT64_C(1) << 32 | f->binary : f->mapping;
	const uint32_t *known = map_get(&s->binaries, key);
	if (known)
		return *known;
	uint32_t binary = tree_string(s, profile_frame_binary(s->p, frame));
	map_put(&s->binaries, key, binary);
	return binary;
}

static void resolve_frame(struct tree_stacks *s, uint32_t number)
{
	struct frame_funcs *ff = &s->frames[number];
	struct shown_line lines[NAMES_MAX_INLINE];
	uint32_t frame = s->is_part ? s->part_frames.v[number] : number;
	uint32_t n = profile_frame_lines(s->p, frame, lines, NAMES_MAX_INLINE);
	struct tree_func f = { .kind = s->p->frames.frames.v[frame].kind,
			       .binary = frame_binary(s, frame) };
	*ff = (struct frame_funcs){ .first = s->funcs.n, .is_resolved = true };
	for (uint32_t i = n; i-- > 0;) {
		f.name = tree_string(s, lines[i].name);
		f.file = tree_string(s, lines[i].file);
		f.inlined = i + 1 < n;
		uint32_t func = tree_func_intern(s->t, &f);
		unsigned bits = func_bits(s, func);
		ff->bits |= bits;
		if (bits & FUNC_DROP)
			continue;
		vec_push(&s->funcs, func);
		ff->n++;
	}
}

static const struct frame_funcs *frame_funcs(struct tree_stacks *s, uint32_t number)
{
	if (!s->frames[number].is_resolved)
		resolve_frame(s, number);
	return &s->frames[number];
}

/* What names of frames are read from is anywhere in memory, one link of the chain frame → lines → function → string after the other:
 * each is asked for some frames ahead. */
enum { NAMES_AHEAD = 6 };
struct names_ahead {
	const struct line_run *run;
	const struct line *line;
	const struct function *function;
};

static inline __attribute__((always_inline)) struct names_ahead names_ahead(
	const struct tree_stacks *s, size_t i, int links)
{
	const struct names *names = &s->p->names;
	struct names_ahead a = { 0 };
	uint32_t frame = i < s->part_frames.n ? s->part_frames.v[i] : UINT32_MAX;
	if (frame < names->by_frame.n)
		a.run = &names->by_frame.v[frame];
	if (links > 0 && a.run && a.run->n)
		a.line = &names->lines.v[a.run->first];
	if (links > 1 && a.line)
		a.function = &names->functions.v[a.line->function];
	return a;
}

static inline __attribute__((always_inline)) void names_prefetch(const struct tree_stacks *s,
								 size_t i)
{
	const struct strtab_entry *strings = s->p->strings.all.v;
	struct names_ahead a = names_ahead(s, i + 5 * NAMES_AHEAD, 0);
	if (a.run)
		__builtin_prefetch(a.run);
	a = names_ahead(s, i + 4 * NAMES_AHEAD, 1);
	if (a.line)
		__builtin_prefetch(a.line);
	a = names_ahead(s, i + 3 * NAMES_AHEAD, 2);
	if (a.function)
		__builtin_prefetch(a.function);
	a = names_ahead(s, i + 2 * NAMES_AHEAD, 2);
	if (a.function)
		__builtin_prefetch(&strings[a.function->name]);
	a = names_ahead(s, i + NAMES_AHEAD, 2);
	if (a.function)
		__builtin_prefetch(strings[a.function->name].s);
}

/* Nearly all frames of a part are needed. */
static void resolve_part(struct tree_stacks *s)
{
	for (size_t i = 0; i < s->part_frames.n; i++) {
		names_prefetch(s, i);
		resolve_frame(s, i);
	}
}

/* --- focus and ignore --- */

static uint32_t own_match_depth(struct tree_stacks *s, const struct stack *stack, unsigned bit)
{
	for (uint32_t depth = stack->shared; depth < stack->depth; depth++) {
		uint32_t frame = s->own[stack->own + depth - stack->shared];
		if (frame_funcs(s, frame)->bits & bit)
			return depth;
	}
	return TREE_NONE;
}

/* A stack inherits the match of the part that it shares with its parent. */
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

/* --- nodes --- */

/* The same function, whether it was inlined here or called. */
static bool func_repeats(const struct tree_stacks *s, uint32_t node, uint32_t func)
{
	const struct tree_func *x = &s->t->funcs.v[s->t->nodes.v[node].func];
	const struct tree_func *y = &s->t->funcs.v[func];
	return node != s->group_root && x->name == y->name && x->kind == y->kind &&
	       x->binary == y->binary && x->file == y->file;
}

static uint32_t frame_node(struct tree_stacks *s, uint32_t node, uint32_t frame)
{
	const struct frame_funcs *ff = frame_funcs(s, frame);
	for (uint32_t i = 0; i < ff->n; i++) {
		uint32_t func = s->funcs.v[ff->first + i];
		if (!s->opts->collapse_recursion || !func_repeats(s, node, func))
			node = tree_child(s->t, node, func);
	}
	return node;
}

/* Makes nodes of own frames up to depth `want`; those of the parent are there already. */
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
	for (; done < n; done++) {
		node = frame_node(s, node, frames[done]);
		slots[done] = node + 1;
	}
}

/* Climbs to the first parent that has what is shared, then adds on the way back. */
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

/* Forgets the nodes of the group before. */
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
	*s = (struct tree_stacks){ .p = p, .t = t, .opts = opts, .filter = filter };
	if (n_used < p->stacks.stacks.n / PART_OF)
		take_part(s, used, n_used);
	else
		take_all(s);
	s->frames = xcalloc(s->n_frames, sizeof *s->frames);
	s->node_at = xcalloc(s->n_own, sizeof *s->node_at);
	if (s->is_part)
		resolve_part(s);
	if (opts->focus)
		s->focus_depth = match_depths(s, FUNC_FOCUS);
	if (opts->ignore)
		s->ignore_depth = match_depths(s, FUNC_IGNORE);
}

void tree_stacks_done(struct tree_stacks *s)
{
	vec_done(&s->part);
	vec_done(&s->part_wants);
	vec_done(&s->part_own);
	vec_done(&s->part_frames);
	map_done(&s->stack_number);
	map_done(&s->frame_number);
	map_done(&s->strings);
	map_done(&s->binaries);
	vec_done(&s->funcs);
	vec_done(&s->func_bits);
	vec_done(&s->walked);
	vec_done(&s->wanted);
	free(s->frames);
	free(s->focus_depth);
	free(s->ignore_depth);
	free(s->node_at);
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
	if (opts->inverted)
		tree_invert(t, keep);
	if (opts->max_depth)
		tree_cut(t, opts->max_depth);
}
