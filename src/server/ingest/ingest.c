/* A queue of batches, and a thread that commits them in groups. */
#include "server/ingest/ingest.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct ingest {
	pthread_mutex_t lock;
	pthread_cond_t more;
	pthread_t thread;
	bool ends;
	struct store *store;
	struct ingest_batch *first, **last; /* waiting, in order of arrival */
};

/* Takes the oldest waiting batches; waits until there are any. Returns their number, or 0 at the
 * end. */
static size_t take(struct ingest *g, struct ingest_batch **out)
{
	size_t n = 0;
	pthread_mutex_lock(&g->lock);
	while (!g->first && !g->ends)
		pthread_cond_wait(&g->more, &g->lock);
	for (; n < INGEST_AT_ONCE && g->first; g->first = g->first->next)
		out[n++] = g->first;
	if (!g->first)
		g->last = &g->first;
	pthread_mutex_unlock(&g->lock);
	return n;
}

static void commit(struct ingest *g, struct ingest_batch **all, size_t n)
{
	struct store_batch batches[INGEST_AT_ONCE];
	bool duplicate[INGEST_AT_ONCE];
	for (size_t i = 0; i < n; i++)
		batches[i] = all[i]->batch;
	int rc = n > 1 ? store_ingest(g->store, batches, n, duplicate, NULL) : -1;
	for (size_t i = 0; i < n; i++) {
		struct ingest_batch *b = all[i];
		b->duplicate = rc == 0 && duplicate[i];
		b->rc = rc ? store_ingest(g->store, &b->batch, 1, &b->duplicate, &b->err) : 0;
	}
}

static void *run(void *ctx)
{
	struct ingest *g = ctx;
	struct ingest_batch *all[INGEST_AT_ONCE];
	for (size_t n; (n = take(g, all));) {
		commit(g, all, n);
		for (size_t i = 0; i < n; i++)
			all[i]->done(all[i]);
	}
	return NULL;
}

int ingest_start(struct store *store, struct ingest **out, struct err *err)
{
	struct ingest *g = xcalloc(1, sizeof *g);
	g->store = store;
	g->last = &g->first;
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->more, NULL);
	int rc = pthread_create(&g->thread, NULL, run, g);
	if (rc) {
		pthread_mutex_destroy(&g->lock);
		pthread_cond_destroy(&g->more);
		free(g);
		return err_set(err, rc, "cannot start a thread: %s", strerror(rc));
	}
	*out = g;
	return 0;
}

void ingest_stop(struct ingest *g)
{
	if (!g)
		return;
	pthread_mutex_lock(&g->lock);
	g->ends = true;
	pthread_cond_signal(&g->more);
	pthread_mutex_unlock(&g->lock);
	pthread_join(g->thread, NULL);
	pthread_mutex_destroy(&g->lock);
	pthread_cond_destroy(&g->more);
	free(g);
}

void ingest_put(struct ingest *g, struct ingest_batch *b)
{
	b->next = NULL;
	b->batch.expired = &b->expired;
	pthread_mutex_lock(&g->lock);
	*g->last = b;
	g->last = &b->next;
	pthread_cond_signal(&g->more);
	pthread_mutex_unlock(&g->lock);
}
