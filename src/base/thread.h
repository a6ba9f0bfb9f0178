/* base/thread.h: threads of the program's own work. */
#ifndef CRESSET_BASE_THREAD_H
#define CRESSET_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

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

#endif
