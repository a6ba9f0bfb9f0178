/* agent/up.h: the always-on profiler: a supervisor and its two processes.
 *
 *     supervise.c        forks both, connects them by a socket, restarts a process that dies
 *     collector_main.c   the collector: privileged; sends samples to the store process every
 *                        interval
 *     attaching.c        the collector's part that loads libraries into programs; a process
 *     store_main.c       the store process: unprivileged; stores batches and finds their names
 *     sender_main.c      replaces it in `cresset agent`: a spool, and a remote server
 *     ingest_loop.c      the main loop of these two
 *
 * The two share only the socket (agent/wire.h). Data survive the death of either: a batch is
 * acknowledged once it is synced, and is sent again until then. Both end when the supervisor dies:
 * acknowledged samples stay, samples of the current interval are lost. */
#ifndef CRESSET_AGENT_UP_H
#define CRESSET_AGENT_UP_H

#include "collect/collect.h"
#include "collect/proc/series_hook.h"
#include "store/codec/store.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct gpu_attach_library;
struct health;
struct name_guard;
struct sandbox;

/* Memory that the supervisor and its processes share; both may be NULL. */
struct up_shared {
	struct name_guard *guard; /* of the process that finds names */
	struct health *health;    /* of the collector */
};

/* The query server, in the store process. */
struct up_server {
	/* Loads libraries. Called before the sandbox closes off files. */
	int (*load)(void *ctx, struct err *err);
	/* Enters the sandbox completely before answering anything. */
	int (*start)(void *ctx, struct store *store, const struct up_shared *shared,
		     struct sandbox *sandbox, struct err *err);
	/* Prints where to look: from here on data are recorded and stored. Called again after each
	 * restart of the store process. */
	void (*say)(void *ctx);
	void (*stop)(void *ctx);
	void *ctx;
	const char *read_dir; /* directory whose files it reads; NULL: none */
	/* The listening socket, which start finds in ctx; the caller's. The supervisor has it all
	 * the time, so that the port stays taken while the store process restarts; the collector
	 * does not have it. 0: none */
	int socket;
};

/* The destination of `cresset agent`, in place of a store. */
struct up_target {
	const char *url; /* NULL: data are stored on this machine */
	const char *ca_file;
	const char *token;      /* NULL: none, or in token_file */
	const char *token_file; /* read by the supervisor, again when it changes and on SIGHUP */
	bool names_there;       /* the server names frames, from uploaded symbol tables */
	const struct otlp_attribute *resource;
	size_t n_resource;
	uint64_t spool_bytes; /* size limit of the spool in data_dir */
};

/* Which programs get a library automatically (agent/attaching.h). */
struct up_attach {
	/* Decides by the labels that samples of these events have; apply NULL: none. */
	struct series_hook takes;
	uint32_t events; /* enum collect_event */
	const struct gpu_attach_library *kind;
	const char *words;   /* "GPU library" */
	const char *library; /* its file */
	uint32_t forced;     /* gpu_attach_opts.forced */
};
enum { UP_ATTACH_GPU, UP_ATTACH_MEM, UP_ATTACHES };

/* The processes, as bits. */
enum { UP_COLLECTOR = 1, UP_KEEPER = 2 };

/* On SIGHUP: changes the options that were passed to up_run, and returns which processes must
 * restart with them. Options that take longer follow: later_fd returns a descriptor that is
 * readable then, or -1, and later changes them as read does. Both NULL: none do. */
struct up_reload {
	unsigned (*read)(void *ctx);
	int (*later_fd)(void *ctx);
	unsigned (*later)(void *ctx);
	void *ctx;
};

/* Called once, when both processes are ready for the first time. */
struct up_ready {
	void (*say)(void *ctx); /* may be NULL */
	void *ctx;
};

struct up_opts {
	struct collect_opts collect;
	struct up_attach attach[UP_ATTACHES];
	struct store_opts store;
	struct up_target target;
	const char *data_dir;
	uint64_t interval_ns; /* length of an interval, one batch each */
	uid_t uid;            /* of the store process */
	gid_t gid;
	struct up_server server; /* start NULL: none */
	struct up_reload reload; /* read NULL: nothing happens */
	struct up_ready ready;
};

/* Runs until SIGINT or SIGTERM. Returns 0, or -errno after printing the error. */
int up_run(const struct up_opts *opts);

/* All return 0, or -errno after printing the error. control: socket from the supervisor. */
int collector_main(const struct up_opts *opts, const struct up_shared *shared, int control);
int store_main(const struct up_opts *opts, const struct up_shared *shared, int control);
int sender_main(const struct up_opts *opts, const struct up_shared *shared, int control);

#endif
