/* agent/up.h: the always-on profiler: a supervisor and its two processes.
 *
 *     supervise.c    forks both, joins them by a socket, restarts what dies
 *     collecting.c   the collector: privileged; samples go to the store process every interval
 *     attaching.c    its part, and a process, for programs that are to get the GPU library
 *     keeping.c      the store process: has no privilege; keeps what comes, and finds its names
 *     sending.c      the sending process of `cresset agent`, in its place: a spool, and a server far away
 *     taking.c       the loop of these two
 *
 * The two share nothing but the socket (agent/wire.h). What one of them had promised survives the other's death: a batch is acknowledged
 * when it is synced, and sent again until then. */
#ifndef CRESSET_AGENT_UP_H
#define CRESSET_AGENT_UP_H

#include "agent/name_guard.h"
#include "base/err.h"
#include "base/sandbox.h"
#include "collect/collect.h"
#include "format/otlp.h"
#include "store/store.h"

#include <stdint.h>
#include <sys/types.h>

/* What answers queries, in the store process. */
struct up_server {
	/* Before files are out of reach: loads libraries. */
	int (*load)(void *ctx, struct err *err);
	/* Enters the sandbox altogether before anything is answered. */
	int (*start)(void *ctx, struct store *store, const struct name_guard *guard,
		     struct sandbox *sandbox, struct err *err);
	/* All is recorded and kept from here on: where to look. Again after the store process was started again. */
	void (*say)(void *ctx);
	void (*stop)(void *ctx);
	void *ctx;
	const char *read_dir; /* that it reads files of; NULL: none */
};

/* Where `cresset agent` sends to, in place of a store. */
struct up_target {
	const char *url; /* NULL: what is collected is stored here */
	const char *ca_file;
	const char *token;      /* NULL: none, or in a file */
	const char *token_file; /* read by the supervisor, again when it changes and on SIGHUP */
	bool names_there;       /* the server names frames, by symbol tables that it gets */
	const struct otlp_attribute *resource;
	size_t n_resource;
	uint64_t spool_bytes; /* in data_dir */
};

/* Which programs get the GPU library by themselves (agent/attaching.h). */
struct up_attach {
	struct series_hook takes; /* of the labels of their GPU time; apply NULL: none */
	const char *library;      /* its file */
	uint32_t forced;          /* gpu_attach_opts.forced */
};

/* The processes, as bits. */
enum { UP_COLLECTOR = 1, UP_KEEPER = 2 };

/* On SIGHUP: changes the options that up_run was given, and says which processes have to begin again with them. */
struct up_reload {
	unsigned (*read)(void *ctx);
	void *ctx;
};

/* Said once, when both processes are ready for the first time. */
struct up_ready {
	void (*say)(void *ctx); /* may be NULL */
	void *ctx;
};

struct up_opts {
	struct collect_opts collect;
	struct up_attach attach;
	struct store_opts store;
	struct up_target target;
	const char *data_dir;
	uint64_t interval_ns; /* a batch each */
	uid_t uid;            /* of the store process */
	gid_t gid;
	struct up_server server; /* start NULL: none */
	struct up_reload reload; /* read NULL: nothing happens */
	struct up_ready ready;
};

/* Until SIGINT or SIGTERM. 0, or -errno, with what went wrong printed. */
int up_run(const struct up_opts *opts);

/* All return 0 or -errno, with what went wrong printed. control: from the supervisor; guard: for who names. */
int collecting_run(const struct up_opts *opts, struct name_guard *guard, int control);
int keeping_run(const struct up_opts *opts, struct name_guard *guard, int control);
int sending_run(const struct up_opts *opts, struct name_guard *guard, int control);

#endif
