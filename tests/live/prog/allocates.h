/* The frame of programs with a single thread that allocates all the time. A library is attached to them, and they check themselves for any change.
 *
 * They say "ready". SIGUSR1 makes them print "COUNT attached, ok", or the first error, and SIGTERM end, with 1 after an error. */
#ifndef LIVE_ALLOCATES_H
#define LIVE_ALLOCATES_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
int attached_count, attached_badly;
#ifdef __cplusplus
}
#endif

static const char *allocates_wrong;
static volatile sig_atomic_t allocates_asked;

static void allocates_on_signal(int sig)
{
	allocates_asked = sig;
}

static void allocates_answer(void)
{
	int sig = allocates_asked;

	allocates_asked = 0;
	if (attached_badly)
		allocates_wrong = "the loading thread had other signals blocked than promised";
	printf("%d attached, %s\n", __atomic_load_n(&attached_count, __ATOMIC_SEQ_CST),
	       allocates_wrong ? allocates_wrong : "ok");
	fflush(stdout);
	if (sig == SIGTERM)
		_Exit(allocates_wrong != NULL);
}

/* Calls work for ever. */
static int allocates_run(void (*work)(void))
{
	struct sigaction sa;

	memset(&sa, 0, sizeof sa);
	sa.sa_handler = allocates_on_signal;
	sa.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	puts("ready");
	fflush(stdout);
	for (;;) {
		work();
		if (allocates_asked)
			allocates_answer();
	}
	return 0;
}

#endif
