/* sleepers PROCESSES THREADS US: so many children that wait until they are ended, and threads of this process that wait US µs again and again,
 * some calls deep. Prints a line when all are there; ends with its standard input, and its children with it. */
// build: -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { STACK_BYTES = 256 << 10, DEPTH = 20 };

static useconds_t wait_us;

static __attribute__((noinline)) int sleep_deep(int depth)
{
	volatile int left = depth;

	if (left)
		return sleep_deep(left - 1) + left;
	for (;;)
		usleep(wait_us);
}

static void *thread_main(void *unused)
{
	(void)unused;
	sleep_deep(DEPTH);
	return NULL;
}

int main(int argc, char **argv)
{
	int processes = argc > 1 ? atoi(argv[1]) : 0, threads = argc > 2 ? atoi(argv[2]) : 0;
	pthread_attr_t small;
	pthread_t t;

	wait_us = argc > 3 ? strtoul(argv[3], NULL, 10) : 1000000;
	for (int i = 0; i < processes; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&t, &small, thread_main, NULL))
			return 1;
	puts("there");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
