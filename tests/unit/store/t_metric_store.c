// tier: test
/* Points of metrics in a store: each once, with the last value of each moment, whatever happens to heads, blocks and processes. The witness is a list
 * of all points that were ever given. */
#include "metric_store_world.h"
#include "rand.h"
#include "unit.h"

#include "base/buf.h"
#include "base/err.h"
#include "profile/readings.h"
#include "profile/relabel.h"
#include "profile/sink.h"
#include "store/codec/metric_steps.h"

#include <errno.h>

/* Around now, some hours or a day late, some moments twice. */
static struct batch random_batch(struct world *w, struct rng *r)
{
	struct batch b = batch_new();

	for (int i = 0, n = 1 + rng_below(r, 200); i < n; i++) {
		int series = rng_below(r, SERIES);
		int64_t late = rng_below(r, 40) ? 0 : rng_below(r, 30) * HOUR_NS;
		int64_t t = w->now_ns - late - rng_below(r, 600) * SECOND_NS;
		batch_add(&b, series, t, rng_below(r, 100000) / 8.0);
	}
	return b;
}

/* The last value given for a moment; found by looking at all of them. */
static double last_given(const struct metric_points *all, size_t n, int64_t time_ns)
{
	while (n--)
		if (all->v[n].time_ns == time_ns)
			return all->v[n].value;
	ck_abort_msg("a point at %lld that nobody gave", (long long)time_ns);
	return 0;
}

static size_t count_moments(const struct metric_points *all, size_t n, int64_t from_ns,
			    int64_t to_ns)
{
	struct map seen = { 0 };

	for (size_t i = 0; i < n; i++)
		if (all->v[i].time_ns >= from_ns && all->v[i].time_ns < to_ns)
			map_put(&seen, (uint64_t)all->v[i].time_ns, 1);
	size_t moments = seen.n;
	map_done(&seen);
	return moments;
}

static void check_series(struct store_view *v, const struct world *w, const size_t *n, int i,
			 int64_t from_ns, int64_t to_ns)
{
	struct metric_points have = read_series(v, i, from_ns, to_ns);

	ck_assert_uint_eq(have.n, count_moments(&w->want[i], n[i], from_ns, to_ns));
	for (size_t k = 0; k < have.n; k++) {
		ck_assert(k == 0 || have.v[k - 1].time_ns < have.v[k].time_ns);
		ck_assert(have.v[k].value == last_given(&w->want[i], n[i], have.v[k].time_ns));
	}
	vec_done(&have);
}

static void check_view(struct store_view *v, const struct world *w, const size_t *n)
{
	for (int i = 0; i < SERIES; i++) {
		check_series(v, w, n, i, INT64_MIN, INT64_MAX);
		check_series(v, w, n, i, w->now_ns - 2 * HOUR_NS, w->now_ns - 300 * SECOND_NS);
	}
}

static void counts(const struct world *w, size_t *n)
{
	for (int i = 0; i < SERIES; i++)
		n[i] = w->want[i].n;
}

static void world_check(struct world *w)
{
	struct store_view *v;
	size_t n[SERIES];

	counts(w, n);
	ck_assert_int_eq(store_view_open(w->s, &v, NULL), 0);
	check_view(v, w, n);
	store_view_close(v);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void check_bytes(int round)
{
	struct rng r = { round + 1 };
	struct metric_samples m = { 0 }, back = { 0 };
	struct buf b = { 0 };

	for (int i = 0, n = rng_below(&r, 500); i < n; i++)
		vec_push(&m, (struct metric_sample){ rng_below(&r, 4), rng_below(&r, 300),
						     rng_below(&r, 1000) / 4.0 });
	metric_samples_encode(&m, &b);
	ck_assert(metric_samples_decode(cur_of(b.data, b.len), &back));
	for (size_t i = 0; i < back.n; i++) {
		size_t last = m.n;
		while (last-- && (m.v[last].series != back.v[i].series ||
				  m.v[last].time_ns != back.v[i].time_ns))
			continue;
		ck_assert_uint_lt(last, m.n);
		ck_assert(m.v[last].value == back.v[i].value);
	}
	struct map moments = { 0 };
	for (size_t i = 0; i < m.n; i++)
		map_put(&moments, (uint64_t)m.v[i].time_ns << 2 | m.v[i].series, 1);
	ck_assert_uint_eq(moments.n, back.n);
	for (size_t len = 0; len < b.len; len++) { /* cut: it ends between series, or is refused */
		struct metric_samples some = { 0 };
		bool ok = metric_samples_decode(cur_of(b.data, len), &some);
		ck_assert(!ok || some.n < back.n);
		vec_done(&some);
	}
	map_done(&moments);
	vec_done(&m);
	vec_done(&back);
	buf_done(&b);
}

START_TEST(a_batch_comes_back_from_bytes)
{
	for (int i = 0; i < 30; i++)
		check_bytes(i);
}
END_TEST

/* n readings of a GPU, one a second, whose values are their positions. */
static void put_readings(struct profile *p, const char *gpu, size_t n)
{
	struct sink *sink = profile_sink(p);
	const struct label label = { .key = sink_string(sink, "gpu"),
				     .str = sink_string(sink, gpu) };
	const struct reading_key key = { sink_string(sink, "hw_gpu_power"), sink_string(sink, "W"),
					 sink->ops->labels(sink, &label, 1), false };

	for (size_t i = 0; i < n; i++) {
		const struct reading_point point = { i * SECOND_NS, p->readings.n_points };
		sink->ops->readings(sink, &key, &point, 1);
	}
}

START_TEST(readings_arrive_in_pieces)
{
	static const char *const labels[] = { "host=db7" };
	struct profile *p = profile_new();
	struct metric_samples points = { 0 };
	struct reading_place at = { 0 };
	size_t sizes[] = { METRIC_MAX_BATCH_POINTS / 2, METRIC_MAX_BATCH_POINTS,
			   METRIC_MAX_BATCH_POINTS / 2 + 7 };
	size_t n = 0, pieces = 0, wrong = 0;

	p->meta.start_wall_ns = START_NS;
	p->meta.start_mono_ns = 5 * SECOND_NS;
	for (int i = 0; i < 3; i++)
		put_readings(p, (const char *[]){ "0", "1", "2" }[i], sizes[i]);
	profile_add_labels(p, labels, 1);
	ck_assert_uint_eq(p->readings.all.n, 3);
	while (metric_samples_add_readings(p, &at, &points), points.n) {
		ck_assert_uint_le(points.n, METRIC_MAX_BATCH_POINTS);
		for (size_t i = 0; i < points.n; i++, n++) {
			size_t gpu = (n >= sizes[0]) + (n >= sizes[0] + sizes[1]);
			size_t first = gpu ? sizes[0] + (gpu - 1) * sizes[1] : 0;
			wrong += (size_t)points.v[i].value != n || points.v[i].series != gpu ||
				 points.v[i].time_ns !=
					 START_NS + ((int64_t)(n - first) - 5) * SECOND_NS;
		}
		vec_clear(&points);
		pieces++;
	}
	ck_assert_uint_eq(n, sizes[0] + sizes[1] + sizes[2]);
	ck_assert_uint_eq(pieces, 3);
	ck_assert_uint_eq(wrong, 0);
	for (uint32_t i = 0; i < 3; i++) {
		const struct series *s = &p->series.series.v[i];
		const struct label *host =
			label_find(&p->series, s->labels, strtab_find(&p->strings, "host"));
		ck_assert(type_is_metric(&p->series.types.v[s->type]));
		ck_assert_str_eq(profile_str(p, host->str), "db7");
	}
	vec_done(&points);
	profile_free(p);
}
END_TEST

static void check_history(int round)
{
	struct rng r = { 100 + round };
	struct world w;
	struct err err = { 0 };

	world_init(&w, (struct store_opts){ .memory_bytes = round & 1 ? 1 << 20 : 0 });
	for (uint64_t step = 1; step <= 30; step++) {
		struct batch b = random_batch(&w, &r);
		ck_assert_msg(send_batch(w.s, &b, step, &err) == 0, "%s", err.text);
		ck_assert_int_eq(send_batch(w.s, &b, step, NULL), 0); /* a duplicate */
		witness(&w, &b);
		batch_done(&b);
		w.now_ns += rng_below(&r, 3 * 3600) * SECOND_NS;
		if (rng_below(&r, 3) == 0)
			world_maintain(&w);
		if (rng_below(&r, 5) == 0) { /* as after a crash */
			store_abandon(w.s);
			world_open(&w);
		}
		if (step % 10 == 0)
			world_check(&w);
	}
	world_check(&w);
	ck_assert_int_eq(store_close(w.s, &err), 0);
	world_open(&w);
	world_check(&w);
	world_done(&w);
}

START_TEST(points_are_there_whatever_happens)
{
	for (int i = 0; i < 3; i++)
		check_history(i);
}
END_TEST

START_TEST(a_view_is_of_one_moment)
{
	struct rng r = { 7 };
	struct world w;
	struct store_view *v;
	size_t n[SERIES];

	world_init(&w, (struct store_opts){ 0 });
	for (uint64_t step = 1; step <= 40; step++) {
		struct batch b = random_batch(&w, &r);
		ck_assert_int_eq(send_batch(w.s, &b, step, NULL), 0);
		witness(&w, &b);
		batch_done(&b);
		if (step == 20) {
			counts(&w, n);
			ck_assert_int_eq(store_view_open(w.s, &v, NULL), 0);
		}
		w.now_ns += 1800 * SECOND_NS;
		world_maintain(&w);
	}
	check_view(v, &w, n);
	store_view_close(v);
	world_check(&w);
	world_done(&w);
}
END_TEST

/* As SQLite itself sees it: an hour's blocks become one of a day. */
START_TEST(hours_become_a_day)
{
	struct world w;
	struct err err = { 0 };
	uint64_t sequence = 0;

	world_init(&w, (struct store_opts){ 0 });
	w.now_ns = 20000 * DAY_NS + 600 * SECOND_NS;
	for (int hour = 0; hour < 24; hour++, w.now_ns += HOUR_NS) {
		struct batch b = batch_new();
		for (int i = 0; i < 60; i++)
			batch_add(&b, i % SERIES, w.now_ns + i * SECOND_NS, i);
		ck_assert_msg(send_batch(w.s, &b, ++sequence, &err) == 0, "%s", err.text);
		witness(&w, &b);
		batch_done(&b);
		world_maintain(&w);
	}
	char *path = first_part(&w);
	ck_assert_int_gt(sql_number(path, "SELECT count(*) FROM metric"), SERIES);
	w.now_ns += 2 * HOUR_NS;
	world_maintain(&w);
	ck_assert_int_eq(sql_number(path, "SELECT count(*) FROM metric"), SERIES);
	ck_assert_int_eq(sql_number(path, "SELECT sum(points) FROM metric"), 24 * 60);
	world_check(&w);
	free(path);
	world_done(&w);
}
END_TEST

START_TEST(wrong_batches_are_refused)
{
	struct world w;
	struct err err = { 0 };
	struct batch b = batch_new();
	struct type cpu = { .name = strtab_put(&b.p->strings, "cpu") };
	struct series s = { .type = type_intern(&b.p->series, &cpu) };

	world_init(&w, (struct store_opts){ 0 });
	vec_push(&b.m, (struct metric_sample){ series_intern(&b.p->series, &s), w.now_ns, 1 });
	ck_assert_int_eq(send_batch(w.s, &b, 1, &err), -EINVAL);
	b.m.v[0].series = 1000;
	ck_assert_int_eq(send_batch(w.s, &b, 1, &err), -EINVAL);
	b.m.n = 0;
	for (int i = 0; i < 65; i++)
		batch_add(&b, 0, w.now_ns - i * DAY_NS, 1);
	ck_assert_int_eq(send_batch(w.s, &b, 1, &err), -EINVAL);
	b.m.n = 64;
	ck_assert_int_eq(send_batch(w.s, &b, 1, &err), 0);
	batch_done(&b);
	world_done(&w);
}
END_TEST

/* Points go with their day, and none come back: late ones are counted. */
START_TEST(days_take_their_points_along)
{
	struct world w;
	struct store_view *v;
	struct store_stats stats;

	world_init(&w, (struct store_opts){ .retention_ns = 3 * DAY_NS });
	for (uint64_t day = 0; day < 8; day++, w.now_ns += DAY_NS) {
		struct batch b = batch_new();
		batch_add(&b, 0, w.now_ns, 1);
		ck_assert_int_eq(send_batch(w.s, &b, day + 1, NULL), 0);
		batch_done(&b);
		world_maintain(&w);
	}
	struct batch late = batch_new();
	batch_add(&late, 0, START_NS, 2);
	ck_assert_int_eq(send_batch(w.s, &late, 9, NULL), 0);
	batch_done(&late);
	ck_assert_int_eq(store_view_open(w.s, &v, NULL), 0);
	struct metric_points have = read_series(v, 0, INT64_MIN, INT64_MAX);
	ck_assert_uint_eq(have.n, 3); /* today has none */
	ck_assert_int_eq(have.v[0].time_ns, START_NS + 5 * DAY_NS);
	store_view_close(v);
	store_get_stats(w.s, &stats);
	ck_assert_uint_eq(stats.points, 8);
	ck_assert_uint_eq(stats.expired_rows, 1);
	vec_done(&have);
	world_done(&w);
}
END_TEST

/* More series than allowed: the series that they are folded into has the sum of their points. */
START_TEST(series_are_bounded)
{
	struct world w;
	struct batch b = batch_new();
	struct store_stats stats;

	world_init(&w, (struct store_opts){ .max_series = 8 });
	for (int i = 0; i < 100; i++)
		batch_add(&b, 2 * i, w.now_ns + i, i);
	ck_assert_int_eq(send_batch(w.s, &b, 1, NULL), 0);
	store_get_stats(w.s, &stats);
	ck_assert_uint_eq(stats.series, 9);
	ck_assert_uint_eq(stats.folded_series, 92);
	ck_assert_uint_eq(stats.points, 100);
	batch_done(&b);
	world_done(&w);
}
END_TEST

UNIT_MAIN("metric_store", a_batch_comes_back_from_bytes, readings_arrive_in_pieces,
	  points_are_there_whatever_happens, a_view_is_of_one_moment, hours_become_a_day,
	  wrong_batches_are_refused, days_take_their_points_along, series_are_bounded)
