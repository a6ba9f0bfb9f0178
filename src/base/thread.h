/* base/thread.h: threads of the program's own work. */
#ifndef CRESSET_BASE_THREAD_H
#define CRESSET_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Signals are blocked in the thread: they are for the main thread. Returns 0 or an errno. */
static inline int thread_start(pthread_t *thread, void *(*run)(void *), void *ctx)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(thread, NULL, run, ctx);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

/* Joins the thread if it ends within that time. Otherwise it is detached, and all it uses must
 * stay: a file system or another process makes it wait, maybe for ever. */
static inline bool thread_join_within(pthread_t thread, uint64_t ns)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	ns += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(ns / 1000000000);
	until.tv_nsec = (long)(ns % 1000000000);
	if (pthread_timedjoin_np(thread, NULL, &until) == 0)
		return true;
	pthread_detach(thread);
	return false;
}

#endif
