/* A program that leaks, and has a cache that fills, memory from its start, and memory that comes and goes.
 *
 *     leaks SECONDS
 *
 * Each 10 ms: leaks() allocates 200 kB, which stay; caches() puts 1 MB into a cache of 128 MB; passes() frees its 16 MB and allocates them again, a
 * part each time. Prints the bytes that leaks() has allocated, per hour. */
// build: -O1 -g
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	LEAK = 20000,
	LEAKS = 10,
	CACHED = 50000,
	CACHE = 2560,
	CACHES = 20,
	KEPT = 64 << 20,
	PASSING = 16000,
	PASSES = 1000
};

static void *kept, *cache[CACHE], *passing[PASSES];
static size_t cached, passed;
static void *volatile lost;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void keeps(void)
{
	kept = malloc(KEPT);
	memset(kept, 1, KEPT);
}

__attribute__((noinline)) static size_t leaks(void)
{
	for (int i = 0; i < LEAKS; i++)
		lost = malloc(LEAK);
	return (size_t)LEAK * LEAKS;
}

__attribute__((noinline)) static void caches(void)
{
	for (int i = 0; i < CACHES; i++) {
		void **place = &cache[cached++ % CACHE];

		free(*place);
		*place = malloc(CACHED);
	}
}

__attribute__((noinline)) static void passes(void)
{
	for (int i = 0; i < 100; i++) {
		void **place = &passing[passed++ % PASSES];

		free(*place);
		*place = malloc(PASSING);
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 60, start_s, end_s;
	size_t bytes = 0;

	keeps();
	start_s = now_s();
	do {
		bytes += leaks();
		caches();
		passes();
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		end_s = now_s();
	} while (end_s < start_s + seconds);
	printf("%.0f\n", (double)bytes / (end_s - start_s) * 3600);
	return 0;
}
