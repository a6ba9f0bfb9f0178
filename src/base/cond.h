/* base/cond.h: condition variables with a deadline on clock_mono_ns(). */
#ifndef CRESSET_BASE_COND_H
#define CRESSET_BASE_COND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

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
