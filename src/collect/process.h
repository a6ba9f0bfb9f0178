/* collect/process.h: the table of processes as of one moment: the time of the event that was
 * applied last.
 *
 * Events come in time order, so there are no versions: each call moves the table to the moment of
 * its event. An ended process stays for PROCESS_GRACE_NS, as its last samples may follow its EXIT
 * record, which the kernel writes before the task is done. */
#ifndef CRESSET_COLLECT_PROCESS_H
#define CRESSET_COLLECT_PROCESS_H

#include "base/hash.h"
#include "base/vec.h"
#include "bpf/event.h"
#include "collect/image.h"

#include <stdbool.h>
#include <stdint.h>

#define PROCESS_GRACE_NS 1000000000ull
enum {
	PROCESS_MAX = 131072,           /* processes at once; others are not known */
	PROCESS_MAX_MAPS = 16384,       /* executable mappings of one process */
	PROCESS_MAX_ALL_MAPS = 2097152, /* of all processes, 64 MiB; forks share theirs */
};

struct jit;

/* The search for what it publishes of itself (collect/context_search.h). */
struct process_search {
	uint64_t next_ns, wait_ns, read_ns;
	uint32_t mappings; /* there were when they were read last */
	bool is_unsettled; /* they may have been read too early */
};

/* What was found out of its threads (collect/traced.h), and when. */
struct process_traced {
	bool is_there; /* the kernel has it */
	bool waits, is_refused;
	uint32_t looks;
	uint64_t image, next_ns;
};

struct process {
	uint32_t pid;
	char name[EVENT_COMM_LEN]; /* of the main thread, NUL-terminated */
	struct image *image;       /* NULL: never read, or a kernel thread */
	bool is_kernel_thread;
	bool leader_gone; /* the main thread has ended; others may still run */
	uint64_t exit_ns; /* of the last thread that ended since then */

	/* The resolver's. */
	uint64_t scanned_ns; /* when /proc was last asked for its mappings */
	uint64_t cgroup_id;  /* labels are those in this group … */
	bool labels_known;   /* … when it was looked at, not only inherited */
	bool exe_known;
	bool awaits_exe; /* after an exec: the next mapping is of what it runs */
	uint32_t labels; /* collect/labels.h, 0 = none */
	uint64_t look_again_ns, look_wait_ns;
	uint32_t looks;        /* at its labels */
	uint64_t context_addr; /* collect/process_context.h; 0: none was seen */
	bool is_published;     /* that was found since its labels were looked at */
	bool has_threads;      /* that tell their spans, as it says there */
	struct process_search search;
	struct process_traced traced;
	struct jit *jit; /* NULL: no code made at run time was seen */

	uint64_t sent_image; /* that the walker knows (collect/space.h): its id, 0 = none */
};

struct process_exit {
	uint32_t pid;
	uint64_t time_ns;
};
struct process_table {
	struct object_table *objects;
	struct map by_pid;
	VEC(struct process *) all; /* by the index in by_pid; NULL where free */
	VEC(uint32_t) free_ids;
	VEC(struct process_exit) exits; /* in time order, done up to n_done */
	size_t n_done;
	uint64_t next_image_id;
	uint64_t n_maps;  /* of all images */
	uint64_t refused; /* processes and mappings beyond the limits */
};

void process_table_init(struct process_table *t, struct object_table *objects);
void process_table_done(struct process_table *t); /* every process's jit is NULL by then */

struct process *process_find(const struct process_table *t, uint32_t pid); /* NULL when unknown */

/* A new process without mappings; the one with this pid, if any, goes. NULL when the table is
 * full. */
struct process *process_add(struct process_table *t, uint32_t pid);
void process_remove(struct process_table *t, struct process *p);

/* A child begins with its parent's name and mappings. */
struct process *process_fork(struct process_table *t, uint32_t ppid, uint32_t pid);
void process_set_name(struct process *p, const char *name);
/* exec: all mappings are gone, other threads, too. */
void process_exec(struct process_table *t, struct process *p);
void process_map(struct process_table *t, struct process *p, const struct image_map *m);
/* All mappings at once, as read from /proc. Takes over the caller's reference to image; an image
 * equal to the present one changes nothing. */
void process_set_image(struct process_table *t, struct process *p, struct image *image);
struct image *process_new_image(struct process_table *t);

/* A thread has ended; the process is over once its main thread and all others have. */
void process_exit(struct process_table *t, uint32_t pid, uint32_t tid, uint64_t time_ns);
/* The next process whose main thread has ended and no thread of which ended during the last
 * PROCESS_GRACE_NS, each given once: the caller finds out whether it still has threads, and removes
 * it if not. NULL: no more. */
struct process *process_next_ended(struct process_table *t, uint64_t now_ns);

#endif
