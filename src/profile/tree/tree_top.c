/* Totals of functions from sums by stack. */
#include "profile/tree/tree_sums.h"

#include "base/mem.h"
#include "base/vec.h"
#include "profile/sum.h"
#include "profile/tree/shown_funcs.h"
#include "profile/tree/tree.h"
#include "profile/tree/tree_filter.h"
#include "profile/tree/tree_path.h"

#include <stdlib.h>
#include <string.h>

enum { PARENTS_AHEAD = 24 };

void stack_totals(const struct stack_table *t, int64_t *total)
{
	const struct stack *stacks = t->stacks.v;
	for (size_t id = t->stacks.n; id-- > 1;) {
		if (id > PARENTS_AHEAD) /* parents are spread over memory */
			__builtin_prefetch(&total[stacks[id - PARENTS_AHEAD].parent], 1);
		int64_t *parent = &total[stacks[id].parent];
		*parent = sum_add(*parent, total[id]);
	}
}

/* A dictionary being walked. */
struct top_dict {
	struct profile *p;
	struct shown_funcs *shown;
	const struct stack_children *kids;
	int64_t *total; /* by stack, including its child stacks */
	/* By function shown: FUNC_… bits + 1; function of the tree + 1. 0: not computed yet. */
	VEC(uint8_t) bits;
	VEC(uint32_t) func;
};

enum { KID_UNKNOWN = UINT32_MAX, KIDS_AHEAD = 8 };

/* A place where a node's function ends. depth: number of frames of the stack; line: with inlined
 * calls, the number of lines of the last frame. */
struct place {
	uint32_t dict, stack, depth, line;
	/* The stack's children that share this many frames or more. KID_UNKNOWN: not computed
	 * yet. */
	uint32_t kid, kid_end;
	int64_t total;
};
struct offer {
	uint32_t key, func; /* key of tops.keys; function of the place's dictionary */
	struct place place;
};
/* The children of the current node, by function. */
struct top_key {
	int64_t total;
	uint32_t n, at; /* number of places; index of the next one */
	uint32_t step;  /* on the path to zoom's end */
	bool is_small;
};
struct top_node {
	uint32_t node, depth, first; /* in tops.places */
	uint32_t step;
};

struct tops {
	struct tree *t;
	const struct tree_opts *opts;
	const struct tree_filter *filter;
	int64_t min_total, zoomed_min_total; /* below zoom's end */
	bool drops;
	struct top_dict *dicts;
	uint32_t n;
	VEC(struct top_node) todo; /* the last node's places are the last in places */
	VEC(struct place) places;
	/* State of the current node. */
	struct tree_func own;
	bool is_root;
	int64_t self, rest;
	VEC(struct place) here;
	VEC(struct offer) offers;
	VEC(uint32_t) used;
	/* By the tree's function; with one dictionary, by its own, as functions not shown need no
	 * names. */
	VEC(struct top_key) keys;
};

/* --- dictionaries --- */

static bool is_dropped(const struct tops *s, struct top_dict *d, uint32_t func)
{
	if (!s->drops)
		return false;
	while (d->bits.n <= func)
		vec_push(&d->bits, 0);
	uint8_t *bits = &d->bits.v[func];
	if (!*bits)
		*bits = 1 + tree_filter_func(s->filter, &d->p->strings, &d->shown->all.v[func]);
	return (*bits - 1) & FUNC_DROP;
}

static uint32_t tree_string(struct tree *t, const struct profile *p, uint32_t id)
{
	return strtab_putn(&t->strings, profile_str(p, id), strtab_len(&p->strings, id));
}

static uint32_t tree_func(struct tops *s, struct top_dict *d, uint32_t func)
{
	while (d->func.n <= func)
		vec_push(&d->func, 0);
	if (d->func.v[func])
		return d->func.v[func] - 1;
	struct tree_func f = d->shown->all.v[func];
	f.name = tree_string(s->t, d->p, f.name);
	f.binary = tree_string(s->t, d->p, f.binary);
	f.file = tree_string(s->t, d->p, f.file);
	d->func.v[func] = tree_func_intern(s->t, &f) + 1;
	return d->func.v[func] - 1;
}

/* --- the current node --- */

/* Whether it is the node's function, inlined or called. */
static bool repeats(struct tops *s, struct top_dict *d, uint32_t func)
{
	if (!s->opts->collapse_recursion || s->is_root)
		return false;
	uint32_t id = tree_func(s, d, func); /* may reallocate funcs */
	const struct tree_func *f = &s->t->funcs.v[id];
	return f->name == s->own.name && f->kind == s->own.kind && f->binary == s->own.binary &&
	       f->file == s->own.file;
}

static void offer(struct tops *s, const struct place *place, uint32_t func)
{
	struct top_dict *d = &s->dicts[place->dict];
	uint32_t key = s->n == 1 ? func : tree_func(s, d, func);
	while (s->keys.n <= key)
		vec_push(&s->keys, (struct top_key){ 0 });
	struct top_key *k = &s->keys.v[key];
	if (!k->n++)
		vec_push(&s->used, key);
	k->total = sum_add(k->total, place->total);
	vec_push(&s->offers, (struct offer){ key, func, *place });
}

static const struct shown_run *last_frame(struct tops *s, const struct place *place)
{
	struct top_dict *d = &s->dicts[place->dict];
	const struct stack *stack = &d->p->stacks.stacks.v[place->stack];
	uint32_t frame = d->p->stacks.own.v[stack->own + place->depth - 1 - stack->shared];
	return shown_funcs_get(d->shown, d->p, frame);
}

/* Adds a place to the child of its line, or to the node itself if the line is dropped or repeats
 * it. */
static void arrive(struct tops *s, struct place place)
{
	struct top_dict *d = &s->dicts[place.dict];
	const struct shown_run *run = last_frame(s, &place);
	for (; place.line < run->n; place.line++) {
		uint32_t func = d->shown->lists.v[run->first + place.line];
		if (is_dropped(s, d, func) || repeats(s, d, func))
			continue;
		offer(s, &place, func);
		return;
	}
	vec_push(&s->here, place);
}

/* Adds a child's first own function; the rest of the child is not read before this function is
 * shown. */
static void arrive_kid(struct tops *s, struct top_dict *d, const struct place *place, uint32_t kid,
		       int64_t total)
{
	uint32_t func = shown_funcs_first(d->shown, d->p, place->kid);
	struct place p = { .dict = place->dict,
			   .stack = kid,
			   .depth = place->depth + 1,
			   .kid = KID_UNKNOWN,
			   .total = total };
	if (func == TREE_NONE)
		s->self = sum_add(s->self, total);
	else if (is_dropped(s, d, func) || repeats(s, d, func))
		arrive(s, p);
	else
		offer(s, &p, func);
}

/* Moves on the children that leave the stack here. Their totals are subtracted from the place's. */
static void leave_kids(struct tops *s, struct place *place)
{
	struct top_dict *d = &s->dicts[place->dict];
	const struct stack_children *kids = d->kids;
	for (; place->kid < place->kid_end; place->kid++) {
		if (kids->shared[place->kid] != place->depth)
			break;
		uint32_t ahead = place->kid + KIDS_AHEAD;
		if (ahead < place->kid_end)
			__builtin_prefetch(&d->total[kids->kid[ahead]]);
		uint32_t kid = kids->kid[place->kid];
		int64_t total = d->total[kid];
		if (total == 0)
			continue;
		place->total = (int64_t)((uint64_t)place->total - (uint64_t)total);
		arrive_kid(s, d, place, kid, total);
	}
}

/* Adds the places that follow a place of the node. */
static void follow(struct tops *s, struct place place)
{
	const struct top_dict *d = &s->dicts[place.dict];
	const struct stack *stack = &d->p->stacks.stacks.v[place.stack];
	if (place.depth > stack->shared && place.line + 1 < last_frame(s, &place)->n) {
		place.line++;
		arrive(s, place);
		return;
	}
	if (place.kid == KID_UNKNOWN) {
		place.kid = d->kids->first[place.stack];
		place.kid_end = d->kids->first[place.stack + 1];
	}
	leave_kids(s, &place);
	if (place.depth == stack->depth) {
		s->self = sum_add(s->self, place.total);
	} else if (place.total) {
		place.depth++;
		place.line = 0;
		arrive(s, place);
	}
}

/* --- its children --- */

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

static int64_t min_total_below(const struct tops *s, uint32_t step)
{
	return tree_path_is_end(s->opts->zoom, step) ? s->zoomed_min_total : s->min_total;
}

/* Decides whether a child is large enough to be shown; those on the path to zoom's end always
 * are. */
static void judge(struct tops *s, uint32_t step, uint32_t key)
{
	struct top_key *k = &s->keys.v[key];
	bool is_below = tree_path_is_end(s->opts->zoom, step);
	k->step = step;
	k->is_small = magnitude(k->total) < (uint64_t)min_total_below(s, step);
	if (step == PATH_OFF || is_below)
		return;
	uint32_t func = s->n == 1 ? tree_func(s, &s->dicts[0], key) : key;
	k->step = tree_path_step(s->opts->zoom, step, s->t, func);
	k->is_small &= k->step == PATH_OFF;
	if (tree_path_is_end(s->opts->zoom, k->step))
		s->zoomed_min_total = tree_min_total(k->total, s->opts->min_share);
}

/* Allocates space for the places of the children that are shown, one after the other. */
static void make_rooms(struct tops *s, uint32_t step)
{
	for (size_t i = 0; i < s->used.n; i++) {
		judge(s, step, s->used.v[i]);
		struct top_key *k = &s->keys.v[s->used.v[i]];
		if (k->is_small) {
			s->rest = sum_add(s->rest, k->total);
			continue;
		}
		k->at = s->places.n;
		vec_reserve(&s->places, s->places.n + k->n);
		s->places.n += k->n;
		k->n = 0; /* until its node exists */
	}
}

static void add_children(struct tops *s, uint32_t node, uint32_t depth)
{
	for (size_t i = 0; i < s->offers.n; i++) {
		const struct offer *o = &s->offers.v[i];
		struct top_key *k = &s->keys.v[o->key];
		if (k->is_small)
			continue;
		if (!k->n++) {
			uint32_t func = tree_func(s, &s->dicts[o->place.dict], o->func);
			uint32_t child = tree_child(s->t, node, func);
			vec_push(&s->todo, (struct top_node){ child, depth + 1, k->at, k->step });
			if (s->opts->max_depth && depth + 1 >= s->opts->max_depth) {
				struct tree_node *n = &s->t->nodes.v[child];
				n->self = sum_add(n->self, k->total);
			}
		}
		s->places.v[k->at++] = o->place;
	}
	for (size_t i = 0; i < s->used.n; i++)
		s->keys.v[s->used.v[i]] = (struct top_key){ 0 };
}

/* --- all together --- */

/* Pops the node and its places from the lists. */
static void begin_node(struct tops *s, struct top_node at)
{
	vec_clear(&s->here);
	vec_clear(&s->offers);
	vec_clear(&s->used);
	s->self = s->rest = 0;
	s->own = s->t->funcs.v[s->t->nodes.v[at.node].func];
	vec_append(&s->here, s->places.v + at.first, s->places.n - at.first);
	s->places.n = at.first;
}

static void expand(struct tops *s, struct top_node at)
{
	begin_node(s, at);
	if (s->opts->max_depth && at.depth >= s->opts->max_depth)
		return; /* its total is complete */
	for (size_t i = 0; i < s->here.n; i++)
		follow(s, s->here.v[i]);
	struct tree_node *n = &s->t->nodes.v[at.node];
	n->self = sum_add(n->self, s->self);
	make_rooms(s, at.step);
	add_children(s, at.node, at.depth);
	if (!s->rest)
		return;
	uint32_t rest = tree_rest_func(s->t, 0, min_total_below(s, at.step));
	uint32_t child = tree_child(s->t, at.node, rest);
	s->t->nodes.v[child].self = sum_add(s->t->nodes.v[child].self, s->rest);
}

static void begin(struct tops *s, const struct tree_top_part *parts)
{
	s->dicts = xcalloc(s->n, sizeof *s->dicts);
	for (uint32_t i = 0; i < s->n; i++) {
		struct top_dict *d = &s->dicts[i];
		d->p = parts[i].dict;
		d->shown = shown_funcs_of(d->p);
		shown_funcs_children(d->shown, d->p);
		d->kids = &d->shown->kids;
		d->total = xcalloc(d->p->stacks.stacks.n, sizeof *d->total);
		for (uint32_t k = 0; k < parts[i].n; k++)
			d->total[parts[i].stack[k]] = parts[i].value[k];
		stack_totals(&d->p->stacks, d->total);
		vec_push(&s->places, (struct place){ .dict = i,
						     .kid_end = d->kids->first[1],
						     .total = d->total[0] });
	}
}

static void end(struct tops *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		free(s->dicts[i].total);
		vec_done(&s->dicts[i].bits);
		vec_done(&s->dicts[i].func);
	}
	free(s->dicts);
	vec_done(&s->todo);
	vec_done(&s->places);
	vec_done(&s->here);
	vec_done(&s->offers);
	vec_done(&s->used);
	vec_done(&s->keys);
}

static uint32_t depth_of(const struct tree *t, uint32_t node)
{
	uint32_t depth = 0;
	for (; node != TREE_ROOT; node = t->nodes.v[node].parent)
		depth++;
	return depth;
}

/* Returns the root's step on the path to zoom's end. Its total, and those above it, are still the
 * root frames'. */
static uint32_t find_step(struct tops *s, uint32_t node)
{
	const struct tree_path *zoom = s->opts->zoom;
	if (!zoom || node == TREE_ROOT)
		return zoom ? 0 : PATH_OFF;
	const struct tree_node *n = &s->t->nodes.v[node];
	uint32_t above = find_step(s, n->parent);
	uint32_t step = tree_path_step(zoom, above, s->t, n->func);
	if (tree_path_is_end(zoom, step) && step != above)
		s->zoomed_min_total = tree_min_total(n->total, s->opts->min_share);
	return step;
}

void tree_top_add(struct tree *t, const struct tree_opts *opts, const struct tree_filter *filter,
		  uint32_t root, const struct tree_top_part *parts, uint32_t n, int64_t min_total)
{
	struct tops s = { .t = t, .opts = opts, .filter = filter, .min_total = min_total, .n = n };
	uint32_t depth = depth_of(t, root);
	s.zoomed_min_total = min_total;
	s.drops = opts->hide || opts->no_kernel || opts->no_user;
	begin(&s, parts);
	if (!opts->max_depth || depth < opts->max_depth) {
		vec_push(&s.todo, (struct top_node){ root, depth, 0, find_step(&s, root) });
	} else { /* the root takes all values */
		for (uint32_t i = 0; i < n; i++)
			t->nodes.v[root].self = sum_add(t->nodes.v[root].self, s.dicts[i].total[0]);
	}
	while (s.todo.n) {
		struct top_node at = s.todo.v[--s.todo.n];
		s.is_root = at.node == root;
		expand(&s, at);
	}
	end(&s);
}
