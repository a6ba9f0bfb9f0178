// tier: test
/* The governor with scripted costs: it must settle on the duty that spends the budget, for any costs. */
#include "unit.h"

#include "gpu/ring/window.h"

#include <math.h>

/* The cost in ns of a window of open_ns, by a script: its number, and a random number from 0 to 1. */
typedef double cost_fn(double open_ns, int window, double chance);

static double steady(double open_ns, int window, double chance)
{
	(void)window, (void)chance;
	return 0.02 * open_ns;
}
static double dear(double open_ns, int window, double chance)
{
	(void)window, (void)chance;
	return 0.64 * open_ns; /* the worst reported for a library of this kind */
}
static double noisy(double open_ns, int window, double chance)
{
	(void)window;
	return 0.03 * open_ns * exp(2 * (chance - 0.5));
}
static double with_opening(double open_ns, int window, double chance)
{
	(void)window, (void)chance;
	return 0.01 * open_ns + 3e6;
}
static double steps(double open_ns, int window, double chance)
{
	(void)chance;
	return (window < 40 ? 0.2 : window < 80 ? 0.01 : 0.1) * open_ns;
}
static double spikes(double open_ns, int window, double chance)
{
	(void)window;
	return (chance < 0.05 ? 0.3 : 0.02) * open_ns;
}
static double alternating(double open_ns, int window, double chance)
{
	(void)chance;
	return (window & 1 ? 0.05 : 0.01) * open_ns;
}

enum { WINDOWS = 600, SETTLED = 120 };

/* The share of wall time spent after it has settled, and the share with windows open all the time. */
static void run(cost_fn *cost, double budget, double *spent, double *full, double *duty)
{
	struct window w;
	struct window_cost sums = { 0 };
	uint64_t now = 1000000000, settled_at = 0;
	double spent_ns = 0, open_ns = 0;

	window_init(&w, budget, 7, now);
	srand(1);
	for (int i = 0; i < WINDOWS; i++) {
		uint64_t until, at = window_plan(&w, now, &until);

		ck_assert_uint_ge(at, now);
		ck_assert_uint_ge(until - at, WINDOW_SHORTEST_NS);
		ck_assert_uint_le(until - at, WINDOW_LENGTH_NS);
		if (i == SETTLED)
			settled_at = now;
		double ns = cost(until - at, i, rand() / (double)RAND_MAX);

		/* All four kinds of cost count. */
		sums.busy_ns += ns / 2;
		sums.overhead_ns += ns / 4;
		sums.probes += ns / 8 / WINDOW_PROBE_NS;
		sums.helper_ns += ns - (uint64_t)(ns / 2) - (uint64_t)(ns / 4) -
				  WINDOW_PROBE_NS * (uint64_t)(ns / 8 / WINDOW_PROBE_NS);
		now = until;
		window_done(&w, at, until, &sums);
		if (i >= SETTLED) {
			spent_ns += ns;
			open_ns += until - at;
		}
	}
	uint64_t end, next = window_plan(&w, now, &end);

	*spent = spent_ns / (next - settled_at);
	*duty = open_ns / (next - settled_at);
	*full = spent_ns / open_ns;
}

static cost_fn *const scripts[] = { steady, dear, noisy, with_opening, steps, spikes, alternating };

START_TEST(settles)
{
	static const double budgets[] = { 0.001, 0.01, 0.05 };

	for (size_t s = 0; s < sizeof scripts / sizeof *scripts; s++)
		for (size_t b = 0; b < 3; b++) {
			double spent, full, duty;

			run(scripts[s], budgets[b], &spent, &full, &duty);
			double right = full < budgets[b] ? 1 : budgets[b] / full;

			ck_assert_msg(duty > 0.8 * right && duty < 1.2 * right,
				      "script %zu, budget %g: duty %g, right is %g (spent %g)", s,
				      budgets[b], duty, right, spent);
			ck_assert_msg(spent < 1.2 * budgets[b], "script %zu, budget %g: spent %g",
				      s, budgets[b], spent);
		}
}
END_TEST

/* With a request for all of it, there are no gaps. */
START_TEST(full_duty)
{
	double spent, full, duty;

	run(dear, 1, &spent, &full, &duty);
	ck_assert_double_eq_tol(duty, 1, 1e-9);
}
END_TEST

START_TEST(coverage)
{
	struct window w;
	struct window_cost sums = { .busy_ns = 1000000 };

	window_init(&w, 0.01, 1, 0);
	ck_assert_double_eq_tol(window_coverage(&w, 0), 0, 1e-9);
	window_done(&w, 0, 20000000, &sums);
	ck_assert_double_eq_tol(window_coverage(&w, 40000000), 0.5, 1e-9);
	/* 1 ms of 20 is 5 %: due after 100 ms, plus or minus a quarter of the gap. */
	uint64_t until, at = window_plan(&w, 20000000, &until);

	ck_assert_uint_ge(at, 20000000 + 60000000);
	ck_assert_uint_le(at, 20000000 + 100000000);
	/* A reloaded library counts from 0. */
	window_done(&w, at, until, &(struct window_cost){ 0 });
	ck_assert_double_ge(w.cost, 0);
}
END_TEST

UNIT_MAIN("gpu-window", settles, full_duty, coverage)
