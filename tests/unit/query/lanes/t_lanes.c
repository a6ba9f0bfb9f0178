// tier: test
/* Lanes compared with independent sums: each sample is computed for each bucket. */
#include "lanes_world.h"
#include "unit.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "query/lanes/lanes.h"
#include "query/plan.h"

#include <errno.h>

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

/* Together they equal the trees of each type, for any labels and any number of lanes. */
START_TEST(totals_equal_those_of_trees)
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
		if (seed % 2) /* too many for single samples */
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

/* Samples of one stack less than one and a half periods apart are one span; otherwise there is a gap. */
START_TEST(spans_end_at_unobserved_time)
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
	/* A bucket is wider than all of them: nothing is lost, but nothing is drawn separately. */
	l = ask(&q, 2, 1);
	ck_assert_uint_eq(l.lanes[0].n_spans, 0);
	ck_assert_int_eq(l.lanes[0].total_ns[LANE_ON], 5 * PERIOD_NS);
	query_lanes_done(&l);
	source_close(s);
	world_done(&w);
}
END_TEST

/* --- GPUs --- */

/* Of one type, pid 7 and tid 8. */
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

/* In wall the stack shows that it waits for a GPU, spinning on the CPU or asleep; all of gpu-wait does; and beside cpu nothing is counted twice. */
START_TEST(waiting_for_a_gpu_is_a_separate_state)
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

/* Two adjacent launches of the same stack are two boxes; a wait for the GPU runs nothing. */
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
	/* Too narrow to be separate: in the buckets. */
	l = ask_streams(s, 4);
	ck_assert_uint_eq(l.lanes[0].n_spans, 0);
	ck_assert_int_eq(l.lanes[0].total_ns[LANE_ON], 50000);
	query_lanes_done(&l);
	source_close(s);
	profile_free(p);
}
END_TEST

START_TEST(values_without_time_have_no_lanes)
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
	ck_assert_str_eq(err.text, "lanes show time, but the values of alloc are not times");
	ck_assert_int_eq(query_lanes(&q, &(struct lanes_opts){ 0, 10 }, &l, &err), -EINVAL);
	ck_assert_int_eq(query_lanes(&q, &(struct lanes_opts){ 10, LANES_MAX + 1 }, &l, &err),
			 -EINVAL);
	source_close(source);
	world_done(&w);
}
END_TEST

UNIT_MAIN("lanes", buckets_are_what_the_samples_have, totals_equal_those_of_trees,
	  known_threads_have_known_shares, spans_end_at_unobserved_time,
	  waiting_for_a_gpu_is_a_separate_state, streams_have_a_span_for_each_thing_that_ran,
	  values_without_time_have_no_lanes)
