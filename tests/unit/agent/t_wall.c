// tier: test
#include "unit.h"

#include "agent/outbox.h"

#define SECOND_NS 1000000000ll
#define AHEAD_NS  (1763900000 * SECOND_NS)

/* After an hour of suspend, or when the clock is set by years, the interval ends, and the next one has the new time. */
START_TEST(an_interval_ends_where_the_clock_jumps)
{
	static const int64_t jumps[] = { 3600 * SECOND_NS, -3600 * SECOND_NS, 2 * SECOND_NS,
					 630720000 * SECOND_NS, -630720000 * SECOND_NS };

	for (size_t i = 0; i < sizeof jumps / sizeof *jumps; i++) {
		struct wall w = { AHEAD_NS };
		ck_assert(wall_jumps(&w, AHEAD_NS + jumps[i]));
		ck_assert_int_eq(w.ahead_ns, AHEAD_NS);
		wall_follow(&w, AHEAD_NS + jumps[i]);
		ck_assert_int_eq(w.ahead_ns, AHEAD_NS + jumps[i]);
		ck_assert(!wall_jumps(&w, AHEAD_NS + jumps[i]));
	}
}
END_TEST

/* Measured times vary; a clock that is slewed is followed from interval to interval. */
START_TEST(intervals_that_follow_each_other_have_no_gap)
{
	struct wall w = { AHEAD_NS };

	ck_assert(!wall_jumps(&w, AHEAD_NS + 90000));
	wall_follow(&w, AHEAD_NS + 90000);
	ck_assert_int_eq(w.ahead_ns, AHEAD_NS);
	ck_assert(!wall_jumps(&w, AHEAD_NS - 5000000));
	wall_follow(&w, AHEAD_NS - 5000000);
	ck_assert_int_eq(w.ahead_ns, AHEAD_NS - 5000000);
}
END_TEST

UNIT_MAIN("wall", an_interval_ends_where_the_clock_jumps,
	  intervals_that_follow_each_other_have_no_gap)
