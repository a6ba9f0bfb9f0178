/* agent/up.h: the always-on profiler: a supervisor and its two processes.
 *
 *     supervise.c    forks both, joins them by a socket, restarts what dies
 *     collecting.c   the collector: privileged; samples go to the store process every interval
 *     keeping.c      the store process: has no privilege; keeps what comes, and finds its names
 *
 * The two share nothing but the socket (agent/wire.h). What one of them had promised survives the other's death: a batch is acknowledged
 * when it is synced, and sent again until then. */
#ifndef CRESSET_AGENT_UP_H
#define CRESSET_AGENT_UP_H

#include "base/err.h"
#include "collect/collect.h"
#include "store/store.h"

#include <stdint.h>
#include <sys/types.h>

/* What answers queries, in the store process. */
struct up_server {
	int (*start)(void *ctx, struct store *store, struct err *err);
	void (*stop)(void *ctx);
	void *ctx;
};

struct up_opts {
	struct collect_opts collect;
	struct store_opts store;
	const char *data_dir;
	uint64_t interval_ns; /* a batch each */
	uid_t uid;            /* of the store process */
	gid_t gid;
	struct up_server server; /* start NULL: none */
};

/* Until SIGINT or SIGTERM. 0, or -errno, with what went wrong printed. */
int up_run(const struct up_opts *opts);

/* Both return 0 or -errno, with what went wrong printed. control: from the supervisor. */
int collecting_run(const struct up_opts *opts, int control);
int keeping_run(const struct up_opts *opts, int control);

/* Gives up every privilege for good. */
int privileges_drop(uid_t uid, gid_t gid, struct err *err);

#endif
