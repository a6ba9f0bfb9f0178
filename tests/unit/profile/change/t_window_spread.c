// tier: test
/* Errors of sums of waits recorded in windows: scripted waits, of which randomly drawn windows see a part, as the kernel side clips and weights them.
 * 95 of 100 intervals must contain the truth. */
#include "rand.h"
#include "unit.h"

#include <math.h>

#include "profile/change/estimate.h"

#include "bpf/thread_time.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/strtab.h"
#include "profile/tree/tree.h"

#define MS        INT64_C(1000000)
#define PERIOD_NS (10000 * MS)

struct world {
	struct profile *p;
	uint32_t type, series, leaf[2];
	int64_t truth[2], seen[2];
};

static void world_init(struct world *w)
{
	memset(w, 0, sizeof *w);
	w->p = profile_new();
	struct sink *s = profile_sink(w->p);
	struct type type = { .name = sink_string(s, "off-cpu"),
			     .sample_type = sink_string(s, "off-cpu"),
			     .unit = sink_string(s, "nanoseconds") };
	struct label label = { .key = sink_string(s, WINDOWS_LABEL), .str = sink_string(s, "10") };
	w->type = s->ops->type(s, &type);
	struct series series = { .type = w->type, .labels = s->ops->labels(s, &label, 1) };
	w->series = s->ops->series(s, &series);
	for (int i = 0; i < 2; i++) {
		struct frame f = { .mapping = MAPPING_NONE,
				   .function = sink_string(s, i ? "poll" : "lock") };
		uint32_t frame = s->ops->frame(s, &f);
		w->leaf[i] = s->ops->stack(s, &frame, 1);
	}
}

static void put(struct world *w, int which, int64_t time_ns, int64_t value)
{
	struct sink *s = profile_sink(w->p);
	struct sample sample = { .time_ns = time_ns,
				 .value = value,
				 .series = w->series,
				 .stack = w->leaf[which],
				 .pid = 7,
				 .tid = 7,
				 .cpu = SAMPLE_NO_ID };
	s->ops->sample(s, &sample);
	w->seen[which] += value;
}

/* A wait, as seen by the windows of its time: one in each period. */
static void wait(struct world *w, int which, const struct switch_window *windows, int n,
		 int64_t start_ns, int64_t length_ns)
{
	w->truth[which] += length_ns;
	for (int64_t i = start_ns / PERIOD_NS; i <= (start_ns + length_ns) / PERIOD_NS && i < n;
	     i++) {
		struct wait_info info = { .start_ns = start_ns,
					  .off_ns = length_ns,
					  .weight_ns = length_ns,
					  .parts = WAIT_OFF_CPU };
		wait_in_window(&info, &windows[i]);
		if (info.weight_ns)
			put(w, which, info.start_ns, info.weight_ns);
	}
}

static void draw_windows(struct rng *r, struct switch_window *windows, int n, int64_t length_ns)
{
	for (int i = 0; i < n; i++) {
		int64_t at = rng_below(r, PERIOD_NS - length_ns);
		windows[i] =
			(struct switch_window){ i * PERIOD_NS + at, i * PERIOD_NS + at + length_ns,
						WINDOW_WEIGHT_ONE * PERIOD_NS / length_ns, i + 1,
						0 };
	}
}

static struct estimate estimate_of(struct world *w, int which)
{
	struct tree_opts opts = { .type = w->type };
	struct estimates *e;
	struct tree *t;
	struct estimate found = { 0 };

	ck_assert_int_eq(tree_build(w->p, &opts, &t, NULL), 0);
	ck_assert_int_eq(estimates_build(w->p, &opts, &e, NULL), 0);
	ck_assert_ptr_nonnull(e);
	ck_assert_int_eq(estimates_total(e), w->seen[0] + w->seen[1]);
	for (uint32_t f = 0; f < t->funcs.n; f++)
		if (strcmp(strtab_get(&t->strings, t->funcs.v[f].name), which ? "poll" : "lock") ==
		    0)
			found = estimates_get(e, t, f, w->seen[which], w->seen[which]);
	estimates_free(e);
	tree_free(t);
	return found;
}

/* Two threads: one waits for a lock, some ms each time; the other for input, seconds each time. */
static void script(struct world *w, struct rng *r, const struct switch_window *windows, int n)
{
	const int64_t lengths[2][2] = { { 1 * MS, 40 * MS }, { 200 * MS, 6000 * MS } };

	for (int which = 0; which < 2; which++) {
		int64_t at = 0, end = n * PERIOD_NS;
		while (at < end) {
			int64_t length = lengths[which][0] + rng_below(r, lengths[which][1]);
			if (at + length > end)
				length = end - at;
			wait(w, which, windows, n, at, length);
			at += length + rng_below(r, 10 * MS);
		}
	}
}

static void check_coverage(int periods, int64_t length_ns)
{
	enum { RUNS = 200, MOST_PERIODS = 100 };
	struct switch_window windows[MOST_PERIODS];
	struct rng r = { 4711 + periods };
	int inside[2] = { 0 };
	double off[2] = { 0 };

	for (int run = 0; run < RUNS; run++) {
		struct world w;

		world_init(&w);
		draw_windows(&r, windows, periods, length_ns);
		script(&w, &r, windows, periods);
		for (int i = 0; i < 2; i++) {
			struct estimate e = estimate_of(&w, i);

			inside[i] += e.self_low <= w.truth[i] && w.truth[i] <= e.self_high;
			off[i] += (double)w.seen[i] / (double)w.truth[i] - 1;
		}
		profile_free(w.p);
	}
	for (int i = 0; i < 2; i++) {
		ck_assert_int_ge(inside[i], RUNS * 95 / 100);
		ck_assert_double_lt(fabs(off[i] / RUNS), .01); /* no bias */
	}
}

START_TEST(short_range)
{
	check_coverage(6, 800 * MS);
}
END_TEST

START_TEST(long_range)
{
	check_coverage(90, 800 * MS);
}
END_TEST

START_TEST(most_of_the_time)
{
	check_coverage(20, 7000 * MS);
}
END_TEST

/* A hundred threads that wait at once are not a hundred independent events. */
START_TEST(simultaneous_waits)
{
	enum { PERIODS = 60, RUNS = 100 };
	struct switch_window windows[PERIODS];
	struct rng r = { 815 };
	int inside = 0;

	for (int run = 0; run < RUNS; run++) {
		struct world w;

		world_init(&w);
		draw_windows(&r, windows, PERIODS, 500 * MS);
		for (int i = 0; i < PERIODS * 3; i++) {
			int64_t at = rng_below(&r, PERIODS * PERIOD_NS - 1000 * MS);
			for (int thread = 0; thread < 100; thread++)
				wait(&w, 0, windows, PERIODS, at, 400 * MS);
		}
		struct estimate e = estimate_of(&w, 0);
		inside += e.self_low <= w.truth[0] && w.truth[0] <= e.self_high;
		profile_free(w.p);
	}
	ck_assert_int_ge(inside, RUNS * 80 / 100); /* of few stretches */
}
END_TEST

/* A wait that fills each window leaves little to chance. */
START_TEST(always_is_nearly_exact)
{
	struct world w;

	world_init(&w);
	for (int i = 0; i < 3; i++)
		put(&w, 1, 1 + i * PERIOD_NS, PERIOD_NS);
	struct estimate e = estimate_of(&w, 1);
	/* 0.5 %, and what its first and last period may lack */
	double off = 1.96 * sqrt(.0025 * .0025 + 1. / 6 / 9);
	ck_assert_double_eq_tol((double)e.self_low / (3 * PERIOD_NS), 1 - off, .0001);
	ck_assert_double_eq_tol((double)e.self_high / (3 * PERIOD_NS), 1 + off, .0001);
	profile_free(w.p);
}
END_TEST

/* The number of waits in a sum is unknown. */
START_TEST(sums_have_the_most)
{
	struct world w;

	world_init(&w);
	put(&w, 1, 0, 90 * PERIOD_NS);
	struct estimate e = estimate_of(&w, 1);
	double off = (double)(e.self_high - w.seen[1]) / PERIOD_NS;
	ck_assert_double_eq_tol(off, 1.96 * sqrt(2. / 9 * 90 + 1. / 6), .01);
	profile_free(w.p);
}
END_TEST

UNIT_MAIN("window_spread", short_range, long_range, most_of_the_time, simultaneous_waits,
	  always_is_nearly_exact, sums_have_the_most)
