/* Sums by function over the scope. */
#include "tui/scan.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/sum.h"
#include "profile/tree/shown_funcs.h"
#include "profile/tree/tree.h"
#include "profile/weight.h"
#include "query/source.h"
#include "tui/look.h"

#include <stdlib.h>
#include <string.h>

/* The sum of one stack's samples. */
struct stack_sum {
	struct profile *dict;
	uint32_t stack;
	int64_t value;
};
/* The functions of one dictionary. */
struct dict_functions {
	struct profile *dict;
	struct shown_funcs *funcs;
	struct map first;    /* hash of a function → its first number, called or inlined */
	VEC(uint32_t) index; /* by number in funcs: index in all + 1; 0: not seen yet */
};
struct function_room {
	bool *wanted; /* by series */
	int64_t *factor;
	struct map by_stack;
	VEC(struct stack_sum) stacks;
	VEC(struct dict_functions) dicts;
	struct map by_name;   /* across dictionaries */
	VEC(uint32_t) frames; /* of the current stack */
};
struct summing {
	struct function_sums *out;
	struct function_room *room;
	const struct look *l;
	struct stack_words_table facts; /* which stacks contain the requested function */
};

/* --- samples by stack ------------------------------------------------------------------------- */

static bool is_asked(struct summing *s, const struct source_row *r)
{
	if ((s->l->pid != SAMPLE_NO_ID && r->pid != s->l->pid) ||
	    (s->l->tid != SAMPLE_NO_ID && r->tid != s->l->tid))
		return false;
	return !s->l->function || stack_words_get(&s->facts, r->dict, r->stack)->has_function;
}

static int add_row(void *ctx, const struct source_row *r)
{
	struct summing *s = ctx;
	struct function_room *room = s->room;
	uint64_t key = hash_mix((uint64_t)(uintptr_t)r->dict, r->stack);
	if (!is_asked(s, r))
		return 0;
	uint32_t fresh = room->stacks.n, i = map_intern(&room->by_stack, key, fresh, NULL, NULL);
	if (i == fresh)
		vec_push(&room->stacks, (struct stack_sum){ r->dict, r->stack, 0 });
	int64_t value = sum_mul(r->value, room->factor[r->series]);
	room->stacks.v[i].value = sum_add(room->stacks.v[i].value, value);
	s->out->total = sum_add(s->out->total, value);
	return 0;
}

/* --- functions of a stack --------------------------------------------------------------------- */

struct asked_function {
	const struct function_sums *f;
	struct function_sum is;
};

static bool is_same(const void *ctx, uint32_t value)
{
	const struct asked_function *a = ctx;
	const struct function_sum *f = &a->f->all.v[value], *is = &a->is;
	return f->kind == is->kind && strcmp(f->name, is->name) == 0 &&
	       strcmp(f->binary, is->binary) == 0 && strcmp(f->file, is->file) == 0;
}

/* Finds a function by its text: each dictionary has its own numbers. */
static uint32_t intern_text(struct summing *s, const struct function_sum *is, uint32_t fresh)
{
	struct asked_function a = { s->out, *is };
	uint64_t key = hash_mix(hash_bytes(is->name, strlen(is->name)),
				hash_mix(hash_bytes(is->binary, strlen(is->binary)), is->kind));
	return map_intern(&s->room->by_name, key, fresh, is_same, &a);
}

static uint32_t new_function(struct summing *s, const struct dict_functions *d, uint32_t shown)
{
	const struct tree_func *func = &d->funcs->all.v[shown];
	uint64_t dict = (uint64_t)(d - s->room->dicts.v);
	struct function_sum is = { .name = profile_str(d->dict, func->name),
				   .binary = profile_str(d->dict, func->binary),
				   .file = profile_str(d->dict, func->file),
				   .kind = func->kind,
				   .place = dict << 32 | shown };
	uint32_t fresh = s->out->all.n, i = fresh;
	if (s->room->dicts.n > 1)
		i = intern_text(s, &is, fresh);
	if (i == fresh)
		vec_push(&s->out->all, is);
	return i;
}

static struct dict_functions *functions_of(struct summing *s, struct profile *dict)
{
	struct function_room *room = s->room;
	for (size_t i = 0; i < room->dicts.n; i++)
		if (room->dicts.v[i].dict == dict)
			return &room->dicts.v[i];
	/* With a single dictionary, its numbers identify functions and no text is compared. */
	for (uint32_t i = 0; room->dicts.n == 1 && i < s->out->all.n; i++)
		intern_text(s, &s->out->all.v[i], i);
	vec_push(&room->dicts,
		 (struct dict_functions){ .dict = dict, .funcs = shown_funcs_of(dict) });
	return &room->dicts.v[room->dicts.n - 1];
}

struct called_function {
	const struct shown_funcs *funcs;
	struct tree_func is;
};

static bool is_called_same(const void *ctx, uint32_t value)
{
	const struct called_function *c = ctx;
	struct tree_func other = c->funcs->all.v[value];
	other.inlined = false;
	return tree_func_eq(&other, &c->is);
}

/* Treats called and inlined instances of a function as the same. */
static uint32_t meet_function(struct summing *s, struct dict_functions *d, uint32_t shown)
{
	struct called_function c = { d->funcs, d->funcs->all.v[shown] };
	c.is.inlined = false;
	uint32_t first = map_intern(&d->first, tree_func_hash(&c.is), shown, is_called_same, &c);
	d->index.v[shown] = first == shown ? 1 + new_function(s, d, shown) : d->index.v[first];
	return d->index.v[shown] - 1;
}

static struct function_sum *add_frame(struct summing *s, struct dict_functions *d, uint32_t frame,
				      uint32_t number)
{
	const struct shown_run *run = shown_funcs_get(d->funcs, d->dict, frame);
	struct function_sum *last = NULL;
	for (uint32_t k = run->first; k < run->first + run->n; k++) {
		uint32_t shown = d->funcs->lists.v[k];
		if (s->l->no_kernel && d->funcs->all.v[shown].kind == FRAME_KERNEL)
			continue;
		while (d->index.n < d->funcs->all.n)
			vec_push(&d->index, 0);
		uint32_t known =
			d->index.v[shown] ? d->index.v[shown] - 1 : meet_function(s, d, shown);
		last = &s->out->all.v[known];
		if (last->seen != number + 1)
			last->total = sum_add(last->total, s->room->stacks.v[number].value);
		last->seen = number + 1;
	}
	return last;
}

/* Adds the sum once to the total of each function in the stack, and to the self value of the last
 * function not excluded. */
static void add_stack(struct summing *s, uint32_t number)
{
	struct function_room *room = s->room;
	const struct stack_sum *sum = &room->stacks.v[number];
	struct dict_functions *d = functions_of(s, sum->dict);
	uint32_t depth = stack_depth(&sum->dict->stacks, sum->stack), last = TREE_NONE;
	vec_clear(&room->frames);
	vec_reserve(&room->frames, depth);
	stack_frames(&sum->dict->stacks, sum->stack, room->frames.v);
	for (uint32_t i = 0; i < depth; i++) {
		struct function_sum *f = add_frame(s, d, room->frames.v[i], number);
		last = f ? (uint32_t)(f - s->out->all.v) : last;
	}
	if (last != TREE_NONE)
		s->out->all.v[last].self = sum_add(s->out->all.v[last].self, sum->value);
}

/* --- order ------------------------------------------------------------------------------------ */

static int rank_cmp(const void *a, const void *b, void *ctx)
{
	const struct function_sum *all = ctx;
	const struct function_sum *x = &all[*(const uint32_t *)a], *y = &all[*(const uint32_t *)b];
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* --- rebuilding ------------------------------------------------------------------------------- */

static void begin(struct summing *s, const struct profile *catalog)
{
	size_t n = catalog->series.series.n;
	struct function_room *room = s->room;
	struct value_scale scale = value_scale_of(catalog, s->l->type, NULL);
	snprintf(s->out->unit, sizeof s->out->unit, "%s", scale.unit);
	s->facts.arena = &s->out->arena;
	s->facts.function = s->l->function;
	room->wanted = xcalloc(n + 1, sizeof *room->wanted);
	room->factor = xcalloc(n + 1, sizeof *room->factor);
	for (size_t i = 0; i < n; i++) {
		const struct series *series = &catalog->series.series.v[i];
		room->wanted[i] =
			series->type == s->l->type && !series_is_free(&catalog->series, i);
		room->factor[i] = value_factor(&scale, series);
	}
}

static void clear_room(struct function_room *room)
{
	map_clear(&room->by_stack);
	map_clear(&room->by_name);
	vec_clear(&room->stacks);
	for (size_t i = 0; i < room->dicts.n; i++) {
		map_done(&room->dicts.v[i].first);
		vec_done(&room->dicts.v[i].index);
	}
	vec_clear(&room->dicts);
	free(room->wanted);
	free(room->factor);
	room->wanted = NULL;
	room->factor = NULL;
}

void function_sums_clear(struct function_sums *f)
{
	vec_clear(&f->all);
	vec_clear(&f->order);
	arena_done(&f->arena);
	f->total = 0;
	*f->unit = '\0';
}

int function_sums_make(struct function_sums *out, const struct look *l, struct err *err)
{
	function_sums_clear(out);
	if (!out->room)
		out->room = xcalloc(1, sizeof *out->room);
	struct summing s = { .out = out, .room = out->room, .l = l };
	begin(&s, l->source->ops->catalog(l->source));
	int rc = l->source->ops->rows(l->source, out->room->wanted, l->from_ns, l->to_ns, add_row,
				      &s, err);
	for (uint32_t i = 0; rc == 0 && i < out->room->stacks.n; i++)
		add_stack(&s, i);
	for (uint32_t i = 0; i < out->all.n; i++)
		if (out->all.v[i].self || out->all.v[i].total)
			vec_push(&out->order, i);
	if (out->order.n)
		qsort_r(out->order.v, out->order.n, sizeof *out->order.v, rank_cmp, out->all.v);
	stack_words_done(&s.facts);
	clear_room(out->room);
	return rc;
}

void function_sums_done(struct function_sums *f)
{
	struct function_room *room = f->room;
	vec_done(&f->all);
	vec_done(&f->order);
	arena_done(&f->arena);
	if (room) {
		clear_room(room);
		map_done(&room->by_stack);
		map_done(&room->by_name);
		vec_done(&room->stacks);
		vec_done(&room->dicts);
		vec_done(&room->frames);
		free(room);
	}
	*f = (struct function_sums){ 0 };
}
