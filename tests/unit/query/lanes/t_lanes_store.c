// tier: test
/* Lanes of a store: of days in blocks, and of the last hours. */
#include "lanes_world.h"
#include "store_world.h"
#include "unit.h"

#include "base/buf.h"
#include "base/err.h"
#include "query/lanes/lanes.h"

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

/* If there is no room for all sums, lanes are first chosen by their totals: the answer is the same. */
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
	/* Stacks filter what counts: "main;x" only. */
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

/* In wall, a value of one second for one of these stacks in each window of three hours. */
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

/* For a thread with one activity or several, with states from stacks or from a filter. */
START_TEST(windows_distinguish_states)
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

/* The last minutes of a store have samples with exact times, and threads. */
START_TEST(new_data_in_a_store_is_exact)
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
START_TEST(a_span_continues_over_midnight)
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

UNIT_MAIN("lanes_store", a_day_of_many_series_stays_small, lanes_are_the_same_with_little_memory,
	  windows_distinguish_states, new_data_in_a_store_is_exact, a_span_continues_over_midnight)
