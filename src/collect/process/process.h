/* collect/process/process.h: the table of processes as of one moment: the time of the last event
 * applied.
 *
 * Events arrive in time order, so there are no versions: each call moves the table to the moment of
 * its event. An ended process stays for PROCESS_GRACE_NS, because its last samples may follow its
 * EXIT record, which the kernel writes before the task is done. */
#ifndef CRESSET_COLLECT_PROCESS_PROCESS_H
#define CRESSET_COLLECT_PROCESS_PROCESS_H

#include "base/hash.h"
#include "base/vec.h"
#include "bpf/event.h"
#include "collect/process/user_shares.h"

#include <stdbool.h>
#include <stdint.h>

struct image_map;

#define PROCESS_GRACE_NS 1000000000ull
enum {
	PROCESS_MAX = 131072,     /* limit: processes at a time; others are not known */
	PROCESS_MAX_MAPS = 16384, /* limit: executable mappings of a process */
	/* limit: mappings of all processes; forks share theirs */
	PROCESS_MAX_ALL_MAPS = 2097152,
	PROCESS_MANY_MAPS = 512, /* a process with fewer is not counted for its user */
	/* limit: mappings of a user's processes with many, except root's */
	PROCESS_MAX_USER_MAPS = PROCESS_MAX_ALL_MAPS / 4,
};

struct jit;

/* State of the search for its process context (collect/process/context_search.h). */
struct process_search {
	uint64_t next_ns, wait_ns, read_ns;
	uint32_t mappings; /* number at the last reading */
	bool is_unsettled; /* the last reading may have been too early */
};

/* State of its traced threads (collect/process/traced.h). */
struct process_traced {
	bool is_there; /* the kernel knows it */
	bool waits, is_refused;
	uint32_t looks, user; /* user: the charged one */
	uint64_t image, next_ns;
};

struct process {
	uint32_t pid;
	uint32_t parent;           /* at its fork; 0: that was not seen */
	char name[EVENT_COMM_LEN]; /* of the main thread, NUL-terminated */
	struct image *image;       /* NULL: never read, or a kernel thread */
	uint32_t user, charged;    /* the user charged for its mappings, and their number */
	bool is_kernel_thread;
	bool leader_gone; /* the main thread has ended; others may still run */
	uint64_t exit_ns; /* when the last thread since then ended */
	/* When it started to run its program: CLOCK_MONOTONIC of its fork or exec; 0: before that
	 * was watched. */
	uint64_t begun_ns;
	bool is_over; /* it has ended since the moment of the table */

	/* Used by the resolver. */
	uint64_t scanned_ns; /* last reading of its mappings from /proc */
	uint64_t next_scan_ns;
	bool is_scan_late;  /* the last reading got no response in time */
	uint64_t cgroup_id; /* labels are those in this group … */
	bool labels_known;  /* … were looked up, not only inherited */
	bool has_uid;       /* uid is known */
	uint32_t uid;       /* the effective user in the last sample */
	bool exe_known;
	bool awaits_exe; /* after an exec: its first mapping shows its executable */
	uint32_t labels; /* collect/resolve/labels.h, 0 = none */
	uint64_t look_again_ns, look_wait_ns;
	uint32_t looks;        /* lookups of its labels */
	uint64_t context_addr; /* collect/proc/process_context.h; 0: none seen */
	bool is_published;     /* found since the last lookup of labels */
	bool has_threads;      /* its threads publish spans, according to that */
	struct process_search search;
	struct process_traced traced;
	struct jit *jit; /* NULL: no code made at run time was seen */

	uint64_t sent_image; /* id of the image that the walker has (walker/space.h); 0: none */
	uint64_t sent_ns;    /* … and since when */
	/* All of its mappings are from records, or were read from /proc before them. */
	bool is_recorded;
};

struct process_exit {
	uint32_t pid;
	uint64_t time_ns;
};
struct process_table {
	struct object_table *objects;
	struct map by_pid;
	VEC(struct process *) all; /* by the index in by_pid; NULL: unused */
	VEC(uint32_t) free_ids;
	VEC(struct process_exit) exits; /* in time order; handled up to n_done */
	size_t n_done;
	uint64_t next_image_id;
	uint64_t n_maps; /* of all images */
	struct user_shares users;
	uint64_t refused; /* processes and mappings beyond the limits */
};

void process_table_init(struct process_table *t, struct object_table *objects);
void process_table_done(struct process_table *t); /* every process's jit must be NULL */

struct process *process_find(const struct process_table *t, uint32_t pid); /* NULL when unknown */

/* Adds a new process without mappings, and removes any with this pid. Returns NULL when the table
 * is full. */
struct process *process_add(struct process_table *t, uint32_t pid);
void process_remove(struct process_table *t, struct process *p);

/* The child gets its parent's name and mappings. */
struct process *process_fork(struct process_table *t, uint32_t ppid, uint32_t pid);
void process_set_name(struct process *p, const char *name);
/* exec: removes all mappings; other threads are gone as well. */
void process_exec(struct process_table *t, struct process *p);
void process_map(struct process_table *t, struct process *p, const struct image_map *m);
/* Sets all mappings at the same time, as read from /proc. Takes over the caller's reference to
 * image; an image equal to the current one changes nothing. */
void process_set_image(struct process_table *t, struct process *p, struct image *image);
struct image *process_new_image(struct process_table *t);

/* A thread has ended; the process has ended once its main thread and all others have. */
void process_exit(struct process_table *t, uint32_t pid, uint32_t tid, uint64_t time_ns);
/* Returns the next process whose main thread has ended and of which no thread ended during the last
 * PROCESS_GRACE_NS, each once. The caller checks whether it still has threads, and removes it if
 * not. NULL: no more. */
struct process *process_next_ended(struct process_table *t, uint64_t now_ns);

#endif
