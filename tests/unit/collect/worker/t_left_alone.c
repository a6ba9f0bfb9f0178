// tier: test
/* Processes, users and devices that made a worker wait are left alone for some time, and then forgotten. */
#include "collect/worker/left_alone.h"
#include "unit.h"

#define S 1000000000ull

START_TEST(an_entry_ends_after_its_time)
{
	struct left_alone l = { 0 };

	ck_assert(!left_alone_has(&l, 7, 100 * S, false));
	left_alone_add(&l, 7, 100 * S, 10 * S);
	ck_assert(left_alone_has(&l, 7, 100 * S, false));
	ck_assert(left_alone_has(&l, 7, 110 * S, false)); /* no shorter than that */
	ck_assert(!left_alone_has(&l, 8, 105 * S, false));
	ck_assert(!left_alone_has(&l, 7, 112 * S, false));
	left_alone_done(&l);
}
END_TEST

START_TEST(an_entry_stays_while_a_worker_is_stuck)
{
	struct left_alone l = { 0 };

	left_alone_add(&l, 7, 100 * S, 10 * S);
	ck_assert(left_alone_has(&l, 7, 500 * S, true));
	ck_assert(!left_alone_has(&l, 8, 500 * S, true));
	ck_assert(!left_alone_has(&l, 7, 501 * S, false));
	left_alone_done(&l);
}
END_TEST

/* Another process that makes a worker wait later does not matter to this one. */
START_TEST(a_forgotten_entry_does_not_return)
{
	struct left_alone l = { 0 };

	left_alone_add(&l, 7, 100 * S, 10 * S);
	left_alone_add(&l, 8, 100 * S, 600 * S);
	ck_assert(!left_alone_has(&l, 7, 200 * S, false)); /* looked up after its time */
	ck_assert(!left_alone_has(&l, 7, 201 * S, true));
	ck_assert(left_alone_has(&l, 8, 201 * S, true));
	ck_assert(!left_alone_has(&l, 9, 800 * S, false)); /* not looked up itself */
	ck_assert_uint_eq(l.until_s.n, 0);
	left_alone_add(&l, 9, 900 * S, 10 * S);
	ck_assert(!left_alone_has(&l, 8, 901 * S, true));
	left_alone_done(&l);
}
END_TEST

START_TEST(a_table_is_bounded)
{
	struct left_alone l = { 0 };

	for (uint64_t key = 1; key <= 3 * LEFT_ALONE_MAX; key++) {
		left_alone_add(&l, key, 100 * S, 10 * S);
		ck_assert(left_alone_has(&l, key, 101 * S, false));
		ck_assert_uint_le(l.until_s.n, LEFT_ALONE_MAX);
	}
	left_alone_done(&l);
}
END_TEST

UNIT_MAIN("left_alone", an_entry_ends_after_its_time, an_entry_stays_while_a_worker_is_stuck,
	  a_forgotten_entry_does_not_return, a_table_is_bounded)
