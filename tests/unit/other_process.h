/* tests/unit/other_process.h: the progress of another process, for tests that wait for it and measure by its CPU time, which takes longer on a busy
 * machine. */
#ifndef CRESSET_TESTS_OTHER_PROCESS_H
#define CRESSET_TESTS_OTHER_PROCESS_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

/* CPU time of all its threads so far. */
static inline uint64_t process_cpu_ns(pid_t pid)
{
	clockid_t clock;
	struct timespec t;

	ck_assert_int_eq(clock_getcpuclockid(pid, &clock), 0);
	ck_assert_int_eq(clock_gettime(clock, &t), 0);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Whether its main thread sleeps. */
static inline bool process_waits(pid_t pid)
{
	char path[64], text[512] = "";

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	size_t n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = 0;
	const char *name_end = strrchr(text, ')'); /* the name may contain anything */
	return name_end && name_end[1] == ' ' && name_end[2] == 'S';
}

#endif
