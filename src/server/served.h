/* server/served.h: what is served: a file in memory, or a store in a folder, which another process may be writing.
 *
 * A query leases a source. Of a store each lease is a view of its own, so what was added meanwhile is there. A file is one source that
 * queries write strings into: they take turns. */
#ifndef CRESSET_SERVER_SERVED_H
#define CRESSET_SERVER_SERVED_H

#include "query/ask.h"
#include "query/source.h"

#include <pthread.h>
#include <stdbool.h>

struct served {
	bool is_open;
	const char *path;
	struct profile *file; /* NULL: a store */
	struct store *_Atomic
		store; /* that this process has open, in place of path; NULL: none, or not yet */
	struct source *source;
	pthread_mutex_t turn;
	pthread_mutex_t
		sql_turn; /* SQLite's memory is counted by process: one statement at a time */
};

/* What to serve: the last three are the caller's, and all but one NULL. Tries a lease. */
int served_open(struct served *d, const char *path, struct profile *file, struct store *store,
		struct err *err);
void served_close(struct served *d);

int served_lease(struct served *d, struct source **out, struct err *err);
void served_return(struct served *d, struct source *s); /* NULL is fine */

#endif
