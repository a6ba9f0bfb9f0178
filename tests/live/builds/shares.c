/* shares CPU_MS: half of that CPU time in alpha → work, three tenths in beta → gamma → work, two tenths in delta → work; in rounds of 25
 * to 50 ms, whatever the machine and the compiler: no period comes near that of the sampling. */
#include <stdlib.h>
#include <time.h>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

volatile unsigned sink;

void work(int n);
void alpha(int n);
void beta(int n);
void gamma_(int n);
void delta(int n);
void run(int cpu_ms);

APART void work(int n)
{
	for (int i = 0; i < n * 1000; i++)
		sink = sink * 3 + 1;
}
APART void alpha(int n)
{
	work(5 * n);
	sink = sink + 1;
}
APART void gamma_(int n)
{
	volatile char room[200];

	room[n & 63] = 1;
	work(3 * n);
	sink = sink + room[n & 63];
}
APART void beta(int n)
{
	gamma_(n);
	sink = sink + 2;
}
APART void delta(int n)
{
	work(2 * n);
	sink = sink + 3;
}
APART void run(int cpu_ms)
{
	clock_t begin = clock(), now = begin, before;
	int n = 40;

	while (now - begin < cpu_ms * (CLOCKS_PER_SEC / 1000)) {
		alpha(n);
		beta(n);
		delta(n);
		before = now;
		now = clock();
		if (now - before < CLOCKS_PER_SEC / 40)
			n *= 2;
	}
	sink = sink + 4;
}

int main(int argc, char **argv)
{
	run(argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5000);
	return 0;
}
