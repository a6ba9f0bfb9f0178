/* Lanes against sums made another way: each sample is looked at for each bucket, by hand. */
#include "rand.h"
#include "store_world.h"
#include "unit.h"
#include "waits_profile.h"

#include "query/lanes.h"
#include "query/lanes_json.h"
#include "query/time.h"

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

static uint32_t add_type(struct profile *p, const char *name, bool counts)
{
	struct sink *s = profile_sink(p);
	struct type t = { .name = sink_string(s, name),
			  .sample_type = sink_string(s, counts ? "samples" : name),
			  .unit = sink_string(s, counts ? "count" : "nanoseconds"),
			  .period_type = counts ? sink_string(s, "cpu") : 0,
			  .period_unit = counts ? sink_string(s, "nanoseconds") : 0 };
	return s->ops->type(s, &t);
}

static void world_init(struct world *w, uint64_t seed)
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

static void world_done(struct world *w)
{
	profile_free(w->p);
	vec_done(&w->pieces);
}

static void put(struct world *w, struct piece piece)
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

static void put_random(struct world *w, int64_t range_ns, uint32_t n)
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

/* What is worth `value` over all of [start, end) is worth up to x. */
static int64_t worth(int64_t value, int64_t start, int64_t end, int64_t x)
{
	x = x < start ? start : x > end ? end : x;
	return (int64_t)((__int128)value * (x - start) / (end - start));
}

/* What a piece has in [from, to), of a range. */
static int64_t part_of(const struct piece *p, const struct query *q, int64_t from, int64_t to)
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

static struct query_lanes ask(const struct query *q, uint32_t px, uint32_t lanes)
{
	struct query_lanes out;
	struct err err = { 0 };
	int rc = query_lanes(q, &(struct lanes_opts){ px, lanes }, &out, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	return out;
}

static uint32_t thread_of(const struct query_lanes *l, const struct lane *lane)
{
	for (uint32_t i = 0; i < l->n_by; i++)
		if (strcmp(l->by[i], "tid") == 0)
			return atoi(lane->names[i]) - 10;
	ck_abort_msg("there is no tid");
}

static void assert_lane(const struct world *w, const struct query *q, const struct query_lanes *l,
			const struct lane *lane)
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

/* Asked again with the moments that an answer tells, the times are the same to the nanosecond. */
static void assert_moments(struct source *s, const struct query_lanes *l)
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

START_TEST(buckets_are_what_the_samples_have)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct world w;
		world_init(&w, seed);
		int64_t range_ns = 2000 + rng_below(&w.rng, 100000);
		put_random(&w, range_ns, 1 + rng_below(&w.rng, 200));
		struct source *s = source_of_profile(w.p);
		struct query q = { .source = s, .type = w.types[LANE_ON] };
		q.from_ns = rng_below(&w.rng, range_ns / 2);
		q.to_ns = q.from_ns + 1 + rng_below(&w.rng, range_ns);
		uint32_t px = 1 + rng_below(&w.rng, 100);
		struct query_lanes l = ask(&q, px, LANES_MAX);
		ck_assert(l.is_exact);
		ck_assert_uint_le(l.buckets, px);
		ck_assert_uint_eq(l.rest.n, 0);
		ck_assert_uint_le(l.n_lanes, THREADS);
		assert_moments(s, &l);
		for (uint32_t i = 0; i < l.n_lanes; i++) {
			assert_lane(&w, &q, &l, &l.lanes[i]);
			ck_assert_uint_le(l.lanes[i].n_spans, px);
			ck_assert(!i ||
				  l.lanes[i].total_ns[LANE_ON] <= l.lanes[i - 1].total_ns[LANE_ON]);
		}
		query_lanes_done(&l);
		source_close(s);
		world_done(&w);
	}
}
END_TEST

/* Together with the trees of each type, whatever labels they are told apart by, and however many have a lane of their own. */
START_TEST(totals_are_those_of_trees)
{
	static const char *const labels[] = { "comm", "tid", "nothing", "cpu" };
	uint32_t coarse = 0;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct world w;
		world_init(&w, seed);
		put_random(&w, 50000, 400);
		struct source *s = source_of_profile(w.p);
		struct query q = { .source = s,
				   .type = w.types[LANE_ON],
				   .from_ns = 1000 + rng_below(&w.rng, 20000),
				   .to_ns = 30000 + rng_below(&w.rng, 20000),
				   .by = { labels[seed % 4] },
				   .n_by = 1,
				   .tree.focus = seed % 3 == 0 ? "work" : NULL,
				   .tree.ignore = seed % 5 == 0 ? "start" : NULL };
		if (seed % 2) /* too many to look at one by one */
			q.limits.memory_bytes = 1 << 14;
		struct query_lanes l;
		struct err err = { 0 };
		struct lanes_opts opts = { 1 + rng_below(&w.rng, 10), 1 + rng_below(&w.rng, 3) };
		ck_assert_msg(query_lanes(&q, &opts, &l, &err) == 0, "%s", err.text);
		ck_assert(l.is_exact || seed % 2);
		coarse += !l.is_exact;
		for (int state = 0; state < TYPES; state++) {
			struct query type = q;
			struct query_tree t;
			int64_t sum = l.rest.total_ns[state];
			type.type = w.types[state];
			type.n_by = 0;
			type.limits = (struct guard_limits){ 0 };
			ck_assert_int_eq(query_tree(&type, &t, &err), 0);
			for (uint32_t i = 0; i < l.n_lanes; i++)
				sum += l.lanes[i].total_ns[state];
			ck_assert_int_eq(sum, t.tree->nodes.v[0].total *
						      (state == LANE_ON ? PERIOD_NS : 1));
			tree_free(t.tree);
		}
		query_lanes_done(&l);
		source_close(s);
		world_done(&w);
	}
	ck_assert_uint_ge(coarse, 10);
}
END_TEST

START_TEST(known_threads_have_known_shares)
{
	struct profile *p = waits_profile(WAITS_CPU | WAITS_OFF_CPU | WAITS_SCHED_WAIT);
	struct source *s = source_of_profile(p);
	struct query q = { .source = s, .type = profile_pick_type(p, "cpu") };
	static const struct {
		const char *tid;
		int64_t on_ms, off_ms, wait_ms;
	} want[] = { { "101", 6000, 2500, 1000 }, { "100", 1000, 8800, 100 } };
	s->ops->range(s, &q.from_ns, &q.to_ns);
	struct query_lanes l = ask(&q, 500, 50);
	ck_assert_uint_eq(l.n_types, 3);
	for (int i = 0; i < 2; i++) {
		ck_assert_str_eq(l.lanes[i].names[4], want[i].tid);
		ck_assert_int_eq(l.lanes[i].total_ns[LANE_ON], want[i].on_ms * WAITS_MS);
		ck_assert_int_eq(l.lanes[i].total_ns[LANE_OFF], want[i].off_ms * WAITS_MS);
		ck_assert_int_eq(l.lanes[i].total_ns[LANE_WAIT], want[i].wait_ms * WAITS_MS);
	}
	query_lanes_done(&l);
	source_close(s);
	profile_free(p);
}
END_TEST

/* Moments of one stack less than one and a half periods apart are one span; further apart there is a gap. */
START_TEST(spans_end_where_nobody_looked)
{
	struct world w;
	world_init(&w, 1);
	const int64_t at[] = { 10000, 11000, 12000, 13600, 14600 };
	for (size_t i = 0; i < sizeof at / sizeof *at; i++)
		put(&w, (struct piece){ .time_ns = at[i], .value_ns = PERIOD_NS, .stack = 1 });
	put(&w, (struct piece){ .time_ns = 15000,
				.length_ns = 2000,
				.value_ns = 2000,
				.state = LANE_OFF,
				.stack = 4 });
	struct source *s = source_of_profile(w.p);
	struct query q = { .source = s, .from_ns = 9000, .to_ns = 18000 };
	struct query_lanes l = ask(&q, 90, 1);
	static const struct lane_span want[] = { { 9500, 12500, LANE_ON, 0 },
						 { 13100, 15000, LANE_ON, 0 },
						 { 15000, 17000, LANE_OFF, 1 } };
	ck_assert_uint_eq(l.n_lanes, 1);
	ck_assert_uint_eq(l.lanes[0].n_spans, 3);
	for (int i = 0; i < 3; i++) {
		const struct lane_span *got = &l.lanes[0].spans[i];
		ck_assert_int_eq(got->from_ns, want[i].from_ns);
		ck_assert_int_eq(got->to_ns, want[i].to_ns);
		ck_assert_uint_eq(got->state, want[i].state);
		ck_assert_uint_eq(got->stack, want[i].stack);
	}
	ck_assert_str_eq(l.stacks[0].leaf, "work");
	ck_assert_str_eq(l.stacks[1].leaf, "start");
	query_lanes_done(&l);
	/* A bucket is wider than all of them: nothing is lost, but nothing is drawn by itself. */
	l = ask(&q, 2, 1);
	ck_assert_uint_eq(l.lanes[0].n_spans, 0);
	ck_assert_int_eq(l.lanes[0].total_ns[LANE_ON], 5 * PERIOD_NS);
	query_lanes_done(&l);
	source_close(s);
	world_done(&w);
}
END_TEST

/* --- GPUs --- */

/* Of one type, pid 7 and tid 8: from moment to moment. */
static void put_state(struct profile *p, uint32_t type, const char *stack, int64_t time_ns,
		      int64_t length_ns)
{
	struct sink *s = profile_sink(p);
	struct series series = { .type = type, .labels = s->ops->labels(s, NULL, 0) };
	struct sample sample = { .time_ns = time_ns,
				 .length_ns = length_ns,
				 .value = length_ns,
				 .series = s->ops->series(s, &series),
				 .stack = waits_stack(p, stack),
				 .pid = 7,
				 .tid = 8,
				 .cpu = SAMPLE_NO_ID };
	s->ops->sample(s, &sample);
}

/* In wall a stack says that it waits for a GPU, whether it spun on the CPU or slept; all of gpu-wait does; and beside cpu nothing is counted twice. */
START_TEST(waiting_for_a_gpu_is_a_state_of_its_own)
{
	struct profile *p = profile_new();
	uint32_t wall = add_type(p, "wall", false), waits = add_type(p, "gpu-wait", false);
	uint32_t cpu = add_type(p, "cpu", false);
	put_state(p, wall, "main;work", 1000, 2000);
	put_state(p, wall, "main;sync;[waiting for GPU]", 3000, 4000);
	put_state(p, wall, "main;read;[blocked: disk I/O]", 7000, 500);
	put_state(p, wall, "main;work;[sched-wait]", 7500, 300);
	put_state(p, waits, "main;sync", 3000, 4000);
	put_state(p, cpu, "main;work", 1000, 2000);
	struct source *s = source_of_profile(p);
	const struct {
		uint32_t type;
		int64_t ns[LANE_STATES];
	} want[] = { { wall, { 2000, 500, 300, 4000 } },
		     { waits, { 0, 0, 0, 4000 } },
		     { cpu, { 2000, 0, 0, 0 } } };
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct query q = { .source = s, .type = want[i].type, .to_ns = 10000 };
		struct query_lanes l = ask(&q, 100, 1);
		ck_assert_uint_eq(l.n_lanes, 1);
		for (int state = 0; state < LANE_STATES; state++)
			ck_assert_int_eq(l.lanes[0].total_ns[state], want[i].ns[state]);
		query_lanes_done(&l);
	}
	struct query q = { .source = s, .type = wall, .to_ns = 10000 };
	struct query_lanes l = ask(&q, 100, 1);
	ck_assert_uint_eq(l.lanes[0].n_spans, 4);
	ck_assert_uint_eq(l.lanes[0].spans[1].state, LANE_GPU_WAIT);
	ck_assert_str_eq(l.stacks[l.lanes[0].spans[1].stack].leaf, "[waiting for GPU]");
	struct buf b = { 0 };
	lanes_json(&l, &b);
	ck_assert_ptr_nonnull(
		strstr(buf_cstr(&b), "\"states\":[\"on\",\"off\",\"wait\",\"gpu_wait\"]"));
	ck_assert_ptr_nonnull(strstr(buf_cstr(&b), "\"gpu_wait_ns\":4000"));
	buf_done(&b);
	query_lanes_done(&l);
	source_close(s);
	profile_free(p);
}
END_TEST

static void put_work(struct profile *p, const char *stream, const char *stack, int64_t time_ns,
		     int64_t length_ns)
{
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "gpu-time"),
			     .sample_type = sink_string(s, "gpu-time"),
			     .unit = sink_string(s, "nanoseconds") };
	struct label labels[] = {
		{ .key = sink_string(s, "gpu"), .str = sink_string(s, "0") },
		{ .key = sink_string(s, "stream"), .str = sink_string(s, stream) },
	};
	struct series series = { .type = s->ops->type(s, &type),
				 .labels = s->ops->labels(s, labels, 2) };
	uint32_t frames[8], n = 0;
	char *text = xstrdup(stack), *rest = text, *word;
	while ((word = strsep(&rest, ";"))) {
		bool is_marker = *word == '[' || strcmp(word, "-") == 0;
		struct frame frame = { .kind = is_marker ? FRAME_MARKER : FRAME_NATIVE,
				       .mapping = MAPPING_NONE,
				       .function = sink_string(s, word) };
		frames[n++] = s->ops->frame(s, &frame);
	}
	free(text);
	struct sample sample = { .time_ns = time_ns,
				 .length_ns = length_ns,
				 .value = length_ns,
				 .series = s->ops->series(s, &series),
				 .stack = s->ops->stack(s, frames, n),
				 .pid = 7,
				 .tid = SAMPLE_NO_ID,
				 .cpu = SAMPLE_NO_ID };
	s->ops->sample(s, &sample);
}

static struct query_lanes ask_streams(struct source *s, uint32_t px)
{
	struct query q = {
		.source = s, .from_ns = 0, .to_ns = 100000, .by = { "gpu", "stream" }, .n_by = 2
	};
	return ask(&q, px, 50);
}

/* Two launches of the same stack that touch are two boxes; what waits for the GPU runs nothing. */
START_TEST(streams_have_a_span_for_each_thing_that_ran)
{
	struct profile *p = profile_new();
	put_work(p, "7", "main;launch;-;gemm", 10000, 20000);
	put_work(p, "7", "main;launch;-;gemm", 30000, 20000);
	put_work(p, "7", "main;copy;-;[copy host to device]", 60000, 10000);
	put_work(p, "7", "main;-;[sync]", 70000, 30000);
	put_work(p, "9", "[no stack];-;a-b;-", 0, 5000);
	put_work(p, "9", "main;work", 50000, 5000);
	struct source *s = source_of_profile(p);
	struct query_lanes l = ask_streams(s, 100);
	static const struct {
		int64_t from_ns, to_ns;
		uint32_t state;
		const char *leaf, *askers[LANES_ASKERS + 1];
	} want[] = { { 10000, 30000, LANE_ON, "gemm", { "main", "launch" } },
		     { 30000, 50000, LANE_ON, "gemm", { "main", "launch" } },
		     { 60000, 70000, LANE_ON, "[copy host to device]", { "main", "copy" } },
		     { 70000, 100000, LANE_WAIT, "[sync]", { "main" } },
		     { 0, 5000, LANE_ON, "-", { "[no stack]", "-", "a-b" } },
		     { 50000, 55000, LANE_ON, "work", { NULL } } };
	ck_assert_uint_eq(l.n_lanes, 2);
	ck_assert_int_eq(l.lanes[0].total_ns[LANE_ON], 50000);
	ck_assert_int_eq(l.lanes[0].total_ns[LANE_WAIT], 30000);
	ck_assert_uint_eq(l.lanes[0].n_spans, 4);
	ck_assert_uint_eq(l.lanes[1].n_spans, 2);
	for (int i = 0; i < 6; i++) {
		const struct lane_span *got = &l.lanes[i / 4].spans[i % 4];
		const struct lane_stack *stack = &l.stacks[got->stack];
		ck_assert_int_eq(got->from_ns, want[i].from_ns);
		ck_assert_int_eq(got->to_ns, want[i].to_ns);
		ck_assert_uint_eq(got->state, want[i].state);
		ck_assert_str_eq(stack->leaf, want[i].leaf);
		for (uint32_t k = 0; k < stack->n_askers; k++)
			ck_assert_pstr_eq(stack->askers[k], want[i].askers[k]);
		ck_assert_ptr_null(want[i].askers[stack->n_askers]);
	}
	query_lanes_done(&l);
	/* Too narrow to be told apart: in the buckets. */
	l = ask_streams(s, 4);
	ck_assert_uint_eq(l.lanes[0].n_spans, 0);
	ck_assert_int_eq(l.lanes[0].total_ns[LANE_ON], 50000);
	query_lanes_done(&l);
	source_close(s);
	profile_free(p);
}
END_TEST

START_TEST(what_is_no_time_has_no_lanes)
{
	struct world w;
	world_init(&w, 1);
	struct sink *s = profile_sink(w.p);
	struct type bytes = { .name = sink_string(s, "alloc"), .unit = sink_string(s, "bytes") };
	struct series series = { .type = s->ops->type(s, &bytes) };
	struct sample sample = { .time_ns = 5, .value = 1, .series = s->ops->series(s, &series) };
	sample.stack = w.stacks[0];
	s->ops->sample(s, &sample);
	struct source *source = source_of_profile(w.p);
	struct query q = { .source = source, .type = series.type, .to_ns = 10 };
	struct query_lanes l;
	struct err err = { 0 };
	ck_assert_int_eq(query_lanes(&q, &(struct lanes_opts){ 10, 10 }, &l, &err), -EINVAL);
	ck_assert_str_eq(err.text, "lanes show time, and values of alloc are none");
	ck_assert_int_eq(query_lanes(&q, &(struct lanes_opts){ 0, 10 }, &l, &err), -EINVAL);
	ck_assert_int_eq(query_lanes(&q, &(struct lanes_opts){ 10, LANES_MAX + 1 }, &l, &err),
			 -EINVAL);
	source_close(source);
	world_done(&w);
}
END_TEST

/* --- a day in a store ------------------------------------------------------------------------- */

/* Everything of the profile, in the store. */
static void store_all(struct store_world *sw, struct profile *p)
{
	struct store_batch batch = { .p = p };
	struct err err = { 0 };
	bool duplicate;
	ck_assert_msg(store_ingest(sw->s, &batch, 1, &duplicate, &err) == 0, "%s", err.text);
}

static struct source *source_of(struct store_world *sw)
{
	struct source *s;
	struct err err = { 0 };
	ck_assert_int_eq(source_of_store(sw->s, &s, &err), 0);
	return s;
}

enum { DAY_SERIES = 800, DAY_STEP_S = 600 };

/* 800 threads' names; number i runs i samples in each of the day's ten minutes. */
static void fill_day(struct store_world *sw, int64_t from_ns)
{
	for (int64_t at = 0; at < 86400; at += DAY_STEP_S) {
		struct world w;
		world_init(&w, 1);
		for (uint32_t i = 1; i <= DAY_SERIES; i++)
			put(&w,
			    (struct piece){ .thread = i,
					    .time_ns = from_ns + (at + i % DAY_STEP_S) * SECOND_NS,
					    .value_ns = i * (int64_t)PERIOD_NS });
		sw->now_ns = from_ns + (at + DAY_STEP_S) * SECOND_NS;
		store_all(sw, w.p);
		store_world_maintain(sw);
		world_done(&w);
	}
}

START_TEST(a_day_of_many_series_stays_small)
{
	struct store_world sw;
	store_world_init(&sw, (struct store_opts){ 0 });
	int64_t from_ns = START_NS / DAY_NS * DAY_NS;
	fill_day(&sw, from_ns);
	struct source *s = source_of(&sw);
	struct query q = { .source = s, .from_ns = from_ns, .to_ns = from_ns + DAY_NS };
	struct query_lanes l = ask(&q, 1600, 50);
	ck_assert(!l.is_exact);
	ck_assert(l.ids_missing);
	ck_assert_int_eq(l.resolution_ns, 10 * SECOND_NS);
	ck_assert_uint_le(l.buckets, 1600);
	ck_assert_uint_eq(l.n_lanes, 50);
	ck_assert_uint_eq(l.rest.n, DAY_SERIES - 50);
	int64_t all_ns = l.rest.total_ns[LANE_ON];
	for (uint32_t i = 0; i < 50; i++) {
		int64_t n = DAY_SERIES - i;
		ck_assert_int_eq(l.lanes[i].total_ns[LANE_ON],
				 n * PERIOD_NS * (86400 / DAY_STEP_S));
		all_ns += l.lanes[i].total_ns[LANE_ON];
	}
	ck_assert_int_eq(all_ns, (int64_t)DAY_SERIES * (DAY_SERIES + 1) / 2 * PERIOD_NS *
					 (86400 / DAY_STEP_S));
	struct buf b = { 0 };
	lanes_json(&l, &b);
	ck_assert_uint_lt(b.len, 1 << 20);
	buf_done(&b);
	query_lanes_done(&l);
	source_close(s);
	store_world_done(&sw);
}
END_TEST

static int64_t sum_of(const struct world *w, uint32_t stack)
{
	int64_t sum = 0;
	for (size_t i = 0; i < w->pieces.n; i++)
		sum += w->pieces.v[i].stack == stack ? w->pieces.v[i].value_ns : 0;
	return sum;
}

/* Where all sums have no room, lanes are chosen by their totals first: the answer is the same. */
START_TEST(lanes_are_the_same_with_little_memory)
{
	enum { PX = 500, LANES = 2 };
	struct store_world sw;
	struct world w;
	store_world_init(&sw, (struct store_opts){ 0 });
	world_init(&w, 3);
	for (uint32_t i = 0; i < 3000; i++)
		put(&w,
		    (struct piece){ .thread = rng_below(&w.rng, THREADS),
				    .stack = rng_below(&w.rng, STACKS),
				    .time_ns = START_NS - 1 - rng_below(&w.rng, 20000) * SECOND_NS,
				    .value_ns = PERIOD_NS });
	store_all(&sw, w.p);
	sw.now_ns = START_NS + DAY_NS; /* all are blocks */
	store_world_maintain(&sw);
	struct source *s = source_of(&sw);
	/* Stacks decide what counts: "main;x" only. */
	struct query q = { .source = s,
			   .from_ns = START_NS - 20000 * SECOND_NS,
			   .to_ns = START_NS,
			   .tree.focus = "^x$" };
	struct query_lanes all = ask(&q, PX, LANES);
	q.limits.memory_bytes = 400 * PX;
	struct query_lanes little = ask(&q, PX, LANES);
	struct buf a = { 0 }, b = { 0 };
	lanes_json(&all, &a);
	lanes_json(&little, &b);
	ck_assert_str_eq(buf_cstr(&a), buf_cstr(&b));
	ck_assert(!all.is_exact);
	ck_assert_uint_eq(all.n_lanes, LANES);
	ck_assert_uint_eq(all.rest.n, THREADS - LANES);
	int64_t sum = all.rest.total_ns[LANE_ON];
	for (uint32_t i = 0; i < all.n_lanes; i++)
		sum += all.lanes[i].total_ns[LANE_ON];
	ck_assert_int_eq(sum, sum_of(&w, 3));
	buf_done(&a);
	buf_done(&b);
	query_lanes_done(&all);
	query_lanes_done(&little);
	source_close(s);
	world_done(&w);
	store_world_done(&sw);
}
END_TEST

/* Of wall, a value of a second for one of these stacks in each window of three hours. */
static void put_thread(struct profile *p, const char *comm, const char *const stacks[2],
		       int64_t from_ns)
{
	struct sink *s = profile_sink(p);
	struct label label = { .key = sink_string(s, "comm"), .str = sink_string(s, comm) };
	struct series series = { .type = add_type(p, "wall", false),
				 .labels = s->ops->labels(s, &label, 1) };
	for (int64_t i = 0; i < 3 * 360; i++) {
		struct sample sample = { .time_ns = from_ns + i * 10 * SECOND_NS,
					 .value = SECOND_NS,
					 .series = s->ops->series(s, &series),
					 .stack = waits_stack(p, stacks[i % 2]),
					 .pid = SAMPLE_NO_ID,
					 .tid = SAMPLE_NO_ID,
					 .cpu = SAMPLE_NO_ID };
		s->ops->sample(s, &sample);
	}
}

static void assert_states(const struct query_lanes *l, const char *comm,
			  const int64_t seconds[LANE_STATES])
{
	for (uint32_t i = 0; i < l->n_lanes; i++)
		for (int st = 0; strcmp(l->lanes[i].names[0], comm) == 0 && st < LANE_STATES; st++)
			ck_assert_int_eq(l->lanes[i].total_ns[st], SECOND_NS * seconds[st]);
}

/* Whether a thread did one thing all the time or several, and whether stacks say so or a filter asks. */
START_TEST(windows_tell_states_apart)
{
	static const struct {
		const char *comm, *stacks[2];
		int64_t seconds[LANE_STATES], focused[LANE_STATES];
	} threads[] = {
		{ "runs", { "main;work", "main;x" }, { 1080 }, { 540 } },
		{ "waits",
		  { "main;a;[blocked: disk I/O]", "main;b;[blocked: disk I/O]" },
		  { 0, 1080 },
		  { 0 } },
		{ "both",
		  { "main;work", "main;work;[blocked: disk I/O]" },
		  { 540, 540 },
		  { 540, 540 } },
		{ "queues",
		  { "work;[sched-wait]", "work;[sched-wait]" },
		  { 0, 0, 1080 },
		  { 0, 0, 1080 } },
	};
	struct store_world sw;
	struct profile *p = profile_new();
	int64_t from_ns = START_NS - 5 * 3600 * SECOND_NS;
	store_world_init(&sw, (struct store_opts){ 0 });
	for (size_t i = 0; i < 4; i++)
		put_thread(p, threads[i].comm, threads[i].stacks, from_ns);
	store_all(&sw, p);
	sw.now_ns = START_NS + DAY_NS; /* all are blocks */
	store_world_maintain(&sw);
	struct source *s = source_of(&sw);
	for (int focused = 0; focused < 2; focused++) {
		struct query q = { .source = s,
				   .from_ns = from_ns,
				   .to_ns = START_NS,
				   .by = { "comm" },
				   .n_by = 1,
				   .tree.focus = focused ? "^work$" : NULL };
		struct query_lanes l = ask(&q, 100, 10);
		ck_assert(!l.is_exact);
		ck_assert_uint_eq(l.n_lanes, focused ? 3 : 4);
		for (size_t i = 0; i < 4; i++)
			assert_states(&l, threads[i].comm,
				      focused ? threads[i].focused : threads[i].seconds);
		query_lanes_done(&l);
	}
	source_close(s);
	profile_free(p);
	store_world_done(&sw);
}
END_TEST

/* The last minutes of a store have samples with their own times, and threads. */
START_TEST(what_is_new_in_a_store_is_exact)
{
	struct store_world sw;
	struct world w;
	store_world_init(&sw, (struct store_opts){ 0 });
	world_init(&w, 1);
	for (int i = 0; i < 100; i++)
		put(&w, (struct piece){ .thread = i % 2,
					.time_ns = START_NS - 10 * SECOND_NS + i * (SECOND_NS / 10),
					.value_ns = PERIOD_NS });
	store_all(&sw, w.p);
	struct source *s = source_of(&sw);
	struct query q = { .source = s, .from_ns = START_NS - 10 * SECOND_NS, .to_ns = START_NS };
	struct query_lanes l = ask(&q, 100, 50);
	ck_assert(l.is_exact);
	ck_assert(!l.ids_missing);
	ck_assert_uint_eq(l.n_lanes, 2);
	assert_moments(s, &l);
	for (uint32_t i = 0; i < l.n_lanes; i++)
		assert_lane(&w, &q, &l, &l.lanes[i]);
	query_lanes_done(&l);
	source_close(s);
	world_done(&w);
	store_world_done(&sw);
}
END_TEST

/* Each day has stacks of its own. */
START_TEST(a_span_goes_on_over_midnight)
{
	const int64_t midnight_ns = 20001 * DAY_NS, tick_ns = SECOND_NS / 10;
	struct store_world sw;
	struct world w;
	store_world_init(&sw, (struct store_opts){ 0 });
	sw.now_ns = midnight_ns + 10 * SECOND_NS;
	world_init(&w, 1);
	for (int i = -50; i < 50; i++)
		put(&w, (struct piece){ .time_ns = midnight_ns + i * tick_ns,
					.value_ns = tick_ns,
					.stack = i >= 20 });
	store_all(&sw, w.p);
	struct source *s = source_of(&sw);
	struct query q = { .source = s,
			   .from_ns = midnight_ns - 5 * SECOND_NS,
			   .to_ns = midnight_ns + 5 * SECOND_NS };
	struct query_lanes l = ask(&q, 100, 50);
	ck_assert_uint_eq(l.n_lanes, 1);
	ck_assert_uint_eq(l.n_stacks, 2);
	ck_assert_uint_eq(l.lanes[0].n_spans, 2);
	ck_assert_int_eq(l.lanes[0].spans[0].from_ns, q.from_ns);
	ck_assert_int_eq(l.lanes[0].spans[0].to_ns, l.lanes[0].spans[1].from_ns);
	ck_assert_int_gt(l.lanes[0].spans[1].from_ns, midnight_ns + SECOND_NS);
	query_lanes_done(&l);
	source_close(s);
	world_done(&w);
	store_world_done(&sw);
}
END_TEST

UNIT_MAIN("lanes", buckets_are_what_the_samples_have, totals_are_those_of_trees,
	  known_threads_have_known_shares, spans_end_where_nobody_looked,
	  waiting_for_a_gpu_is_a_state_of_its_own, streams_have_a_span_for_each_thing_that_ran,
	  what_is_no_time_has_no_lanes, a_day_of_many_series_stays_small,
	  lanes_are_the_same_with_little_memory, windows_tell_states_apart,
	  what_is_new_in_a_store_is_exact, a_span_goes_on_over_midnight)
