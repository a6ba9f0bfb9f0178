/* shares ROUNDS: half of the time in alpha → work, three tenths in beta → gamma → work, two tenths in delta → work. */
#include <stdlib.h>

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
void run(int rounds);

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
APART void run(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		alpha(2500);
		beta(2500);
		delta(2500);
	}
	sink = sink + 4;
}

int main(int argc, char **argv)
{
	run(argc > 1 ? (int)strtol(argv[1], NULL, 10) : 100);
	return 0;
}
