/* server/ingest.h: batches on their way into a tenant's store.
 *
 * A thread commits. What comes while it does goes together into the next commit, so the disk's sync is paid once for all that wait for it.
 * Who gave a batch is told when it is synced, or what was wrong with it: one that the store refuses does not take others along. */
#ifndef CRESSET_SERVER_INGEST_H
#define CRESSET_SERVER_INGEST_H

#include "base/err.h"
#include "store/store.h"

enum { INGEST_AT_ONCE = 64 }; /* batches of one commit */

struct ingest_batch {
	struct store_batch batch;
	int rc; /* and what follows: what store_ingest said of it */
	bool duplicate;
	uint64_t expired;
	struct err err;
	void (*done)(struct ingest_batch *b); /* on the thread that commits */
	struct ingest_batch *next;
};

struct ingest;
int ingest_start(struct store *store, struct ingest **out, struct err *err);
/* Commits what waits, and ends. NULL is fine. */
void ingest_stop(struct ingest *g);

/* b stays the caller's until done is called for it, which it is in any case. */
void ingest_put(struct ingest *g, struct ingest_batch *b);

#endif
