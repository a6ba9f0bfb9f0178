// tier: test
/* Shares of a CPU: what may be spent, on a simulated clock. */
#include "unit.h"

#include "base/cpu_budget.h"

#define MS 1000000ull
#define S  1000000000ull

START_TEST(new_work_starts_immediately)
{
	struct cpu_budget b = { .per_s_ns = 3 * MS, .most_ns = S };

	ck_assert_int_eq(cpu_budget_left(&b, 5 * S), S);
	cpu_budget_spend(&b, 5 * S, 400 * MS);
	ck_assert_int_eq(cpu_budget_left(&b, 5 * S), 600 * MS);
	cpu_budget_spend(&b, 5 * S, S);
	ck_assert_int_eq(cpu_budget_left(&b, 5 * S), -400 * (int64_t)MS);
}
END_TEST

/* However often it is queried, and whatever was spent meanwhile. */
START_TEST(time_brings_the_share)
{
	struct cpu_budget b = { .per_s_ns = 3 * MS, .most_ns = S };

	cpu_budget_spend(&b, 1, 2 * S);
	ck_assert_int_eq(cpu_budget_left(&b, 1 + 100 * S), -700 * (int64_t)MS);
	for (uint64_t t = 1 + 100 * S; t <= 1 + 200 * S; t += 333333)
		cpu_budget_left(&b, t);
	int64_t left = cpu_budget_left(&b, 1 + 200 * S);
	ck_assert_int_le(left, -400 * (int64_t)MS);
	ck_assert_int_ge(left, -403 * (int64_t)MS); /* fractions of a nanosecond are not kept */
	ck_assert_int_eq(cpu_budget_left(&b, 100 * S), left); /* a clock does not go back */
	ck_assert_int_eq(cpu_budget_left(&b, 1 + 10000 * S), S);
	ck_assert_int_eq(cpu_budget_left(&b, UINT64_MAX), S);
}
END_TEST

/* Work that takes all it may, for an hour: the share, plus the initial credit. */
START_TEST(on_and_on_it_is_the_share)
{
	struct cpu_budget b = { .per_s_ns = 3 * MS, .most_ns = S };
	uint64_t spent = 0;

	for (uint64_t t = S; t <= 3601 * S; t += 100 * MS)
		if (cpu_budget_left(&b, t) > 0) {
			cpu_budget_spend(&b, t, 20 * MS);
			spent += 20 * MS;
		}
	ck_assert_uint_ge(spent, 3600 * 3 * MS + S - 20 * MS);
	ck_assert_uint_le(spent, 3600 * 3 * MS + S + 20 * MS);
}
END_TEST

UNIT_MAIN("cpu_budget", new_work_starts_immediately, time_brings_the_share,
	  on_and_on_it_is_the_share)
