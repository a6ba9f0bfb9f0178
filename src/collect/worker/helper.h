/* collect/worker/helper.h: processes that read files of others, which may be endless, or on a file
 * system that does not respond.
 *
 *     collector ──▶ nursery, which touches no file ──▶ a worker for each kind of work
 *         ╰──────────── a socket for each worker ─────────╯
 *
 * A thread that waits for a file of a hung file system cannot be ended, nor can its process. So the
 * work is done by another process, which holds nothing of the collector's and no process waits for.
 * A worker that does not respond is abandoned (it ends when its file system lets it), and the
 * nursery, which was forked before the collector had anything to inherit, starts another, up to
 * HELPER_MAX_STUCK. All end with the collector.
 *
 * Any of them may be killed: by the kernel when memory is short, by an operator, and a worker by a
 * file that it does not survive. Each end is counted. The death of the nursery is found by
 * helper_check; helper_renew starts another. */
#ifndef CRESSET_COLLECT_WORKER_HELPER_H
#define CRESSET_COLLECT_WORKER_HELPER_H

#include "profile/frame.h"

#include <stdbool.h>
#include <stdint.h>

enum helper_work {
	HELPER_CODE,  /* names of code made at run time (collect/worker/code_worker.h) */
	HELPER_FAR,   /* files on file systems that may not respond (collect/worker/far_files.h) */
	HELPER_READ,  /* memory and mappings of other processes (collect/worker/proc_reader.h) */
	HELPER_PROBE, /* probes of libraries (collect/worker/probe_placer.h) */
	HELPER_WORKS
};

/* limit: unended abandoned workers of a kind; beyond, no other is started */
enum { HELPER_MAX_STUCK = 8 };

/* How a worker came to its end. */
enum helper_end {
	HELPER_DIED,  /* it exited or crashed, or another process killed it */
	HELPER_STUCK, /* it did not respond, and was abandoned */
	HELPER_LEFT,  /* its responses are no longer needed */
	HELPER_ENDS
};
extern const char *const helper_work_names[HELPER_WORKS]; /* of the processes */

struct helper_stats {
	uint64_t ends[HELPER_WORKS][HELPER_ENDS];
	uint32_t stuck[HELPER_WORKS]; /* abandoned workers that have not ended */
	uint64_t nursery_ends;
};

struct helper;
struct stream;

/* Forks. Returns 0 or -errno. */
int helper_new(struct helper **out);
void helper_free(struct helper *h); /* ends all workers, without waiting for them; NULL is fine */

/* Starts a new worker; kills an earlier one for the same work. Returns its socket, or -errno:
 * -EBUSY when too many are stuck, -EPIPE when the nursery has ended. */
int helper_start(struct helper *h, enum helper_work work);
/* Ends the worker of that work, without waiting for it, and closes its stream. */
void helper_end(struct helper *h, enum helper_work work, enum helper_end how,
		struct stream *worker);

/* Returns whether the nursery is there. */
bool helper_check(struct helper *h);
/* Starts another nursery. It inherits what the caller has, and retains its memory: a caller that
 * can start again as a whole does that instead. Returns 0 or -errno. */
int helper_renew(struct helper *h);
void helper_get_stats(struct helper *h, struct helper_stats *out);
/* CPU time of the nursery and of all workers so far. */
uint64_t helper_cpu_ns(const struct helper *h);

/* --- messages --------------------------------------------------------------------------------- */

/* Messages between the collector (collect/worker/far_files.h) and the process that reads far files
 * (collect/worker/helper.c), over base/stream.h.
 *
 *     collector → worker                         worker → collector
 *     FAR_OPEN  struct far_open_head, path       FAR_GOES_ON  u32 serial: there is progress
 *                                                FAR_FILE     struct far_file_head, and a
 *                                                             descriptor of a copy, or none */
enum far_message { FAR_OPEN = 1, FAR_GOES_ON, FAR_FILE };
enum {
	FAR_MAX_PATH = 4096,
	/* limit: a file on a file system that may not respond; larger ones give offsets */
	FAR_MAX_BYTES = 256 << 20,
};

struct far_open_head {
	uint32_t serial, pid;
	uint32_t maj, min;
	uint64_t ino, start, end, pgoff;
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len;
};
struct far_file_head {
	uint32_t serial;
	uint32_t is_copy; /* a copy, because its file system may not respond; 0: the file itself */
	uint64_t dev, ino, size;
	int64_t mtime_ns;
};

/* --- probe_worker.c, proc_reader_worker.c --- */

/* The loops of worker processes. Each serves the requests that come from fd until the collector
 * closes it. */
void probe_worker_serve(int fd);       /* HELPER_PROBE */
void proc_reader_worker_serve(int fd); /* HELPER_READ */

#endif
