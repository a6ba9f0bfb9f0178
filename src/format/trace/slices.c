#include "format/trace/trace_event.h"

#include "profile/sink.h"
#include "profile/sum.h"

#include <stdlib.h>

void slices_add(struct slices *s, int64_t ts_ns, int64_t dur_ns, uint32_t frame)
{
	if (s->events.n) {
		const struct slice_event *last = &s->events.v[s->events.n - 1];
		s->unordered |= ts_ns <= last->ts_ns;
	}
	vec_push(&s->events, (struct slice_event){ ts_ns, dur_ns, frame, s->events.n });
}

void slices_done(struct slices *s)
{
	vec_done(&s->events);
}

/* Sorts by time; at equal times ends precede begins, and longer slices precede shorter ones. */
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

struct open_slice {
	int64_t begin_ns, end_ns; /* INT64_MAX: until its end event */
	int64_t children_ns;
	uint32_t frame;
	bool whole;
};
struct slicer {
	struct sink *sink;
	struct sample sample;
	VEC(struct open_slice) open;
	VEC(uint32_t) frames; /* of the open slices */
	int64_t latest_ns;    /* the latest end of any slice */
	uint64_t given, skipped;
};

/* Ends the innermost slice. */
static void slicer_pop(struct slicer *z, int64_t end_ns)
{
	const struct open_slice s = z->open.v[--z->open.n];
	int64_t total_ns = sum_sub(end_ns, s.begin_ns);
	int64_t self_ns = sum_sub(total_ns, s.children_ns);
	z->latest_ns = end_ns > z->latest_ns ? end_ns : z->latest_ns;
	if (z->open.n) {
		struct open_slice *parent = &z->open.v[z->open.n - 1];
		parent->children_ns = sum_add(parent->children_ns, total_ns);
	}
	if (self_ns > 0) {
		uint32_t depth = z->frames.n < SLICES_MAX_DEPTH ? z->frames.n : SLICES_MAX_DEPTH;
		z->sample.stack = z->sink->ops->stack(z->sink, z->frames.v, depth);
		z->sample.time_ns = s.begin_ns;
		z->sample.value = self_ns;
		z->sink->ops->sample(z->sink, &z->sample);
		z->given++;
	}
	z->frames.n--;
}

/* Ends the whole slices that are over. A parent is never over before its child. */
static void slicer_advance(struct slicer *z, int64_t now_ns)
{
	while (z->open.n && z->open.v[z->open.n - 1].end_ns <= now_ns)
		slicer_pop(z, z->open.v[z->open.n - 1].end_ns);
}

static void slicer_begin(struct slicer *z, const struct slice_event *e)
{
	int64_t end_ns = e->dur_ns >= 0 ? sum_add(e->ts_ns, e->dur_ns) : INT64_MAX;
	if (z->open.n && z->open.v[z->open.n - 1].end_ns < end_ns) {
		end_ns = z->open.v[z->open.n - 1].end_ns;
		z->skipped += e->dur_ns >= 0;
	}
	vec_push(&z->open, (struct open_slice){ e->ts_ns, end_ns, 0, e->frame, e->dur_ns >= 0 });
	vec_push(&z->frames, e->frame);
}

static bool slicer_fits(const struct slicer *z, size_t i, const struct slice_event *end)
{
	const struct open_slice *s = &z->open.v[i];
	return !s->whole && (end->frame == SLICES_NO_NAME || end->frame == s->frame);
}

static void slicer_end(struct slicer *z, const struct slice_event *e)
{
	for (size_t i = z->open.n; i > 0 && i + SLICES_MATCH > z->open.n; i--) {
		if (!slicer_fits(z, i - 1, e))
			continue;
		z->skipped += z->open.n - i; /* unclosed slices inside */
		while (z->open.n >= i)
			slicer_pop(z, e->ts_ns);
		return;
	}
	z->skipped++;
}

/* Handles n events of the same time: ends, then begins. */
static void slicer_moment(struct slicer *z, const struct slice_event *events, size_t n)
{
	size_t end = 0, begin = 0;
	while (begin < n && events[begin].dur_ns == SLICE_END)
		begin++;
	size_t ends = begin;
	slicer_advance(z, events[0].ts_ns);
	while (end < ends || begin < n) {
		bool fits = end < ends && z->open.n && slicer_fits(z, z->open.n - 1, &events[end]);
		if (fits || begin == n)
			slicer_end(z, &events[end++]);
		else
			slicer_begin(z, &events[begin++]);
	}
}

uint64_t slices_give(struct slices *s, struct sink *sink, const struct sample *like,
		     uint64_t *skipped)
{
	struct slicer z = { .sink = sink, .sample = *like, .latest_ns = INT64_MIN };
	size_t n = s->events.n, i = 0;
	if (s->unordered)
		qsort(s->events.v, n, sizeof *s->events.v, slice_cmp);
	while (i < n) {
		size_t from = i;
		while (i < n && s->events.v[i].ts_ns == s->events.v[from].ts_ns)
			i++;
		slicer_moment(&z, s->events.v + from, i - from);
		z.latest_ns = s->events.v[from].ts_ns > z.latest_ns ? s->events.v[from].ts_ns
								    : z.latest_ns;
	}
	slicer_advance(&z, INT64_MAX - 1);
	while (z.open.n)
		slicer_pop(&z, z.latest_ns);
	*skipped += z.skipped;
	vec_done(&z.open);
	vec_done(&z.frames);
	vec_done(&s->events);
	s->unordered = false;
	return z.given;
}
