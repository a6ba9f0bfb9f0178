/* heap_load: a program that allocates 50 MB a second in blocks of 20 kB and retains 20 MB: some 100 sampled allocations a second.
 *
 *     heap_load SECONDS */
#include <stdlib.h>
#include <time.h>

enum { BLOCK = 20000, BLOCKS = 1000, EACH = 25 };

static void *held[BLOCKS];

int main(int argc, char **argv)
{
	long steps = 100 * (argc > 1 ? atol(argv[1]) : 60);
	size_t n = 0;

	for (long i = 0; i < steps; i++) {
		for (int k = 0; k < EACH; k++, n++) {
			free(held[n % BLOCKS]);
			held[n % BLOCKS] = malloc(BLOCK);
		}
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	return 0;
}
