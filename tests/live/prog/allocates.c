/* A program with a single thread that allocates all the time (allocates.h).
 *
 *     allocates HOW
 *
 *     loop       never waits; only malloc makes system calls
 *     parks      waits in poll after each 200 blocks, with what malloc left on its stack
 *     handler    a signal handler that waits in poll interrupts malloc, half of the time
 *     opens LIB  opens and closes a library with a constructor that waits, and does something else in between */
// build: -O2 -g -rdynamic
#include "allocates.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

enum { BLOCKS = 64, ROUND = 200, LARGE = 100000 };

static struct block {
	unsigned char *p;
	size_t size;
} blocks[BLOCKS];
static unsigned seed = 7;

static unsigned next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	return seed ^= seed << 5;
}

static void exchange(struct block *b)
{
	unsigned char mark = (unsigned char)(b - blocks);

	if (b->p && (b->p[0] != mark || b->p[b->size - 1] != mark))
		allocates_wrong = "a block of malloc has changed";
	free(b->p);
	b->size = 1 + next() % (next() % 64 ? 2000 : LARGE);
	b->p = malloc(b->size);
	b->p[0] = b->p[b->size - 1] = mark;
}

static void loop(void)
{
	for (int i = 0; i < ROUND; i++)
		exchange(&blocks[next() % BLOCKS]);
}

/* Calls on different depths leave words all over the stack. */
static __attribute__((noinline)) void at_depth(int depth)
{
	volatile char room[64];

	room[0] = (char)depth;
	if (depth)
		at_depth(depth - 1);
	exchange(&blocks[next() % BLOCKS]);
	room[1] = room[0];
}

static __attribute__((noinline)) void wait_above(void)
{
	volatile char room[4096]; /* not written: it has the words of those calls */

	room[0] = 0;
	poll(NULL, 0, 2);
	room[1] = room[0];
}

static void parks(void)
{
	for (int i = 0; i < ROUND / 20; i++)
		at_depth(i);
	wait_above();
}

static const struct itimerval once = { { 0, 0 }, { 0, 2000 } };

static void on_alarm(int sig)
{
	(void)sig;
	poll(NULL, 0, 2);
	setitimer(ITIMER_REAL, &once, NULL);
}

static void prepare_handler(void)
{
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &once, NULL);
}

static const char *library;

static void opens(void)
{
	void *h = dlopen(library, RTLD_NOW);

	if (!h || dlclose(h) != 0)
		allocates_wrong = "dlopen failed";
	for (volatile int i = 0; i < 1000000; i++)
		;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "parks") == 0)
		return allocates_run(parks);
	if (strcmp(argv[1], "opens") == 0 && argc > 2) {
		library = argv[2];
		return allocates_run(opens);
	}
	if (strcmp(argv[1], "handler") == 0)
		prepare_handler();
	return allocates_run(loop);
}
