/* Divides the costs of the call graph among stacks: the cost that enters a function is divided
 * among its self cost and its calls in the proportions of the whole run, as if each caller had made
 * an average call. Functions of a cycle are divided as one, each on the shortest way through it,
 * none twice in a stack. Costs left after the last step, and negative ones, go to the largest stack
 * of their function. */
#include "base/hash.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/vec.h"
#include "format/callgrind/callgrind_graph.h"
#include "format/common/guess.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/sum.h"

#include <stdint.h>
#include <string.h>

/* A flow of cost: `left` of `amount` is still to be divided among the items of a group. */
struct flow {
	uint32_t group, entry; /* entry: the function it entered by */
	uint32_t base;         /* frames above */
	uint32_t at;           /* the next item, if all of them get a share */
	int64_t amount, left;
	int64_t seen, total; /* costs of the items passed, and of all */
	bool is_small;       /* follows one path instead */
};

struct callgrind_row {
	uint32_t stack, tid;
	int64_t value;
};

struct callgrind_stacks {
	const struct callgrind_graph *g;
	struct sink *sink;
	uint32_t pid;
	struct callgrind_groups groups;
	uint32_t *frame;      /* by code; UINT32_MAX until needed */
	uint32_t marker;      /* frame */
	uint32_t *best_stack; /* by code: the one with the largest value; UINT32_MAX */
	int64_t *best;        /* … that value */
	/* Of the current type. */
	const struct callgrind_type *type;
	int64_t total;
	int64_t *rest;  /* by place in groups.items: cost not yet in any stack */
	int64_t *upto;  /* … its cost plus those of the group's earlier places */
	uint32_t *skip; /* … a place at or after it that may have a rest above 0 */
	int64_t *out;   /* by group: rest of all its items, minus what is in flows */
	int64_t *cut;   /* by function: cost that arrived too deep */
	uint64_t steps, max_steps;
	uint64_t lot;
	VEC(struct flow) flows;
	VEC(uint32_t) frames, way;
	VEC(struct callgrind_row) rows;
	struct map row_of;
	bool is_shown; /* a type that has a cost */
};

/* --- frames --- */

static uint32_t stacks_string(struct callgrind_stacks *x, uint32_t name, bool is_path)
{
	struct callgrind_name n = x->g->names.v[name];
	if (is_path && n.len == 3 && memcmp(n.text, "???", 3) == 0) /* valgrind's "unknown" */
		n.len = 0;
	return x->sink->ops->string(x->sink, n.text, n.len);
}

static uint32_t stacks_frame(struct callgrind_stacks *x, uint32_t code)
{
	if (x->frame[code] != UINT32_MAX)
		return x->frame[code];
	const struct callgrind_code *c = &x->g->code.v[code];
	const struct callgrind_function *fn = &x->g->functions.v[c->function];
	const struct callgrind_name *name = &x->g->names.v[fn->name];
	const struct callgrind_name *file = &x->g->names.v[c->file];
	struct frame f = { .mapping = MAPPING_NONE,
			   .kind = guess_kind(name->text, name->len, file->text, file->len),
			   .function = name->len ? stacks_string(x, fn->name, false)
						 : sink_string(x->sink, "[unknown]"),
			   .file = stacks_string(x, c->file, true),
			   .binary = stacks_string(x, fn->object, true) };
	x->frame[code] = x->sink->ops->frame(x->sink, &f);
	return x->frame[code];
}

static void stacks_push_frame(struct callgrind_stacks *x, uint32_t code)
{
	x->steps++;
	vec_push(&x->frames, stacks_frame(x, code));
}

/* Pushes a function and, if different, the code inlined into it. */
static void stacks_push_code(struct callgrind_stacks *x, uint32_t code)
{
	uint32_t own = x->g->functions.v[x->g->code.v[code].function].code;
	stacks_push_frame(x, own);
	if (code != own)
		stacks_push_frame(x, code);
}

/* Pushes the frames from the flow's entry to this code of its group. */
static void stacks_push_way(struct callgrind_stacks *x, const struct flow *f, uint32_t code)
{
	const struct callgrind_graph *g = x->g;
	uint32_t function = g->code.v[code].function;
	if (function != f->entry)
		callgrind_groups_ways(&x->groups, f->entry);
	for (vec_clear(&x->way); function != f->entry;) {
		uint32_t call = x->groups.way[function];
		vec_push(&x->way, g->calls.v[call].code);
		function = callgrind_caller(g, call);
	}
	x->frames.n = f->base;
	while (x->way.n)
		stacks_push_code(x, x->way.v[--x->way.n]);
	stacks_push_code(x, code);
}

/* --- samples --- */

static void stacks_add(struct callgrind_stacks *x, uint32_t stack, uint32_t code, int64_t value)
{
	uint32_t tid = x->g->functions.v[x->g->code.v[code].function].thread;
	uint64_t key = (uint64_t)stack << 32 | tid;
	uint32_t *known = map_get(&x->row_of, key);
	if (known) {
		x->rows.v[*known].value = sum_add(x->rows.v[*known].value, value);
		return;
	}
	map_put(&x->row_of, key, x->rows.n);
	vec_push(&x->rows, (struct callgrind_row){ stack, tid, value });
}

/* Returns the current frames as a stack, truncated at the root if it is too deep. */
static uint32_t stacks_intern(struct callgrind_stacks *x)
{
	uint32_t n = x->frames.n;
	uint32_t above = n > CALLGRIND_MAX_DEPTH ? n - CALLGRIND_MAX_DEPTH : 0;
	uint32_t kept = x->frames.v[above];
	if (above)
		x->frames.v[above] = x->marker;
	uint32_t stack = x->sink->ops->stack(x->sink, x->frames.v + above, n - above);
	x->frames.v[above] = kept;
	x->steps += n - above;
	return stack;
}

static void stacks_give_self(struct callgrind_stacks *x, uint32_t code, int64_t value)
{
	uint32_t stack = stacks_intern(x);
	stacks_add(x, stack, code, value);
	if (value > x->best[code]) {
		x->best[code] = value;
		x->best_stack[code] = stack;
	}
}

/* Adds a self cost that no flow reached. */
static void stacks_give_rest(struct callgrind_stacks *x, uint32_t code, int64_t value)
{
	if (x->best_stack[code] == UINT32_MAX) {
		uint32_t frames[] = { x->marker, stacks_frame(x, code) };
		x->best_stack[code] = x->sink->ops->stack(x->sink, frames, 2);
	}
	stacks_add(x, x->best_stack[code], code, value);
}

/* --- flows --- */

static uint32_t stacks_find(struct callgrind_stacks *x, uint32_t place)
{
	while (x->skip[place] != place) {
		x->skip[place] = x->skip[x->skip[place]];
		place = x->skip[place];
	}
	return place;
}

/* Returns a random place of the group with cost left. */
static uint32_t stacks_draw(struct callgrind_stacks *x, uint32_t group)
{
	uint32_t first = x->groups.first_item[group], end = x->groups.first_item[group + 1];
	x->lot = x->lot * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
	int64_t lot = (unsigned __int128)x->upto[end - 1] * (x->lot >> 32) >> 32;
	uint32_t place = stacks_find(x, search_first(i, first, end - 1, x->upto[i] > lot));
	return place < end ? place : stacks_find(x, first);
}

/* Follows one random path until its cost is used up. */
static bool stacks_next_drawn(struct callgrind_stacks *x, struct flow *f, uint32_t *place,
			      int64_t *amount)
{
	if (f->left == 0)
		return false;
	*place = stacks_draw(x, f->group);
	if (*place >= x->groups.first_item[f->group + 1])
		return false;
	*amount = f->left < x->rest[*place] ? f->left : x->rest[*place];
	return true;
}

/* Gives each place its share. Running sums are rounded down, so the places up to here together have
 * their exact share. */
static bool stacks_next_share(struct callgrind_stacks *x, struct flow *f, uint32_t *place,
			      int64_t *amount)
{
	uint32_t end = x->groups.first_item[f->group + 1];
	for (; f->left && f->at < end; f->at++, x->steps++) {
		int64_t rest = x->rest[f->at];
		f->seen = sum_add(f->seen, rest);
		int64_t share = (unsigned __int128)f->amount * f->seen / f->total;
		int64_t part = share - (f->amount - f->left);
		if (part <= 0)
			continue;
		part = part < f->left ? part : f->left;
		*amount = part < rest ? part : rest;
		*place = f->at++;
		return true;
	}
	return false;
}

/* Finds the next place that gets something. Returns false if everything is divided. */
static bool stacks_next(struct callgrind_stacks *x, struct flow *f, uint32_t *place,
			int64_t *amount)
{
	x->steps++;
	bool found = f->is_small ? stacks_next_drawn(x, f, place, amount)
				 : stacks_next_share(x, f, place, amount);
	if (!found)
		return false;
	f->left -= *amount;
	x->rest[*place] -= *amount;
	if (x->rest[*place] == 0)
		x->skip[*place] = *place + 1;
	return true;
}

static void stacks_enter(struct callgrind_stacks *x, uint32_t function, int64_t amount)
{
	uint32_t group = x->groups.of_function[function];
	struct flow f = { .group = group,
			  .entry = function,
			  .base = x->frames.n,
			  .at = x->groups.first_item[group],
			  .total = x->out[group] };
	f.amount = f.left = amount < f.total ? amount : f.total;
	f.is_small = f.amount < x->total / CALLGRIND_SHARE;
	if (f.amount == 0)
		return;
	x->out[group] -= f.amount;
	vec_push(&x->flows, f);
}

/* Follows a flow and all its branches until it has become self costs. */
static void stacks_flow(struct callgrind_stacks *x, uint32_t function, int64_t amount)
{
	const struct callgrind_graph *g = x->g;
	stacks_enter(x, function, amount);
	while (x->flows.n && x->steps + x->groups.steps < x->max_steps) {
		struct flow *f = &x->flows.v[x->flows.n - 1];
		uint32_t place;
		if (!stacks_next(x, f, &place, &amount)) {
			x->flows.n--;
			continue;
		}
		uint32_t item = x->groups.items[place];
		if (item < g->code.n) {
			stacks_push_way(x, f, item);
			stacks_give_self(x, item, amount);
			continue;
		}
		const struct callgrind_call *call = &g->calls.v[item - g->code.n];
		stacks_push_way(x, f, call->code);
		if (x->frames.n < CALLGRIND_MAX_DEPTH)
			stacks_enter(x, call->callee, amount);
		else
			x->cut[call->callee] = sum_add(x->cut[call->callee], amount);
	}
	vec_clear(&x->flows);
}

/* --- one type --- */

/* Sets up the costs to be divided. */
static void stacks_begin(struct callgrind_stacks *x)
{
	const struct callgrind_groups *groups = &x->groups;
	const struct callgrind_graph *g = x->g;
	x->total = 0;
	for (uint32_t group = 0; group < groups->n; group++) {
		int64_t sum = 0;
		for (uint32_t i = groups->first_item[group]; i < groups->first_item[group + 1];
		     i++) {
			uint32_t item = groups->items[i];
			bool is_self = item < g->code.n;
			int64_t cost = is_self ? callgrind_cost(&x->type->self, item)
					       : callgrind_cost(&x->type->calls,
								item - (uint32_t)g->code.n);
			x->rest[i] = cost > 0 ? cost : 0;
			x->skip[i] = i + (x->rest[i] == 0);
			x->upto[i] = sum = sum_add(sum, x->rest[i]);
			if (is_self)
				x->total = sum_add(x->total, x->rest[i]);
		}
		x->out[group] = sum;
	}
}

/* Finds the cost that starts in each group: its outflow minus the inflow by calls. */
static void stacks_find_roots(struct callgrind_stacks *x, int64_t *root)
{
	const struct callgrind_groups *groups = &x->groups;
	const struct callgrind_graph *g = x->g;
	memcpy(root, x->out, groups->n * sizeof *root);
	for (uint32_t i = 0; i < groups->first_item[groups->n]; i++) {
		if (groups->items[i] < g->code.n)
			continue;
		uint32_t callee = g->calls.v[groups->items[i] - g->code.n].callee;
		uint32_t group = groups->of_function[callee];
		root[group] = sum_sub(root[group], x->rest[i]);
	}
}

/* Continues flows that entered the group too deep. They are complete once the groups that call it
 * are done. Code is first among items. */
static void stacks_flow_cut(struct callgrind_stacks *x, uint32_t group)
{
	const struct callgrind_groups *groups = &x->groups;
	for (uint32_t i = groups->first_item[group]; i < groups->first_item[group + 1]; i++) {
		if (groups->items[i] >= x->g->code.n)
			return;
		uint32_t function = x->g->code.v[groups->items[i]].function;
		int64_t amount = x->cut[function];
		if (amount == 0)
			continue;
		x->cut[function] = 0;
		vec_clear(&x->frames);
		vec_push(&x->frames, x->marker);
		stacks_flow(x, function, amount);
	}
}

static void stacks_flow_all(struct callgrind_stacks *x)
{
	uint32_t n = x->groups.n;
	int64_t *root = xcalloc(n, sizeof *root);
	uint32_t *entry = xcalloc(n, sizeof *entry);
	stacks_find_roots(x, root);
	/* A group without callers is entered by the function that was named first. */
	for (uint32_t f = x->g->functions.n; f-- > 0;)
		entry[x->groups.of_function[f]] = f;
	for (uint32_t group = n; group-- > 0;) {
		vec_clear(&x->frames);
		if (root[group] > 0)
			stacks_flow(x, entry[group], root[group]);
		stacks_flow_cut(x, group);
	}
	free(root);
	free(entry);
}

/* Emits negative values, and costs left when the steps are used up. */
static void stacks_find_rest(struct callgrind_stacks *x)
{
	for (uint32_t i = 0; i < x->groups.first_item[x->groups.n]; i++) {
		uint32_t code = x->groups.items[i];
		if (code >= x->g->code.n)
			continue;
		int64_t cost = callgrind_cost(&x->type->self, code);
		int64_t rest = cost < 0 ? cost : x->rest[i];
		if (rest)
			stacks_give_rest(x, code, rest);
	}
}

static void stacks_give_rows(struct callgrind_stacks *x, uint32_t series)
{
	struct sample sample = { .series = series, .pid = x->pid, .cpu = SAMPLE_NO_ID };
	for (size_t i = 0; i < x->rows.n; i++) {
		sample.stack = x->rows.v[i].stack;
		sample.tid = x->rows.v[i].tid;
		sample.value = x->rows.v[i].value;
		x->sink->ops->sample(x->sink, &sample);
	}
	vec_clear(&x->rows);
	map_clear(&x->row_of);
}

/* The first type with a cost is shown: a program that leaks may have no reachable bytes. */
static void stacks_show(struct callgrind_stacks *x, uint32_t type)
{
	struct profile_meta *meta = x->sink->ops->meta(x->sink);
	if (x->rows.n && !x->is_shown && meta->sample_types.n > 1)
		meta->default_type = type;
	x->is_shown |= x->rows.n > 0;
}

static void stacks_give_type(struct callgrind_stacks *x, const struct callgrind_type *t)
{
	struct sink *s = x->sink;
	uint32_t name = stacks_string(x, t->name, false);
	struct type type = { .name = name,
			     .sample_type = name,
			     .unit = stacks_string(x, t->unit, false) };
	struct series series = { .type = s->ops->type(s, &type) };
	vec_push(&s->ops->meta(s)->sample_types, series.type);
	x->type = t;
	x->steps = x->groups.steps = 0;
	memset(x->best, 0, x->g->code.n * sizeof *x->best);
	stacks_begin(x);
	stacks_flow_all(x);
	stacks_find_rest(x);
	stacks_show(x, series.type);
	stacks_give_rows(x, s->ops->series(s, &series));
}

/* --- all types --- */

static void stacks_init(struct callgrind_stacks *x)
{
	const struct callgrind_graph *g = x->g;
	size_t n_items = g->code.n + g->calls.n;
	struct frame marker = { .mapping = MAPPING_NONE,
				.kind = FRAME_MARKER,
				.function = sink_string(x->sink, "[truncated: callers]") };
	callgrind_groups_init(&x->groups, g);
	x->marker = x->sink->ops->frame(x->sink, &marker);
	x->frame = xcalloc(g->code.n, sizeof *x->frame);
	x->best_stack = xcalloc(g->code.n, sizeof *x->best_stack);
	x->best = xcalloc(g->code.n, sizeof *x->best);
	memset(x->frame, 0xff, g->code.n * sizeof *x->frame);
	memset(x->best_stack, 0xff, g->code.n * sizeof *x->best_stack);
	x->rest = xcalloc(n_items, sizeof *x->rest);
	x->upto = xcalloc(n_items, sizeof *x->upto);
	x->skip = xcalloc(n_items + 1, sizeof *x->skip);
	x->skip[x->groups.first_item[x->groups.n]] = x->groups.first_item[x->groups.n];
	x->out = xcalloc(x->groups.n, sizeof *x->out);
	x->cut = xcalloc(g->functions.n, sizeof *x->cut);
	x->max_steps = CALLGRIND_MAX_STEPS / g->types.n;
}

static void stacks_done(struct callgrind_stacks *x)
{
	callgrind_groups_done(&x->groups);
	free(x->frame);
	free(x->best_stack);
	free(x->best);
	free(x->rest);
	free(x->upto);
	free(x->skip);
	free(x->out);
	free(x->cut);
	vec_done(&x->flows);
	vec_done(&x->frames);
	vec_done(&x->way);
	vec_done(&x->rows);
	map_done(&x->row_of);
}

void callgrind_stacks_give(const struct callgrind_graph *g, struct sink *sink, uint32_t pid)
{
	struct callgrind_stacks x = { .g = g, .sink = sink, .pid = pid, .lot = 1 };
	stacks_init(&x);
	for (size_t i = 0; i < g->types.n; i++)
		stacks_give_type(&x, &g->types.v[i]);
	stacks_done(&x);
}
