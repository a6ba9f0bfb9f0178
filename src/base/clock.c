/* Wrappers of clock_gettime(), and the offset between the monotonic and the wall clock. */
#include "base/clock.h"

#include <time.h>

enum { OFFSET_READINGS = 8 };

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts = { 0 };
	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + ts.tv_nsec;
}

uint64_t clock_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t clock_wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

uint64_t clock_boot_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

/* Reads the wall clock between two readings of the other clock, several times; the closest pair is
 * the least disturbed. */
int64_t clock_wall_offset_ns(void)
{
	uint64_t best_gap = UINT64_MAX;
	int64_t offset_ns = 0;
	for (int i = 0; i < OFFSET_READINGS; i++) {
		uint64_t before = clock_mono_ns();
		uint64_t wall = clock_wall_ns();
		uint64_t gap = clock_mono_ns() - before;
		if (gap >= best_gap)
			continue;
		best_gap = gap;
		offset_ns = (int64_t)(wall - before - gap / 2);
	}
	return offset_ns;
}

uint64_t clock_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_thread_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
