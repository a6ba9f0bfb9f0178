/* format/perf_data_space.h: what was mapped where in each process and in the kernel, and what
 * threads were called, at the moment up to which records have been applied.
 *
 * A fork shares its parent's space until one of them changes it. The space of a process that has
 * ended goes when PD_ENDED others have ended after it: there may be samples of its last moments;
 * names stay. Of each of the limits below, what comes
 * after is refused and counted by the caller. */
#ifndef CRESSET_FORMAT_PERF_DATA_SPACE_H
#define CRESSET_FORMAT_PERF_DATA_SPACE_H

#include "base/hash.h"
#include "base/vec.h"
#include "profile/frame.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	PD_MAX_MAPS = 16384,        /* executable mappings of one process */
	PD_MAX_ALL_MAPS = 16 << 20, /* of all, 32 bytes each */
	PD_ENDED = 256,
	PD_MAX_THREADS = 4 << 20, /* Linux has no more pids */
};

struct pd_map {
	uint64_t start, end, pgoff;
	uint32_t object; /* the caller's */
};
struct pd_space {
	uint32_t refs;
	VEC(struct pd_map) maps; /* by start, none overlaps another */
};

struct pd_thread {
	uint32_t pid;
	uint32_t comm; /* string of the sink; 0 unknown */
	bool alive;
};
struct pd_process {
	struct pd_space *space; /* NULL: nothing mapped */
	/* Until the new program runs, stacks still begin at the call of exec in the old one. */
	struct pd_space *before_exec;
	uint32_t threads; /* alive */
	uint32_t name;    /* string of the sink: what its main thread is called */
};

struct pd_world { /* zeroed = empty */
	VEC(struct pd_thread) threads;
	VEC(struct pd_process) processes;
	struct map by_tid, by_pid;
	struct pd_space kernel; /* modules and BPF programs */
	size_t n_maps;
	uint32_t ended[PD_ENDED]; /* processes, by index; a ring */
	size_t n_ended;           /* so far */
};

void pd_world_done(struct pd_world *w);

/* The thread and its process, added when new; NULL past PD_MAX_THREADS. Valid until the next
 * call. */
struct pd_thread *pd_thread_get(struct pd_world *w, uint32_t pid, uint32_t tid);
struct pd_process *pd_process_get(struct pd_world *w, uint32_t pid);

/* False past a limit. */
bool pd_world_map(struct pd_world *w, uint32_t pid, const struct pd_map *m);
bool pd_world_map_kernel(struct pd_world *w, const struct pd_map *m);

/* copy_maps: the child of a fork has what its parent has. */
bool pd_world_fork(struct pd_world *w, uint32_t pid, uint32_t tid, uint32_t parent_pid,
		   uint32_t parent_tid, bool copy_maps);
/* exec: what was mapped is gone, but for before_exec. */
bool pd_world_comm(struct pd_world *w, uint32_t pid, uint32_t tid, uint32_t comm, bool exec);
/* The process was seen running code of its own. */
void pd_world_runs(struct pd_world *w, uint32_t pid);
void pd_world_exit(struct pd_world *w, uint32_t pid, uint32_t tid);

/* The mapping that covers addr; NULL when none does. */
const struct pd_map *pd_space_find(const struct pd_space *s, uint64_t addr);

#endif
