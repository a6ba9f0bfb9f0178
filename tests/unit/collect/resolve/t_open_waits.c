// tier: test
/* Pending waits that are kept, by thread and wait, and for how long. */
#include "collect/resolve/stack_cache.h"
#include "unit.h"

#define S 1000000000ull

static void put(struct open_waits *g, uint32_t tid, uint32_t key, uint64_t now_ns)
{
	open_waits_put(g, &(struct open_wait){ .hash = tid * 1000 + key, .tid = tid, .key = key },
		       now_ns);
}

static uint64_t get(struct open_waits *g, uint32_t tid, uint32_t key, uint64_t now_ns)
{
	const struct open_wait *w = open_waits_get(g, tid, key, now_ns);

	return w ? w->hash : 0;
}

/* Only the last wait of a thread. */
START_TEST(the_last_wait_of_a_thread)
{
	struct open_waits g = { 0 };

	ck_assert_uint_eq(get(&g, 1, 1, 0), 0);
	put(&g, 1, 1, 100 * S);
	put(&g, 2, 7, 100 * S);
	ck_assert_uint_eq(get(&g, 1, 1, 100 * S), 1001);
	put(&g, 1, 3, 110 * S);
	ck_assert_uint_eq(get(&g, 1, 1, 110 * S), 0);
	ck_assert_uint_eq(get(&g, 1, 3, 110 * S), 1003);
	ck_assert_uint_eq(get(&g, 2, 3, 110 * S), 0);
	ck_assert_uint_eq(get(&g, 2, 7, 110 * S), 2007);
	open_waits_done(&g);
}
END_TEST

/* Waits reported every ten seconds stay; others are removed, with their memory. */
START_TEST(reported_or_gone)
{
	enum { THREADS = 5000 };
	struct open_waits g = { 0 };

	for (uint32_t t = 1; t <= THREADS; t++)
		put(&g, t, 5, 100 * S);
	for (uint64_t now_ns = 110 * S; now_ns < 1000 * S; now_ns += 10 * S)
		for (uint32_t t = 1; t <= 10; t++)
			ck_assert_uint_eq(get(&g, t, 5, now_ns), t * 1000 + 5);
	ck_assert_uint_eq(get(&g, 11, 5, 1000 * S), 0);
	ck_assert_uint_le(g.young.all.n, 10);
	ck_assert_uint_le(g.old.all.n, 10);
	open_waits_done(&g);
}
END_TEST

/* However long ago threads were asked: all waits reported then are there. */
START_TEST(requested_again_after_an_hour)
{
	struct open_waits g = { 0 };

	for (uint32_t t = 1; t <= 100; t++)
		put(&g, t, 5, 100 * S);
	for (uint32_t t = 1; t <= 100; t++)
		ck_assert_uint_eq(get(&g, t, 5, 3700 * S), t * 1000 + 5);
	for (uint32_t t = 1; t <= 100; t++)
		ck_assert_uint_eq(get(&g, t, 5, 7300 * S), t * 1000 + 5);
	open_waits_done(&g);
}
END_TEST

UNIT_MAIN("going_on", the_last_wait_of_a_thread, reported_or_gone, requested_again_after_an_hour)
