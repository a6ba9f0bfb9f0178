// tier: test
/* The weight of samples by `cycles` (bpf/cycle_clock.h), on a CPU with a known busy time: ticks come as the kernel makes them, with a period adapted
 * to wall time (kernel/events/core.c, perf_adjust_period), and the scheduler's clock is as old as it may be. */
#include "unit.h"

#include "bpf/cycle_clock.h"
#include "collect/inspect/check_rows.h"
#include "rand.h"

#include <math.h>
#include <stdbool.h>

enum { STEP_NS = 10000, TICK_NS = 4000000, MUX_NS = 4000000 };

/* One CPU. */
struct script {
	const char *name;
	double load;    /* busy share of its time */
	double ghz[2];  /* alternating each second */
	double counted; /* share of time with a counter */
	unsigned hz, seconds;
	uint64_t burst_ns; /* length of a busy phase, about */
};

struct outcome {
	double busy_ns, counted_ns;           /* true, by samples */
	double ticks_ns;                      /* if each tick were a period */
	double of_first_ns, counted_first_ns; /* of that, of the first of two threads */
	double lost_ns;
};

/* perf_event_attr.freq: adapts the period to hz events per second of recent time. */
static void adjust(uint64_t *period, double cycles, double ns, unsigned hz)
{
	int64_t wanted = cycles * 1e9 / (ns * hz), delta = wanted - (int64_t)*period;

	delta = (delta + (delta >= 0 ? 7 : -7)) / 8;
	*period = (int64_t)*period + delta > 1 ? *period + delta : 1;
}

static struct outcome run(const struct script *s)
{
	struct cycle_clock clock = { 0 };
	struct outcome out = { 0 };
	struct rng rand = { 88172645463325252ull };
	uint64_t period = 1, last_period = 1;
	uint64_t end_ns = s->seconds * 1000000000ull, period_ns = 1000000000ull / s->hz;
	uint64_t seen_busy_ns = 0, tick_at_ns = 0, change_ns = 0, over_ns = 0;
	double left = 1, since_tick = 0;
	bool is_busy = false, is_first = false;

	for (uint64_t now_ns = 1; now_ns < end_ns; now_ns += STEP_NS) {
		double ghz = s->ghz[now_ns / 1000000000 % 2];
		bool counts = (double)(now_ns % MUX_NS) < s->counted * MUX_NS;
		bool is_tick = now_ns >= tick_at_ns + TICK_NS;

		if (now_ns >= change_ns) { /* a switch */
			double u = (rng_next(&rand) >> 11) / 9007199254740992.0;

			is_busy = s->load >= 1 || !is_busy;
			is_first = is_busy ? (rng_next(&rand) % 10) < 3 : is_first;
			double mean = is_busy ? s->burst_ns : s->burst_ns * (1 - s->load) / s->load;
			change_ns = now_ns + (uint64_t)(-log(1 - u) * mean) + STEP_NS;
			seen_busy_ns = out.busy_ns;
		}
		if (is_tick) {
			tick_at_ns = now_ns;
			seen_busy_ns = out.busy_ns;
			if (since_tick > 0)
				adjust(&period, since_tick, TICK_NS, s->hz);
			since_tick = 0;
		}
		if (!is_busy)
			continue;
		out.busy_ns += STEP_NS;
		out.of_first_ns += is_first ? STEP_NS : 0;
		if (!counts)
			continue;
		left -= ghz * STEP_NS;
		since_tick += ghz * STEP_NS;
		while (left <= 0) {
			uint32_t n =
				cycle_tick(&clock, last_period, 1000 + seen_busy_ns, period_ns);

			out.counted_ns += (double)n * period_ns;
			out.counted_first_ns += is_first ? (double)n * period_ns : 0;
			out.ticks_ns += period_ns;
			if (now_ns - over_ns && now_ns - over_ns < 2 * TICK_NS)
				adjust(&period, last_period, now_ns - over_ns, s->hz);
			over_ns = now_ns;
			last_period = period;
			left += period;
		}
	}
	out.lost_ns = clock.lost_ns;
	return out;
}

static void check(const struct script *s)
{
	struct outcome o = run(s);
	double n = o.counted_ns * s->hz / 1e9, share = o.of_first_ns / o.busy_ns;
	double sigma = sqrt(share * (1 - share) / (n + 1));

	printf("# %-22s busy %7.3f s, by samples %7.3f s (%+.2f %%); a period a tick %8.3f s\n",
	       s->name, o.busy_ns / 1e9, o.counted_ns / 1e9, 100 * (o.counted_ns / o.busy_ns - 1),
	       o.ticks_ns / 1e9);
	ck_assert_msg(fabs(o.counted_ns / o.busy_ns - 1) < 0.02, "%s: %.3f s of %.3f s", s->name,
		      o.counted_ns / 1e9, o.busy_ns / 1e9);
	ck_assert_msg(fabs(o.counted_first_ns / o.counted_ns - share) < 5 * sigma + 0.02,
		      "%s: the first thread has %.3f, counted %.3f", s->name, share,
		      o.counted_first_ns / o.counted_ns);
	ck_assert_msg(o.lost_ns < 0.01 * o.busy_ns, "%s: %.3f s lost", s->name, o.lost_ns / 1e9);
}

START_TEST(each_load_is_its_time)
{
	static const struct script scripts[] = {
		{ "5 %, 99 Hz", 0.05, { 3, 3 }, 1, 99, 120, 300000 },
		{ "20 %, 99 Hz", 0.20, { 3, 3 }, 1, 99, 60, 300000 },
		{ "50 %, 99 Hz", 0.50, { 3, 3 }, 1, 99, 30, 2000000 },
		{ "100 %, 99 Hz", 1, { 3, 3 }, 1, 99, 30, 10000000 },
		{ "5 %, 19 Hz", 0.05, { 3, 3 }, 1, 19, 300, 300000 },
		{ "100 %, 19 Hz", 1, { 3, 3 }, 1, 19, 60, 10000000 },
		{ "5 %, 999 Hz", 0.05, { 3, 3 }, 1, 999, 60, 300000 },
		{ "100 %, 999 Hz", 1, { 3, 3 }, 1, 999, 20, 10000000 },
	};

	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
		check(&scripts[i]);
}
END_TEST

START_TEST(whatever_the_speed_of_the_cpu)
{
	static const struct script scripts[] = {
		{ "20 %, 1.2 and 3.6 GHz", 0.20, { 1.2, 3.6 }, 1, 99, 60, 300000 },
		{ "100 %, 1.2 and 3.6 GHz", 1, { 1.2, 3.6 }, 1, 99, 60, 10000000 },
		{ "100 %, 0.4 and 5 GHz", 1, { 0.4, 5 }, 1, 99, 60, 10000000 },
	};

	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
		check(&scripts[i]);
}
END_TEST

START_TEST(while_others_have_the_counter)
{
	static const struct script scripts[] = {
		{ "100 %, half counted", 1, { 3, 3 }, 0.5, 99, 60, 10000000 },
		{ "20 %, half counted", 0.20, { 3, 3 }, 0.5, 99, 60, 300000 },
		{ "50 %, a fifth counted", 0.50, { 3, 3 }, 0.2, 99, 60, 2000000 },
	};

	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
		check(&scripts[i]);
}
END_TEST

/* The number of ticks itself is wrong: as many for a twentieth of the time. */
START_TEST(ticks_are_not_time)
{
	static const struct script s = { "", 0.05, { 3, 3 }, 1, 99, 60, 300000 };
	struct outcome o = run(&s);

	ck_assert_double_gt(o.ticks_ns, 3 * o.busy_ns);
}
END_TEST

/* Ten seconds without a tick belong to nobody: they are counted as lost, and the next sample does not stand for them. */
START_TEST(a_gap_is_lost)
{
	struct cycle_clock clock = { 0 };
	uint64_t busy_ns = 1, periods = 0;

	for (int i = 0; i < 1000; i++)
		periods += cycle_tick(&clock, 30000000, busy_ns += 10000000, 10000000);
	ck_assert_uint_ge(periods, 995);
	ck_assert_uint_eq(clock.lost_ns, 0);
	ck_assert_uint_le(cycle_tick(&clock, 30000000, busy_ns += 10000000000ull, 10000000), 2);
	ck_assert_uint_eq(clock.lost_ns, 9990000000ull);
	for (int i = 0; i < 100; i++)
		ck_assert_uint_le(cycle_tick(&clock, 30000000, busy_ns += 10000000, 10000000), 2);
}
END_TEST

/* Between two tasks, the scheduler's sums belong to neither for a moment: too high, then right again. */
START_TEST(a_moment_in_a_switch)
{
	struct cycle_clock clock = { 0 };
	uint64_t busy_ns = 1, periods = 0;

	for (int i = 0; i < 10000; i++) {
		busy_ns += 10000000;
		periods +=
			cycle_tick(&clock, 30000000, busy_ns + (i % 100 ? 0 : 9000000), 10000000);
	}
	ck_assert_uint_ge(periods, 9950);
	ck_assert_uint_le(periods, 10050);
}
END_TEST

START_TEST(freezing_kernel_rings)
{
	static const char *const bad[] = { "6.15.2", "6.16.12-200.fc42.x86_64", "6.17.4-200.fc42",
					   "6.18.0" };
	static const char *const good[] = { "5.10.0", "6.1.0-13-amd64", "6.14.9", "6.19.0",
					    "7.0",    "16.16.1",        "" };

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_ptr_nonnull(check_ring_freeze(bad[i]));
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		ck_assert_ptr_null(check_ring_freeze(good[i]));
}
END_TEST

UNIT_MAIN("cycle_clock", each_load_is_its_time, whatever_the_speed_of_the_cpu,
	  while_others_have_the_counter, ticks_are_not_time, a_gap_is_lost, a_moment_in_a_switch,
	  freezing_kernel_rings)
