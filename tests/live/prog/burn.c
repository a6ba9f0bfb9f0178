/* burn NAME CPU_SECONDS [EXIT]: calls itself NAME and uses exactly so much CPU time in burn_loop, called by burn_outer.
 * Prints the CPU time it really used, in ns, on standard output.
 * Built with frame pointers, so that its stacks are known: main → burn_outer → burn_loop. */
// build: -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

__attribute__((noinline)) static uint64_t burn_loop(uint64_t n)
{
	volatile uint64_t x =
		n; /* on the stack: gcc gives leaf functions without stack use no frame */

	for (uint64_t i = 0; i < n; i++)
		x = x * 6364136223846793005ull + 1442695040888963407ull;
	return x;
}

__attribute__((noinline)) uint64_t burn_outer(uint64_t until_ns)
{
	uint64_t x = 0;

	while (cpu_ns() < until_ns)
		x += burn_loop(2000000);
	return x;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	prctl(PR_SET_NAME, argv[1]);
	burn_outer(strtod(argv[2], NULL) * 1e9);
	printf("%llu\n", (unsigned long long)cpu_ns());
	return argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0;
}
