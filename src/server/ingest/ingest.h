/* server/ingest/ingest.h: batches on their way into a tenant's store.
 *
 * A thread commits. Batches that arrive during a commit go together into the next one, so all of
 * them share one sync. The caller that gave a batch is told when it is synced, or its error: a
 * batch that the store refuses does not affect the others. */
#ifndef CRESSET_SERVER_INGEST_INGEST_H
#define CRESSET_SERVER_INGEST_INGEST_H

#include "base/err.h"
#include "store/codec/store.h"

#include <stddef.h>

enum { INGEST_AT_ONCE = 64 }; /* limit: batches of one commit */

struct ingest_batch {
	struct store_batch batch;
	int rc; /* this and what follows: the result of store_ingest */
	bool duplicate;
	uint64_t expired;
	struct err err;
	void (*done)(struct ingest_batch *b); /* called on the committing thread */
	struct ingest_batch *next;
};

struct ingest;
int ingest_start(struct store *store, struct ingest **out, struct err *err);
/* Commits the waiting batches and stops. NULL is fine. */
void ingest_stop(struct ingest *g);

/* b stays the caller's until done is called for it, which always happens. */
void ingest_put(struct ingest *g, struct ingest_batch *b);

#endif
