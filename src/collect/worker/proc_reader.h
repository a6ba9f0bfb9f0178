/* collect/worker/proc_reader.h: reads of another process that the process can make wait: its
 * memory, its mappings, the files behind them, its environment.
 *
 * The kernel takes the process's mmap_lock for each of them, not killably for memory, and the
 * process decides how long that lock is held: one that reads its own /proc/self/mem from a file
 * system that does not respond holds it for ever. So another process makes these calls
 * (collect/worker/helper.h); also for process contexts (64 KiB, maybe not in memory), while spans
 * of traces are read by BPF programs. The caller waits for a response for a limited time:
 *
 *     PROC_READER_WAIT_NS at one time, twice that for a worker that has no CPU;
 *     1/PROC_READER_WAIT_SHARE of the time on average for workers that sleep, then 1 ms
 *     1/PROC_READER_WORK_SHARE for workers that run, because a process has very much to read; then
 *     1 ms
 *     1/PROC_READER_QUEUE_SHARE for workers that get no CPU; then none
 *
 * The processes of one user, unless that is root, keep workers busy for 1/PROC_READER_USER_SHARE of
 * the time on average; beyond that they are left alone until the average is lower: others are read
 * in the meantime.
 *
 * While a response is late, nothing else is queried. A worker that has slept over a request for
 * PROC_READER_SLEEPS_NS is abandoned, and another takes its place, up to HELPER_MAX_STUCK. Then the
 * process is left alone for PROC_READER_LEFT_ALONE_NS, and all of its user, unless that is
 * root, for PROC_READER_USER_ALONE_NS; both for as long as a worker is stuck: so a user has no more
 * than one. The user of a process in a user namespace is who made the
 * namespace: the ids within it are that user's to choose.
 *
 * Without a reader (NULL) the caller's own process reads, and may wait for ever: for commands that
 * are queried about one process. All return -EAGAIN for a response that did not arrive in time, and
 * -EBUSY for a process that is left alone. */
#ifndef CRESSET_COLLECT_WORKER_PROC_READER_H
#define CRESSET_COLLECT_WORKER_PROC_READER_H

#include "collect/proc/proc_maps.h"
#include "profile/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct helper;
struct mapped_file;
struct process_context;
struct proc_reader;

/* 50 ms without a response prove nothing on a busy machine: a worker is abandoned after 0.5 s. */
#define PROC_READER_WAIT_NS       50000000ull
#define PROC_READER_SLEEPS_NS     500000000ull
#define PROC_READER_LEFT_ALONE_NS 600000000000ull
#define PROC_READER_USER_ALONE_NS 10000000000ull
/* limit: one request of a worker, then abandoned */
#define PROC_READER_RUNS_NS       3000000000ull
enum {
	PROC_READER_WAIT_SHARE = 20,
	PROC_READER_WORK_SHARE = 10,
	PROC_READER_QUEUE_SHARE = 5,
	PROC_READER_USER_SHARE = 10,
};
/* Saved up by a user. */
#define PROC_READER_USER_SAVED_NS 500000000

struct proc_reader_stats {
	uint64_t late;    /* responses that did not arrive in time */
	uint64_t refused; /* not sent: left alone, or there is no worker */
};

struct proc_reader *proc_reader_new(struct helper *helper); /* helper stays the caller's */
void proc_reader_free(struct proc_reader *r);               /* NULL is fine */

/* Returns 0; -EFAULT: a part of it is unmapped; or why nothing of this process may be read. */
int proc_reader_memory(struct proc_reader *r, uint32_t pid, uint64_t addr, void *out, size_t len);

/* Passes the executable mappings to fn, and that of the process context; as proc_maps_read. Adds
 * the number of others that were seen to *others; without a reader they are also passed to fn.
 * Returns 1 if there are mappings beyond PROC_MAPS_MAX_LINES or PROC_READER_MAX_MAPS. */
int proc_reader_maps(struct proc_reader *r, uint32_t pid, proc_map_fn *fn, void *ctx,
		     uint32_t *others);

/* Opens the file of a mapping; as mapped_file_open_mapping. -EXDEV: it is on a file system that may
 * not respond. The descriptor is the caller's. */
int proc_reader_open(struct proc_reader *r, const struct mapped_file *f, struct stat *st);
/* The same for the executable of a process. */
int proc_reader_open_program(struct proc_reader *r, uint32_t pid, struct stat *st);

/* Reads the process context (collect/proc/process_context.h), or finds its header: 0 or -errno.
 * *addr: 0 if none exists. */
int proc_reader_context(struct proc_reader *r, uint32_t pid, uint64_t addr,
			struct process_context *out);
int proc_reader_find_context(struct proc_reader *r, uint32_t pid, uint64_t *addr);

/* Returns whether this agent may read the program's ring (gpu/device/agent_name.h); -errno:
 * unknown. */
int proc_reader_agent_fits(struct proc_reader *r, uint32_t pid);
/* Opens the nth memfd of that name that the process has mapped (gpu/ring/ring_find.h). -ENOENT:
 * there is none. */
int proc_reader_ring(struct proc_reader *r, uint32_t pid, const char *name, int flags,
		     uint32_t nth);

/* Sets the states of at most PAGE_STATES_MAX pages (collect/proc/page_state.h). Returns 0 or
 * -errno. */
int proc_reader_pages(struct proc_reader *r, uint32_t pid, const uint64_t *addresses, size_t n,
		      uint8_t *states);

/* CPU time of this thread and of what it had read: for budgets. */
uint64_t proc_reader_clock_ns(const struct proc_reader *r);
void proc_reader_get_stats(const struct proc_reader *r,
			   struct proc_reader_stats *out); /* of NULL: zeros */

/* --- messages, over base/stream.h ------------------------------------------------------------- */

/*     collector → worker                        worker → collector
 *                                               READ_HELLO   u32 pid of the worker
 *     READ_ASK   struct read_ask, text          READ_ANSWER  struct read_answer, data; with a
 *                                                            descriptor, or none */
enum read_message { READ_HELLO = 1, READ_ASK, READ_ANSWER };
enum read_kind {
	READ_MEMORY,
	READ_MAPS,
	READ_OPEN,
	READ_PROGRAM,
	READ_CONTEXT,
	READ_FIND_CONTEXT,
	READ_AGENT,
	READ_RING,
	READ_PAGES,
	READ_KINDS
};
enum {
	READ_MAX_TEXT = 4096,
	READ_MAX_DATA = 256 << 10, /* limit: bytes of another process read at a time */
	/* limit: bytes of text of a process's mappings; later ones are unknown */
	PROC_READER_MAX_MAPS = 4 << 20,
};
struct read_ask {
	uint32_t serial, kind, pid, len; /* len: of memory; flags of open for READ_RING */
	uint64_t addr;                   /* of memory, of the header; which one for READ_RING */
	uint64_t start, end, pgoff, ino; /* as in struct mapped_file */
	uint32_t maj, min;
	uint8_t build_id[BUILD_ID_MAX];
	uint32_t build_id_len;
};
struct read_answer {
	uint32_t serial;
	int32_t rc;
	uint64_t value; /* READ_FIND_CONTEXT; READ_MAPS: mappings that the caller does not need */
	uint64_t cpu_ns;
	uint64_t dev, ino, size;
	int64_t mtime_ns;
	uint32_t mode, uid;
	uint32_t slept; /* the worker had to wait for something other than a CPU */
	uint32_t slept_us;
	uint32_t is_cut; /* READ_MAPS: there are more lines than were read */
};

#endif
