/* parts CPU_SECONDS SLOWER: uses so much CPU time in rounds of half_work, some_work and more_work, which take 2 : 1 : 1 of it, but
 * half_work the factor SLOWER longer. Rounds are of different lengths, so that none goes in step with a sampler. */
// build: -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { UNIT_LEAST = 200000, UNIT_RANGE = 400000 };

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* The same code in each, apart from its name. */
#define WORK(name) \
	__attribute__((noinline)) void name(uint64_t n) \
	{ \
		volatile uint64_t x = n; \
\
		for (uint64_t i = 0; i < n; i++) \
			x = x * 6364136223846793005ull + 1442695040888963407ull; \
	}
void half_work(uint64_t n);
void some_work(uint64_t n);
void more_work(uint64_t n);
WORK(half_work)
WORK(some_work)
WORK(more_work)

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	double seconds = strtod(argv[1], NULL), slower = strtod(argv[2], NULL);
	while (cpu_seconds() < seconds) {
		uint64_t unit = UNIT_LEAST + random() % UNIT_RANGE;
		half_work(2 * unit * slower);
		some_work(unit);
		more_work(unit);
	}
	return 0;
}
