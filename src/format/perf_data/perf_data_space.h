/* format/perf_data/perf_data_space.h: the mappings of each process and of the kernel, and the names
 * of threads, after the records applied so far.
 *
 * A forked process shares its parent's space until one of them changes it. The space of an ended
 * process is freed once PD_ENDED others have ended after it, since samples of its last moments may
 * follow; names stay. Beyond the limits below, functions fail and the caller counts it. */
#ifndef CRESSET_FORMAT_PERF_DATA_PERF_DATA_SPACE_H
#define CRESSET_FORMAT_PERF_DATA_PERF_DATA_SPACE_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	PD_MAX_MAPS = 16384, /* limit: executable mappings of a process; others are skipped */
	PD_MAX_ALL_MAPS = 16 << 20, /* limit: executable mappings of all; others are skipped */
	/* limit: mappings copied by forks or moved, besides 1024 for each new one */
	PD_MAX_MOVED = 1 << 29,
	PD_MOVED_EACH = 1024,
	PD_ENDED = 256,
	PD_MAX_THREADS = 4 << 20, /* limit: threads; others are skipped */
};

struct pd_map {
	uint64_t start, end, pgoff;
	uint32_t object; /* defined by the caller */
};
struct pd_space {
	uint32_t refs;
	VEC(struct pd_map) maps; /* by start, without overlap */
};

struct pd_thread {
	uint32_t pid;
	uint32_t comm; /* string of the sink; 0 unknown */
	bool alive;
};
struct pd_process {
	struct pd_space *space; /* NULL: nothing mapped */
	/* Until the new program runs, stacks still come from the old one, which called exec. */
	struct pd_space *before_exec;
	uint32_t threads; /* alive */
	uint32_t name;    /* string of the sink: name of its main thread */
};

struct pd_world { /* zeroed = empty */
	VEC(struct pd_thread) threads;
	VEC(struct pd_process) processes;
	struct map by_tid, by_pid;
	struct pd_space kernel; /* modules and BPF programs */
	size_t n_maps;
	uint64_t added, moved;    /* mappings so far: see PD_MAX_MOVED */
	uint32_t ended[PD_ENDED]; /* processes, by index; a ring */
	size_t n_ended;           /* so far */
};

void pd_world_done(struct pd_world *w);

/* Return the thread or process, adding it if new; NULL beyond PD_MAX_THREADS. Valid until the next
 * call. */
struct pd_thread *pd_thread_get(struct pd_world *w, uint32_t pid, uint32_t tid);
struct pd_process *pd_process_get(struct pd_world *w, uint32_t pid);

/* Return false at a limit. */
bool pd_world_map(struct pd_world *w, uint32_t pid, const struct pd_map *m);
bool pd_world_map_kernel(struct pd_world *w, const struct pd_map *m);

/* copy_maps: the child of the fork inherits its parent's mappings. */
bool pd_world_fork(struct pd_world *w, uint32_t pid, uint32_t tid, uint32_t parent_pid,
		   uint32_t parent_tid, bool copy_maps);
/* exec: drops the mappings, except for before_exec. */
bool pd_world_comm(struct pd_world *w, uint32_t pid, uint32_t tid, uint32_t comm, bool exec);
/* Call when the process was seen running its own code. */
void pd_world_runs(struct pd_world *w, uint32_t pid);
void pd_world_exit(struct pd_world *w, uint32_t pid, uint32_t tid);

/* Returns the mapping that covers addr, or NULL. */
const struct pd_map *pd_space_find(const struct pd_space *s, uint64_t addr);

#endif
