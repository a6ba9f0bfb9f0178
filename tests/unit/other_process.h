/* tests/unit/other_process.h: how far another process is: tests wait for that, and measure by its CPU time, which a busy machine takes longer for. */
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

/* Its main thread waits for something. */
static inline bool process_waits(pid_t pid)
{
	char path[64], text[512] = "";

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	size_t n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = 0;
	const char *name_end = strrchr(text, ')'); /* the name may have anything in it */
	return name_end && name_end[1] == ' ' && name_end[2] == 'S';
}

#endif
