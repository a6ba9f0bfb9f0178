/* base/thread.h: threads of the program's own work, and condition variables with a deadline on
 * clock_mono_ns(). */
#ifndef CRESSET_BASE_THREAD_H
#define CRESSET_BASE_THREAD_H

#include "base/clock.h"

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

/* Joins the thread if it ends within that time, whatever the wall clock does. Otherwise it is
 * detached, and all it uses must stay: a file system or another process makes it wait, maybe for
 * ever. */
static inline bool thread_join_within(pthread_t thread, uint64_t ns)
{
	static const struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t end_ns = clock_mono_ns() + ns;

	while (pthread_tryjoin_np(thread, NULL)) {
		if (clock_mono_ns() >= end_ns) {
			pthread_detach(thread);
			return false;
		}
		nanosleep(&pause, NULL);
	}
	return true;
}

static inline void cond_init(pthread_cond_t *c)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(c, &attr);
	pthread_condattr_destroy(&attr);
}

/* Returns false after the deadline. */
static inline bool cond_wait_until(pthread_cond_t *c, pthread_mutex_t *lock, uint64_t at_ns)
{
	const struct timespec until = { .tv_sec = (time_t)(at_ns / 1000000000),
					.tv_nsec = (long)(at_ns % 1000000000) };

	return pthread_cond_timedwait(c, lock, &until) == 0;
}

#endif
