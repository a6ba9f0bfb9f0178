/* Lives for about 5 ms, all of them in short_work. Without PLT stubs, which have no symbol. */
// build: -O1 -fno-omit-frame-pointer -fno-plt
#include <stdint.h>
#include <time.h>

__attribute__((noinline)) static int short_work(uint64_t ns)
{
	struct timespec t;
	uint64_t start = 0, now;
	int rounds = 0;

	do {
		for (volatile int i = 0; i < 5000; i++)
			;
		clock_gettime(CLOCK_MONOTONIC, &t);
		now = t.tv_sec * 1000000000ull + t.tv_nsec;
		start = start ? start : now;
		rounds++;
	} while (now - start < ns);
	return rounds;
}

int main(void)
{
	return short_work(5000000) < 0;
}
