/* server/tenant.h: the tenants whose data are served. Each tenant that tokens name has a directory
 * and a separate store; without tokens there is only the tenant without a name.
 *
 *     DIR                  the store of the tenant without a name
 *     DIR/tenants/NAME     that of another one
 *
 * A store is opened for writing once, and stays open: requests read views of it. One thread
 * maintains all stores. If the disk is too full to open a store for writing, its data are shown,
 * nothing can be added, and the thread opens it when space is available. */
#ifndef CRESSET_SERVER_TENANT_H
#define CRESSET_SERVER_TENANT_H

#include "server/ingest/senders.h"

#include <pthread.h>
#include <stdbool.h>

struct err;
struct server_opts;

/* limit TENANTS_MAX: tenants */
enum { TENANTS_MAX = 64, TENANT_NAME_MAX = 64 };

/* What is served: a file in memory, or a store in a directory, which another process may be
 * writing.
 *
 * A query leases a source. For a store, each lease is a new view, with all data added in the
 * meantime. A file is one source that queries write strings into, so they take turns. */
struct data_source {
	bool is_open;
	const char *path;
	struct profile *file;        /* NULL: a store */
	struct store *_Atomic store; /* opened here, in place of path; NULL: none, or not yet */
	struct source *source;
	pthread_mutex_t turn;
	pthread_mutex_t sql_turn; /* SQLite counts memory per process: one statement at a time */
};

int data_source_acquire(struct data_source *d, struct source **out, struct err *err);
void data_source_release(struct data_source *d, struct source *s); /* NULL is fine */

struct tenant {
	struct tenant *next;
	char *name, *dir; /* dir: NULL for a file, or a store of the caller's */
	struct data_source data;
	/* These are set later if the disk was full at first: each stays once it is not NULL; ingest
	 * is the last. */
	struct store *_Atomic own;       /* opened here for writing; NULL: none */
	struct symbols *_Atomic symbols; /* NULL: none are retained */
	struct ingest *_Atomic ingest;   /* into its store; NULL: nothing can be added */
	bool wants_own;       /* … and failed: another process writes it, or the disk is full */
	_Atomic bool is_full; /* the disk is full */
	uint64_t again_ns;    /* when to try again */
	bool is_failing;      /* maintenance fails, and this was logged */
	struct senders senders;
};

struct tenants;
/* share: number of stores that share the memory. */
int tenants_open(const struct server_opts *opts, uint32_t share, struct tenants **out,
		 struct err *err);
/* Opens the tenant's data, if they are not open yet. */
int tenants_add(struct tenants *t, const char *name, struct err *err);
/* Returns NULL if it is not open. */
struct tenant *tenants_find(struct tenants *t, const char *name);
/* Commits and completes waiting batches; no more are accepted. */
void tenants_stop_ingest(struct tenants *t);
/* Nothing may still use them. Acknowledged data are on the disk. NULL is fine. */
void tenants_close(struct tenants *t);

/* Returns the tenant without a name. */
struct tenant *tenants_first(struct tenants *t);

/* Returns the store that can be added to, or NULL if it is read-only. */
static inline struct store *tenant_store(const struct tenant *t)
{
	return t->own ? t->own : t->data.store;
}

#endif
