// tier: test
/* Clocks of time namespaces: the kernel's data, and their use. */
#include "unit.h"

#include "base/err.h"
#include "gpu/ring/time_space.h"

#include <string.h>
#include <unistd.h>

static int64_t parsed(const char *text)
{
	int64_t ns = 42;

	return time_space_parse(text, strlen(text), &ns) ? ns : INT64_MIN;
}

START_TEST(texts)
{
	ck_assert_int_eq(
		parsed("monotonic           0         0\nboottime            0         0\n"), 0);
	ck_assert_int_eq(
		parsed("boottime            1         5\nmonotonic        5000         7\n"),
		5000000000007);
	ck_assert_int_eq(parsed("monotonic         -20 900000000\n"), -19100000000);
	ck_assert_int_eq(parsed("monotonic 1 2"), 1000000002); /* without its newline */
	ck_assert_int_eq(parsed(""), INT64_MIN);
	ck_assert_int_eq(parsed("monotonic\n"), INT64_MIN);
	ck_assert_int_eq(parsed("monotonic 1\n"), INT64_MIN);
	ck_assert_int_eq(parsed("monotonic 1 x\n"), INT64_MIN);
	ck_assert_int_eq(parsed("monotonic 1 2 3\n"), INT64_MIN);
	ck_assert_int_eq(parsed("monotonic 1 -2\n"), INT64_MIN);
	ck_assert_int_eq(parsed("monotonic 1 1000000000\n"), INT64_MIN);
	ck_assert_int_eq(parsed("monotonic 99999999999999999999 0\n"), INT64_MIN);
	ck_assert_int_eq(parsed("monotonic -4000000000 0\n"), INT64_MIN);
	ck_assert_int_eq(parsed("xmonotonic 1 2\nboottime 1 2\n"), INT64_MIN);
}
END_TEST

START_TEST(times)
{
	ck_assert_uint_eq(ring_time(100, 20), 120);
	ck_assert_uint_eq(ring_time(100, -20), 80);
	ck_assert_uint_eq(ring_time(0, 20), 0); /* never */
	ck_assert_uint_eq(ring_time(10, -20), 10);
	ck_assert_uint_eq(ring_time(UINT64_MAX, 20), UINT64_MAX); /* for ever */
	ck_assert_uint_eq(ring_time(UINT64_MAX - 5, 20), UINT64_MAX - 5);
	ck_assert_uint_eq(ring_time(5, INT64_MIN), 5);
}
END_TEST

/* Every type of record: only its times change. */
START_TEST(records)
{
	for (uint32_t type = 0; type <= RING_TYPES; type++) {
		union ring_any r, want;

		memset(&r, 0x5a, sizeof r);
		r.r.type = type;
		want = r;
		switch (type) {
		case RING_KERNEL:
			want.kernel.start_ns += 9, want.kernel.end_ns += 9;
			break;
		case RING_COPY:
		case RING_SET:
			want.copy.start_ns += 9, want.copy.end_ns += 9;
			break;
		case RING_SYNC:
			want.sync.start_ns += 9, want.sync.end_ns += 9;
			break;
		case RING_GRAPH:
			want.graph.start_ns += 9, want.graph.end_ns += 9;
			break;
		case RING_MEMORY:
			want.memory.time_ns += 9;
			break;
		case RING_WINDOW:
			want.window.time_ns += 9;
			break;
		}
		ring_shift(&r, 9);
		ck_assert_mem_eq(&r, &want, sizeof r);
	}
}
END_TEST

START_TEST(own)
{
	int64_t ns = 42;
	struct err err = { 0 };

	ck_assert_int_eq(time_space_ahead(getpid(), &ns, &err), 0);
	ck_assert_int_eq(ns, 0);
}
END_TEST

UNIT_MAIN("time-space", texts, times, records, own)
