/* Nests slices of a thread, and cuts overlaps. If two slices overlap without one being inside
 * the other, the one that loses less is cut, so neighbours that touch by a nanosecond or a
 * microsecond stay neighbours. Slices nested too deep add their time to the deepest level. */
#include "format/trace/chrome_trace.h"
#include "format/trace/trace_event.h"

#include "base/vec.h"
#include "profile/sink.h"
#include "profile/sum.h"

#include <stdlib.h>

enum { SLICES_AFTER_ANNOTATIONS = 1u << 30 };
_Static_assert((uint32_t)TRACE_MAX_EVENTS < (uint32_t)SLICES_AFTER_ANNOTATIONS,
	       "orders are different");

void slices_add(struct slices *s, int64_t ts_ns, int64_t dur_ns, uint32_t frame, bool is_annotation)
{
	uint32_t order = s->events.n + (is_annotation ? 0 : SLICES_AFTER_ANNOTATIONS);
	if (s->events.n) {
		const struct slice_event *last = &s->events.v[s->events.n - 1];
		s->unordered |= ts_ns <= last->ts_ns;
	}
	vec_push(&s->events, (struct slice_event){ ts_ns, dur_ns, frame, order });
}

void slices_done(struct slices *s)
{
	vec_done(&s->events);
}

/* Sorts by time; at equal times ends precede starts, and longer slices precede shorter ones. */
static int slice_cmp(const void *a, const void *b)
{
	const struct slice_event *x = a, *y = b;
	bool x_ends = x->dur_ns == SLICE_END, y_ends = y->dur_ns == SLICE_END;
	bool both_whole = x->dur_ns >= 0 && y->dur_ns >= 0;
	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	if (x_ends != y_ends)
		return x_ends ? -1 : 1;
	if (both_whole && x->dur_ns != y->dur_ns)
		return x->dur_ns > y->dur_ns ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* --- pairs: the end of each B ----------------------------------------------------------------- */

struct slice_pairs {
	struct slice_event *events;
	VEC(uint32_t) open; /* events without an end so far */
	uint64_t skipped;
};

static bool pair_fits(const struct slice_pairs *p, size_t i, const struct slice_event *end)
{
	return end->frame == SLICES_NO_NAME || end->frame == p->events[p->open.v[i]].frame;
}

/* Those inside that are still open may have a separate end. */
static void pair_end(struct slice_pairs *p, const struct slice_event *end)
{
	for (size_t i = p->open.n; i > 0 && i + SLICES_MATCH > p->open.n; i--) {
		if (!pair_fits(p, i - 1, end))
			continue;
		struct slice_event *begin = &p->events[p->open.v[i - 1]];
		begin->dur_ns = sum_sub(end->ts_ns, begin->ts_ns);
		for (; i < p->open.n; i++)
			p->open.v[i - 1] = p->open.v[i];
		p->open.n--;
		return;
	}
	p->skipped++;
}

/* Handles events from..to, which have the same time: ends, then starts. */
static void pair_moment(struct slice_pairs *p, size_t from, size_t to)
{
	size_t end = from, begin = from;
	while (begin < to && p->events[begin].dur_ns == SLICE_END)
		begin++;
	size_t ends = begin;
	while (end < ends || begin < to) {
		const struct slice_event *e = &p->events[end];
		bool fits = end < ends && p->open.n && pair_fits(p, p->open.n - 1, e);
		if (fits || begin == to) {
			pair_end(p, &p->events[end++]);
			continue;
		}
		if (p->events[begin].dur_ns == SLICE_BEGIN)
			vec_push(&p->open, begin);
		begin++;
	}
}

static size_t moment_end(const struct slices *s, size_t from)
{
	size_t i = from + 1;
	while (i < s->events.n && s->events.v[i].ts_ns == s->events.v[from].ts_ns)
		i++;
	return i;
}

/* Turns each B with an end into a whole slice. Returns the number of ends without one. */
static uint64_t slices_pair(struct slices *s)
{
	struct slice_pairs p = { .events = s->events.v };
	for (size_t i = 0, end; i < s->events.n; i = end) {
		end = moment_end(s, i);
		pair_moment(&p, i, end);
	}
	vec_done(&p.open);
	return p.skipped;
}

/* --- nesting ---------------------------------------------------------------------------------- */

struct open_slice {
	int64_t end_ns; /* INT64_MAX: until the end of the thread */
};
struct slicer {
	struct sink *sink;
	struct sample sample;
	VEC(struct open_slice) open;
	VEC(uint32_t) frames; /* of the open slices */
	int64_t given_ns;     /* time up to there has been given */
	int64_t latest_ns;    /* the latest end of any slice */
	uint64_t given;
	struct slices_left *left;
};

/* Gives the time since the last change of the stack, which was spent in the innermost slice. */
static void slicer_give(struct slicer *z, int64_t until_ns)
{
	if (z->open.n && until_ns > z->given_ns) {
		uint32_t depth = z->frames.n < SLICES_MAX_DEPTH ? z->frames.n : SLICES_MAX_DEPTH;
		z->sample.stack = z->sink->ops->stack(z->sink, z->frames.v, depth);
		z->sample.time_ns = z->given_ns;
		z->sample.value = z->sample.length_ns = sum_sub(until_ns, z->given_ns);
		z->sink->ops->sample(z->sink, &z->sample);
		z->given++;
	}
	z->given_ns = until_ns;
}

/* Ends the innermost slice. */
static void slicer_pop(struct slicer *z, int64_t end_ns)
{
	slicer_give(z, end_ns);
	z->latest_ns = end_ns > z->latest_ns ? end_ns : z->latest_ns;
	z->open.n--;
	z->frames.n--;
}

/* Ends the whole slices that are over. A parent is never over before its child. */
static void slicer_advance(struct slicer *z, int64_t now_ns)
{
	while (z->open.n && z->open.v[z->open.n - 1].end_ns <= now_ns)
		slicer_pop(z, z->open.v[z->open.n - 1].end_ns);
}

/* Whether a slice that would end at end_ns, after the innermost one, follows it and only starts too
 * early: more of it is after the end of the other than before. */
static bool slicer_follows(const struct slicer *z, int64_t ts_ns, int64_t end_ns)
{
	int64_t other_ns = z->open.v[z->open.n - 1].end_ns;
	return other_ns < end_ns && sum_sub(other_ns, ts_ns) < sum_sub(end_ns, other_ns);
}

/* Ends the slices that the next one follows. What they lose is that of the outermost. */
static void slicer_end_before(struct slicer *z, int64_t ts_ns, int64_t end_ns)
{
	int64_t cut_ns = 0;
	for (; z->open.n && slicer_follows(z, ts_ns, end_ns); z->left->cut++) {
		cut_ns = sum_sub(z->open.v[z->open.n - 1].end_ns, ts_ns);
		slicer_pop(z, ts_ns);
	}
	z->left->cut_ns = sum_add(z->left->cut_ns, cut_ns);
}

static void slicer_begin(struct slicer *z, const struct slice_event *e)
{
	bool whole = e->dur_ns >= 0;
	int64_t end_ns = whole ? sum_add(e->ts_ns, e->dur_ns) : INT64_MAX;
	if (whole)
		slicer_end_before(z, e->ts_ns, end_ns);
	int64_t most_ns = z->open.n ? z->open.v[z->open.n - 1].end_ns : INT64_MAX;
	if (end_ns > most_ns && whole) {
		z->left->cut++;
		z->left->cut_ns = sum_add(z->left->cut_ns, sum_sub(end_ns, most_ns));
	} else if (end_ns > most_ns) {
		z->left->skipped++;
	}
	end_ns = end_ns < most_ns ? end_ns : most_ns;
	slicer_give(z, e->ts_ns);
	vec_push(&z->open, (struct open_slice){ end_ns });
	vec_push(&z->frames, e->frame);
}

/* Handles n events of the same time. */
static void slicer_moment(struct slicer *z, struct slice_event *events, size_t n)
{
	slicer_advance(z, events[0].ts_ns);
	if (n > 1) /* the lengths of B were not known before */
		qsort(events, n, sizeof *events, slice_cmp);
	for (size_t i = 0; i < n; i++)
		if (events[i].dur_ns != SLICE_END)
			slicer_begin(z, &events[i]);
}

uint64_t slices_give(struct slices *s, struct sink *sink, const struct sample *like,
		     struct slices_left *left)
{
	struct slicer z = { .sink = sink, .sample = *like, .latest_ns = INT64_MIN, .left = left };
	if (s->unordered)
		qsort(s->events.v, s->events.n, sizeof *s->events.v, slice_cmp);
	left->skipped += slices_pair(s);
	for (size_t i = 0, end; i < s->events.n; i = end) {
		int64_t ts_ns = s->events.v[i].ts_ns;
		end = moment_end(s, i);
		slicer_moment(&z, s->events.v + i, end - i);
		z.latest_ns = ts_ns > z.latest_ns ? ts_ns : z.latest_ns;
	}
	slicer_advance(&z, INT64_MAX - 1);
	while (z.open.n)
		slicer_pop(&z, z.latest_ns);
	vec_done(&z.open);
	vec_done(&z.frames);
	vec_done(&s->events);
	s->unordered = false;
	return z.given;
}
