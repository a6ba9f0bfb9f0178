/* cpu_shares SECONDS: w_a uses twice the CPU time of w_b by the thread's clock, so the shares are the same wherever the compiler and the loader have
 * placed the code: a loop may take longer at one address than at another. It has pauses and page faults, and ends after SECONDS. */
// build: -O1
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sum;

static int64_t clock_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000ll + t.tv_nsec / 1000;
}

#define WORK(function) \
	__attribute__((noinline)) void function(int64_t us) \
	{ \
		const int64_t until = clock_us(CLOCK_THREAD_CPUTIME_ID) + us; \
\
		while (clock_us(CLOCK_THREAD_CPUTIME_ID) < until) \
			for (int i = 0; i < 20000; i++) \
				sum += i * i; \
	}
WORK(w_a)
WORK(w_b)

__attribute__((noinline)) static void w_fault(void)
{
	char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; p != MAP_FAILED && i < 256; i++)
		p[i * 4096] = 1;
	if (p != MAP_FAILED)
		munmap(p, 1 << 20);
}

int main(int argc, char **argv)
{
	const int64_t until =
		clock_us(CLOCK_MONOTONIC) + (argc > 1 ? (int64_t)(atof(argv[1]) * 1e6) : 0);

	do {
		w_a(4000);
		w_fault();
		w_b(2000);
		usleep(1000);
	} while (clock_us(CLOCK_MONOTONIC) < until);
	return 0;
}
