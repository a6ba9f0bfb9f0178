/* gaps SECONDS: reads the cycle counter in a loop and prints the share of time, in percent, that went by in gaps of more than a
 * microsecond between two readings: interrupts and other programs. */
// build: -O2
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

static uint64_t clock_mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static double cycles_per_ns(void)
{
	uint64_t t0 = clock_mono_ns(), c0 = __rdtsc();

	while (clock_mono_ns() - t0 < 50000000)
		;
	return (double)(__rdtsc() - c0) / (clock_mono_ns() - t0);
}

int main(int argc, char **argv)
{
	double rate = cycles_per_ns();
	uint64_t span = (argc > 1 ? strtod(argv[1], NULL) : 1) * 1e9 * rate, gap = 1000 * rate,
		 lost = 0;
	uint64_t start = __rdtsc(), last = start, now;

	do {
		now = __rdtsc();
		if (now - last > gap)
			lost += now - last;
		last = now;
	} while (now - start < span);
	printf("%.4f\n", 100.0 * lost / (now - start));
	return 0;
}
