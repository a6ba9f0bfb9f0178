/* tests/unit/lanes_world.h: samples of threads with known lanes: each is computed for each bucket, independently. */
#ifndef CRESSET_TESTS_LANES_WORLD_H
#define CRESSET_TESTS_LANES_WORLD_H

#include "rand.h"
#include "waits_profile.h"

#include "base/err.h"
#include "base/vec.h"
#include "query/lanes/lanes.h"
#include "query/source.h"
#include "query/time.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 5, STACKS = 6, PERIOD_NS = 1000 };
enum { TYPES = LANE_GPU_WAIT }; /* that are beside cpu, with it: each is one state */

/* --- samples whose truth is known --------------------------------------------------------------- */

struct piece { /* one sample, as the test knows it */
	uint32_t thread, state, stack;
	int64_t time_ns, length_ns, value_ns;
};
struct world {
	struct profile *p;
	VEC(struct piece) pieces;
	uint32_t types[TYPES], stacks[STACKS];
	struct rng rng;
};

static inline uint32_t add_type(struct profile *p, const char *name, bool counts)
{
	struct sink *s = profile_sink(p);
	struct type t = { .name = sink_string(s, name),
			  .sample_type = sink_string(s, counts ? "samples" : name),
			  .unit = sink_string(s, counts ? "count" : "nanoseconds"),
			  .period_type = counts ? sink_string(s, "cpu") : 0,
			  .period_unit = counts ? sink_string(s, "nanoseconds") : 0 };
	return s->ops->type(s, &t);
}

static inline void world_init(struct world *w, uint64_t seed)
{
	static const char *const texts[STACKS] = { "main",   "main;work", "main;work;deep",
						   "main;x", "start",     "start;y" };
	*w = (struct world){ .p = profile_new(), .rng = { seed } };
	w->types[LANE_ON] = add_type(w->p, "cpu", true);
	w->types[LANE_OFF] = add_type(w->p, "off-cpu", false);
	w->types[LANE_WAIT] = add_type(w->p, "sched-wait", false);
	for (int i = 0; i < STACKS; i++)
		w->stacks[i] = waits_stack(w->p, texts[i]);
}

static inline void world_done(struct world *w)
{
	profile_free(w->p);
	vec_done(&w->pieces);
}

static inline void put(struct world *w, struct piece piece)
{
	struct sink *s = profile_sink(w->p);
	char comm[16];
	snprintf(comm, sizeof comm, "t%u", piece.thread);
	struct label label = { .key = sink_string(s, "comm"), .str = sink_string(s, comm) };
	bool counts = piece.state == LANE_ON;
	struct series series = { .type = w->types[piece.state],
				 .period = counts ? PERIOD_NS : 0,
				 .labels = s->ops->labels(s, &label, 1) };
	struct sample sample = { .time_ns = piece.time_ns,
				 .length_ns = piece.length_ns,
				 .value = piece.value_ns / (counts ? PERIOD_NS : 1),
				 .series = s->ops->series(s, &series),
				 .stack = w->stacks[piece.stack],
				 .pid = 7,
				 .tid = 10 + piece.thread,
				 .cpu = 0 };
	s->ops->sample(s, &sample);
	vec_push(&w->pieces, piece);
}

static inline void put_random(struct world *w, int64_t range_ns, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct piece piece = { .thread = rng_below(&w->rng, THREADS),
				       .state = rng_below(&w->rng, TYPES),
				       .stack = rng_below(&w->rng, STACKS),
				       .time_ns = 1 + rng_below(&w->rng, range_ns) };
		if (piece.state == LANE_ON) {
			piece.value_ns = PERIOD_NS * (1 + rng_below(&w->rng, 3));
		} else {
			piece.length_ns = 1 + rng_below(&w->rng, range_ns / 4);
			piece.value_ns = piece.length_ns / (1 + rng_below(&w->rng, 2));
		}
		put(w, piece);
	}
}

/* The part up to x of `value`, which is spread over [start, end). */
static inline int64_t worth(int64_t value, int64_t start, int64_t end, int64_t x)
{
	x = x < start ? start : x > end ? end : x;
	return (int64_t)((__int128)value * (x - start) / (end - start));
}

/* The part of a piece in [from, to), within the query's range. */
static inline int64_t part_of(const struct piece *p, const struct query *q, int64_t from,
			      int64_t to)
{
	int64_t start = p->time_ns, end = p->time_ns + p->length_ns, value = p->value_ns;
	if (p->state == LANE_ON) {
		if (p->time_ns < q->from_ns || p->time_ns >= q->to_ns)
			return 0;
		start = p->time_ns - value / 2;
		end = start + value;
		start = start > q->from_ns ? start : q->from_ns;
		end = end < q->to_ns ? end : q->to_ns;
	} else {
		/* The source cuts a wait to the range first. */
		int64_t a = start > q->from_ns ? start : q->from_ns;
		int64_t b = end < q->to_ns ? end : q->to_ns;
		if (b <= a)
			return 0;
		value = worth(p->value_ns, start, end, b) - worth(p->value_ns, start, end, a);
		start = a;
		end = b;
	}
	return worth(value, start, end, to) - worth(value, start, end, from);
}

static inline struct query_lanes ask(const struct query *q, uint32_t px, uint32_t lanes)
{
	struct query_lanes out;
	struct err err = { 0 };
	int rc = query_lanes(q, &(struct lanes_opts){ px, lanes }, &out, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	return out;
}

static inline uint32_t thread_of(const struct query_lanes *l, const struct lane *lane)
{
	for (uint32_t i = 0; i < l->n_by; i++)
		if (strcmp(l->by[i], "tid") == 0)
			return atoi(lane->names[i]) - 10;
	ck_abort_msg("there is no tid");
}

static inline void assert_lane(const struct world *w, const struct query *q,
			       const struct query_lanes *l, const struct lane *lane)
{
	uint32_t thread = thread_of(l, lane);
	for (size_t cell = 0; cell < LANE_STATES * l->buckets; cell++) {
		uint32_t state = cell / l->buckets;
		int64_t from = l->from_ns + cell % l->buckets * l->bucket_ns, want = 0;
		for (size_t i = 0; i < w->pieces.n; i++)
			if (w->pieces.v[i].thread == thread && w->pieces.v[i].state == state)
				want += part_of(&w->pieces.v[i], q, from, from + l->bucket_ns);
		ck_assert_int_eq(lane->times_ns[cell], want);
	}
}

/* Queried again with the moments of an answer, the times are the same to the nanosecond. */
static inline void assert_moments(struct source *s, const struct query_lanes *l)
{
	struct time_words words = { 0 };
	struct err err = { 0 };
	int64_t from_ns, to_ns;

	s->ops->range(s, &words.start_ns, &words.end_ns);
	ck_assert_int_eq(time_parse(l->from, &words, "from", &from_ns, &err), 0);
	ck_assert_int_eq(time_parse(l->to, &words, "to", &to_ns, &err), 0);
	ck_assert_int_eq(from_ns, l->from_ns > words.start_ns || !s->since_start ? l->from_ns
										 : words.start_ns);
	ck_assert_int_eq(to_ns,
			 l->to_ns > words.start_ns || !s->since_start ? l->to_ns : words.start_ns);
}

#endif
