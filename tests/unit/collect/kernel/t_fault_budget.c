// tier: test
/* How long page faults are watched at a given rate (collect/kernel/fault_limits.h). */
#include "unit.h"

#include "collect/kernel/fault_limits.h"

enum { CPUS = 2 };

static struct fault_budget budget;
static uint64_t now_ns, spent_ns;

static void begin(double share)
{
	budget = (struct fault_budget){ .share = share };
	now_ns = 1000000000;
	spent_ns = 0;
}

/* Looks four times a second while each fault costs cost_ns. Returns for how many seconds faults
 * were watched. */
static double go_on(double faults_per_s, double cost_ns, int seconds)
{
	bool on = fault_budget_look(&budget, CPUS, spent_ns, now_ns);
	double watched_s = 0;

	for (int i = 0; i < 4 * seconds; i++) {
		if (on)
			spent_ns += (uint64_t)(faults_per_s * cost_ns / 4);
		watched_s += on ? 0.25 : 0;
		now_ns += 250000000;
		on = fault_budget_look(&budget, CPUS, spent_ns, now_ns);
	}
	return watched_s;
}

START_TEST(few_faults_are_always_watched)
{
	begin(0.001);
	ck_assert_double_eq_tol(go_on(10000, 150, 3600), 3600, 0.1);
}
END_TEST

START_TEST(a_storm_costs_the_share)
{
	const double hour_s = 3600;

	begin(0.001);
	double watched_s = go_on(250000, 200, (int)hour_s);
	double saved_s = 0.001 * CPUS * FAULT_BUDGET_SAVED_S;
	ck_assert_double_le((double)spent_ns / 1e9, 0.001 * CPUS * hour_s + saved_s + 0.05);
	ck_assert_double_ge((double)spent_ns / 1e9, 0.001 * CPUS * hour_s - 0.05);
	ck_assert_double_eq_tol(watched_s, hour_s * 0.002 / 0.05, 5);
}
END_TEST

START_TEST(it_watches_again_after_a_storm)
{
	begin(0.001);
	ck_assert_double_lt(go_on(1e6, 200, 60), 5);
	go_on(0, 0, 60);
	ck_assert_double_eq_tol(go_on(5000, 150, 60), 60, 0.1);
}
END_TEST

START_TEST(time_is_not_saved_for_long)
{
	begin(0.001);
	go_on(0, 0, 3600);
	uint64_t before_ns = spent_ns;
	go_on(1e6, 100, 10);
	/* the saved time, ten seconds' share, and one look's faults */
	ck_assert_double_le((double)(spent_ns - before_ns) / 1e9, 0.02 + 0.02 + 0.026);
}
END_TEST

START_TEST(without_a_limit_all_are_watched)
{
	begin(0);
	ck_assert_double_eq_tol(go_on(1e7, 1000, 60), 60, 0.1);
}
END_TEST

UNIT_MAIN("fault_budget", few_faults_are_always_watched, a_storm_costs_the_share,
	  it_watches_again_after_a_storm, time_is_not_saved_for_long,
	  without_a_limit_all_are_watched)
