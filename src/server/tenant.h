/* server/tenant.h: whose data is served: a folder each, with a store of its own, for each tenant that tokens name; and the one without a
 * name, which is all there is without tokens.
 *
 *     DIR                  the store of the tenant without a name
 *     DIR/tenants/NAME     that of another one
 *
 * A store is opened to write once, and stays open: requests look at views of it. A thread does what is due in all of them. Where the disk is so full
 * that it cannot be opened to write, it is shown as it is, nothing is added, and the thread opens it when there is room. */
#ifndef CRESSET_SERVER_TENANT_H
#define CRESSET_SERVER_TENANT_H

#include "server/ingest.h"
#include "server/senders.h"
#include "server/served.h"
#include "server/server.h"
#include "server/symbols.h"

#include <stdbool.h>

enum { TENANTS_MAX = 64, TENANT_NAME_MAX = 64 };

struct tenant {
	struct tenant *next;
	char *name, *dir; /* dir: NULL for a file, and a store of the caller's */
	struct served data;
	/* These come later where the disk was full at first: each is there, and stays, once it is not NULL; ingest is the last. */
	struct store *_Atomic own;       /* that we opened to write; NULL: none */
	struct symbols *_Atomic symbols; /* NULL: none are kept */
	struct ingest *_Atomic ingest;   /* into its store; NULL: nothing can be added */
	bool wants_own; /* … and could not: another process writes it, or the disk is full */
	_Atomic bool is_full; /* the latter */
	uint64_t again_ns;    /* when that is tried again */
	bool is_failing;      /* its maintenance, which was said */
	struct senders senders;
};

struct tenants;
/* share: how many stores the memory is for. */
int tenants_open(const struct server_opts *opts, uint32_t share, struct tenants **out,
		 struct err *err);
/* Opens what it has, when it is not open yet. */
int tenants_add(struct tenants *t, const char *name, struct err *err);
/* NULL: it is not open. */
struct tenant *tenants_find(struct tenants *t, const char *name);
/* Batches that wait are committed and answered; no more come. */
void tenants_stop_ingest(struct tenants *t);
/* Nothing of it is used any more. What was acknowledged is on the disk. NULL is fine. */
void tenants_close(struct tenants *t);

/* The one without a name. */
struct tenant *tenants_first(struct tenants *t);

/* The store that can be added to; NULL: it is only read. */
static inline struct store *tenant_store(const struct tenant *t)
{
	return t->own ? t->own : t->data.store;
}

#endif
