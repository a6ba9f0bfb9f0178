/* deep FRAMES CPU_SECONDS: recurses through deep_frame FRAMES times, then burns in deep_leaf. */
// build: -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-inline
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) int deep_leaf(double seconds)
{
	volatile uint64_t x = 0;

	while (clock() < seconds * CLOCKS_PER_SEC)
		for (int i = 0; i < 100000; i++)
			x += i;
	return (int)x;
}

__attribute__((noinline)) int deep_frame(int left, double seconds)
{
	volatile int r;

	if (left <= 1)
		r = deep_leaf(seconds);
	else
		r = deep_frame(left - 1, seconds);
	return r + 1;
}

int main(int argc, char **argv)
{
	struct rlimit big = { 1 << 26, RLIM_INFINITY };

	if (argc < 3)
		return 2;
	if (argc == 3) { /* once more with room for the stack */
		setrlimit(RLIMIT_STACK, &big);
		char *again[] = { argv[0], argv[1], argv[2], "again", NULL };
		execv("/proc/self/exe", again);
	}
	return deep_frame((int)strtol(argv[1], NULL, 10), strtod(argv[2], NULL)) == 0;
}
