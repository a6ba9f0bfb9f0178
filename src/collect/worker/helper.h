/* collect/worker/helper.h: processes that read files of others, which may be endless, or on a file
 * system that does not respond.
 *
 *     collector ──▶ nursery, which touches no file ──▶ a worker for each kind of work
 *         ╰──────────── a socket for each worker ─────────╯
 *
 * A thread that waits for a file of a hung file system cannot be ended, nor can its process. So the
 * work is done by another process, which holds nothing of the collector's and nobody waits for. A
 * worker that does not respond is abandoned (it ends when its file system lets it), and the
 * nursery, which was forked before the collector had anything to inherit, starts another. All end
 * with the collector. */
#ifndef CRESSET_COLLECT_WORKER_HELPER_H
#define CRESSET_COLLECT_WORKER_HELPER_H

#include "profile/frame.h"

#include <stdint.h>

enum helper_work {
	HELPER_CODE, /* names of code made at run time (collect/worker/code_worker.h) */
	HELPER_FAR,  /* files on file systems that may not respond (collect/worker/far_files.h) */
	HELPER_WORKS
};

struct helper;

/* Forks. Returns 0 or -errno. */
int helper_new(struct helper **out);
void helper_free(struct helper *h); /* ends all workers, without waiting for them; NULL is fine */

/* Starts a new worker; kills an earlier one for the same work. Returns its socket, or -errno. */
int helper_start(struct helper *h, enum helper_work work);

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
	/* limit: a file on a file system that may not answer; of a larger one frames are offsets */
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

#endif
