/* A pool of threads with a queue. */
#include "server/server_state.h"

#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct workers {
	pthread_mutex_t lock;
	pthread_cond_t more;
	void (*run)(void *work);
	void **queue; /* [max_waiting], a ring buffer */
	uint32_t max_waiting, first, n;
	bool ends;
	uint32_t n_threads;
	pthread_t threads[];
};

/* Returns NULL at the end. */
static void *next_work(struct workers *w)
{
	void *work = NULL;
	pthread_mutex_lock(&w->lock);
	while (!w->n && !w->ends)
		pthread_cond_wait(&w->more, &w->lock);
	if (w->n) {
		work = w->queue[w->first];
		w->first = (w->first + 1) % w->max_waiting;
		w->n--;
	}
	pthread_mutex_unlock(&w->lock);
	return work;
}

static void *work_on(void *ctx)
{
	struct workers *w = ctx;
	for (void *work; (work = next_work(w));)
		w->run(work);
	return NULL;
}

int workers_start(uint32_t threads, uint32_t max_waiting, void (*run)(void *work),
		  struct workers **out, struct err *err)
{
	struct workers *w = xcalloc(1, sizeof *w + threads * sizeof *w->threads);
	int rc = 0;
	w->run = run;
	w->max_waiting = max_waiting;
	w->queue = xcalloc(max_waiting, sizeof *w->queue);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	for (; w->n_threads < threads && rc == 0; w->n_threads += rc == 0)
		rc = pthread_create(&w->threads[w->n_threads], NULL, work_on, w);
	if (rc) {
		workers_stop(w);
		workers_free(w);
		return err_set(err, rc, "cannot start a thread: %s", strerror(rc));
	}
	*out = w;
	return 0;
}

bool workers_put(struct workers *w, void *work)
{
	pthread_mutex_lock(&w->lock);
	bool fits = w->n < w->max_waiting && !w->ends;
	if (fits)
		w->queue[(w->first + w->n++) % w->max_waiting] = work;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	return fits;
}

uint32_t workers_waiting(struct workers *w)
{
	pthread_mutex_lock(&w->lock);
	uint32_t n = w->n;
	pthread_mutex_unlock(&w->lock);
	return n;
}

void workers_stop(struct workers *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->ends = true;
	pthread_cond_broadcast(&w->more);
	pthread_mutex_unlock(&w->lock);
	for (uint32_t i = 0; i < w->n_threads; i++)
		pthread_join(w->threads[i], NULL);
	w->n_threads = 0;
}

void workers_free(struct workers *w)
{
	if (!w)
		return;
	pthread_cond_destroy(&w->more);
	pthread_mutex_destroy(&w->lock);
	free(w->queue);
	free(w);
}
