/* Builds spans of lanes that are threads. A moment stands for a time as in query/lanes/lanes.h, but
 * ends at the next known event: at waits, and halfway to the next moment if that is at most one and
 * a half times this time away. */
#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/stack_id.h"
#include "profile/sum.h"
#include "query/lanes/lanes.h"
#include "query/lanes/lanes_work.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_BUCKETS = 2 }; /* narrower ones are only in the buckets */

struct spanning {
	struct lanes_work *w;
	VEC(struct lane_span) spans; /* state and fact */
	struct map stack_of;         /* fact → stack of the response */
	struct map stack_of_id;      /* the same by the first bytes of the stack's id */
	VEC(struct lane_stack) stacks;
	struct stack_ids *ids; /* by dictionary */
};

static int row_cmp(const void *a, const void *b, void *ctx)
{
	const struct lanes_work *w = ctx;
	const struct lane_row *x = a, *y = b;
	uint32_t s = lanes_slot(w, x->key), t = lanes_slot(w, y->key);
	if (s != t)
		return s < t ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->is_moment < y->is_moment ? -1 : x->is_moment > y->is_moment;
}

/* Returns whether a row is a sum of many short waits, whose exact times are unknown. */
static bool is_sum(const struct lane_row *r)
{
	return !r->is_moment && r->value_ns < r->length_ns;
}

static int64_t end_ns(const struct lane_row *r)
{
	return sum_add(r->time_ns, r->length_ns);
}

static int64_t middle(int64_t a, int64_t b)
{
	return a + (int64_t)(((__int128)b - a) / 2);
}

/* Returns how far a moment of worth_ns extends to a side where the next known event is edge_ns
 * away. */
static int64_t reach(int64_t edge_ns, int64_t worth_ns)
{
	return edge_ns <= worth_ns / 4 * 3 ? edge_ns : worth_ns / 2;
}

static struct lane_span span_of(const struct lane_row *r, const struct lane_row *before,
				const struct lane_row *behind)
{
	struct lane_span s = { r->time_ns, end_ns(r), r->state, r->fact };
	int64_t before_ns = INT64_MAX, behind_ns = INT64_MAX, at = r->time_ns;
	int64_t worth_ns = r->value_ns > 0 ? r->value_ns : 0;
	if (!r->is_moment)
		return s;
	if (before)
		before_ns = sum_sub(at, before->is_moment ? middle(before->time_ns, at)
							  : end_ns(before));
	if (behind)
		behind_ns = sum_sub(
			behind->is_moment ? middle(at, behind->time_ns) : behind->time_ns, at);
	s.from_ns = sum_sub(at, reach(before_ns, worth_ns));
	s.to_ns = sum_add(at, reach(behind_ns, worth_ns));
	return s;
}

static void put_span(struct spanning *g, const struct lane_span *s)
{
	if ((s->to_ns - s->from_ns) / LEAST_BUCKETS >= g->w->axis.step_ns)
		vec_push(&g->spans, *s);
}

static const struct lane_row *next_row(const struct lane_row *r, const struct lane_row *end)
{
	while (++r < end && is_sum(r))
		;
	return r < end ? r : NULL;
}

/* Compares stacks across dictionaries: before and after midnight a stack is in different ones. */
static bool is_same_stack(struct spanning *g, uint32_t a, uint32_t b)
{
	const struct stack_fact *f = &g->w->facts.all.v[a], *h = &g->w->facts.all.v[b];
	struct stack_id ids[2];
	if (a == b || f->dict == h->dict)
		return a == b;
	ids[0] = stack_id_of(&g->ids[f->dict], g->w->facts.dicts.v[f->dict].dict, f->stack);
	ids[1] = stack_id_of(&g->ids[h->dict], g->w->facts.dicts.v[h->dict].dict, h->stack);
	return memcmp(&ids[0], &ids[1], sizeof ids[0]) == 0;
}

/* Merges adjacent spans of equal stacks, except work on a GPU. */
static void add_lane(struct spanning *g, const struct lane_row *rows, size_t n, bool is_stream)
{
	const struct lanes_work *w = g->w;
	const struct lane_row *end = rows + n, *before = NULL;
	struct lane_span open = { w->q->from_ns, w->q->from_ns, 0, 0 };
	for (const struct lane_row *r = rows; r && r < end; r = next_row(r, end)) {
		if (is_sum(r))
			continue;
		struct lane_span s = span_of(r, before, next_row(r, end));
		before = r;
		s.from_ns = s.from_ns > open.to_ns ? s.from_ns : open.to_ns;
		s.to_ns = s.to_ns < w->q->to_ns ? s.to_ns : w->q->to_ns;
		if (s.to_ns <= s.from_ns)
			continue;
		bool goes_on = !is_stream && open.to_ns == s.from_ns && open.state == s.state &&
			       open.to_ns > open.from_ns && is_same_stack(g, open.stack, s.stack);
		if (goes_on) {
			open.to_ns = s.to_ns;
			continue;
		}
		put_span(g, &open);
		open = s;
	}
	put_span(g, &open);
}

/* --- stacks ----------------------------------------------------------------------------------- */

static const char *frame_name(struct profile *dict, uint32_t frame)
{
	struct shown_line line = { 0 };
	profile_frame_lines(dict, frame, &line, 1);
	return profile_str(dict, line.name);
}

/* Finds the functions before the "-" that separates work on a GPU from the functions that launched
 * it. */
static void find_askers(const struct spanning *g, struct profile *dict, uint32_t stack,
			struct lane_stack *out)
{
	uint32_t *frames = g->w->facts.frames.v, dash = stack_depth(&dict->stacks, stack);
	stack_frames(&dict->stacks, stack, frames);
	while (dash > 0) {
		uint32_t frame = frames[--dash];
		if (dict->frames.frames.v[frame].kind == FRAME_MARKER &&
		    strcmp(frame_name(dict, frame), "-") == 0)
			break;
	}
	out->n_askers = dash < LANES_ASKERS ? dash : LANES_ASKERS;
	for (uint32_t i = 0; i < out->n_askers; i++) {
		const char *name = frame_name(dict, frames[dash - out->n_askers + i]);
		out->askers[i] = arena_dup(&g->w->out->arena, name, strlen(name));
	}
}

static uint32_t add_stack(struct spanning *g, const struct stack_fact *f)
{
	struct profile *dict = g->w->facts.dicts.v[f->dict].dict;
	struct stack_id id = stack_id_of(&g->ids[f->dict], dict, f->stack);
	struct lane_stack s = { 0 };
	uint64_t first;
	memcpy(&first, id.bytes, sizeof first);
	stack_id_text(&id, s.id);
	const uint32_t *known = map_get(&g->stack_of_id, first);
	if (known && strcmp(g->stacks.v[*known].id, s.id) == 0)
		return *known;
	s.leaf = arena_dup(&g->w->out->arena, f->leaf, strlen(f->leaf));
	find_askers(g, dict, f->stack, &s);
	map_put(&g->stack_of_id, first, g->stacks.n);
	vec_push(&g->stacks, s);
	return g->stacks.n - 1;
}

static uint32_t answer_stack(struct spanning *g, uint32_t fact)
{
	const uint32_t *known = map_get(&g->stack_of, fact);
	if (known)
		return *known;
	uint32_t stack = add_stack(g, &g->w->facts.all.v[fact]);
	map_put(&g->stack_of, fact, stack);
	return stack;
}

/* Returns whether lanes are grouped by a label, and this one has it. */
static bool has_label(const struct query_lanes *out, const struct lane *lane, const char *label)
{
	bool has = false;
	for (uint32_t i = 0; i < out->n_by; i++)
		has |= strcmp(out->by[i], label) == 0 && *lane->names[i];
	return has;
}

static void add_lanes(struct spanning *g)
{
	struct lanes_work *w = g->w;
	size_t end;
	for (size_t first = 0; first < w->rows.n; first = end) {
		uint32_t slot = lanes_slot(w, w->rows.v[first].key);
		for (end = first + 1; end < w->rows.n && lanes_slot(w, w->rows.v[end].key) == slot;)
			end++;
		if (slot >= w->out->n_lanes)
			continue;
		struct lane *lane = &w->out->lanes[slot];
		bool is_stream = has_label(w->out, lane, "stream");
		if (!is_stream && !has_label(w->out, lane, "tid"))
			continue;
		add_lane(g, w->rows.v + first, end - first, is_stream);
		for (size_t i = 0; i < g->spans.n; i++)
			g->spans.v[i].stack = answer_stack(g, g->spans.v[i].stack);
		lane->n_spans = g->spans.n;
		lane->spans =
			arena_dup(&w->out->arena, g->spans.v, g->spans.n * sizeof *g->spans.v);
		vec_clear(&g->spans);
	}
}

void lanes_add_spans(struct lanes_work *w)
{
	struct spanning g = { .w = w };
	if (w->rows.n)
		qsort_r(w->rows.v, w->rows.n, sizeof *w->rows.v, row_cmp, w);
	g.ids = xcalloc(w->facts.dicts.n + 1, sizeof *g.ids);
	add_lanes(&g);
	w->out->n_stacks = g.stacks.n;
	w->out->stacks = arena_dup(&w->out->arena, g.stacks.v, g.stacks.n * sizeof *g.stacks.v);
	for (size_t i = 0; i < w->facts.dicts.n; i++)
		stack_ids_done(&g.ids[i]);
	free(g.ids);
	vec_done(&g.spans);
	vec_done(&g.stacks);
	map_done(&g.stack_of);
	map_done(&g.stack_of_id);
}
