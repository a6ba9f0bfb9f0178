/* collect/resolve/resolve.h: turns addresses of processes into frames in the sink, and names them.
 *
 * Owns the process table (mappings per process), the object table (one per distinct file, at most
 * max_open_files descriptors open, least recently used closed first) and the cache from stacks of
 * addresses to stacks of the sink. The caller passes each side-band record three times: when it is
 * read (resolve_seen: opens a file immediately, through /proc/PID/map_files, because it may be gone
 * in a millisecond), with all others of that reading (resolve_follow: informs the walker), and
 * again in time order (resolve_apply: changes the table; or resolve_pass: no event needs it).
 * Samples arrive in the same time order, so the table always shows the moment of the current event:
 * pid reuse, exec, fork without exec, dlopen and munmap need no versions. */
#ifndef CRESSET_COLLECT_RESOLVE_RESOLVE_H
#define CRESSET_COLLECT_RESOLVE_RESOLVE_H

#include "bpf/event.h"
#include "bpf/gpu_event.h"
#include "collect/kernel/sampler_opts.h"
#include "collect/kernel/side_band.h"
#include "collect/process/traced.h"
#include "collect/resolve/gpu_names.h"
#include "collect/resolve/gpu_origins.h"
#include "collect/resolve/order.h"
#include "collect/resolve/resolve_links.h"
#include "collect/resolve/resolve_opts.h"
#include "collect/walker/space.h"
#include "collect/walker/table_store.h"
#include "profile/copy.h"
#include "profile/sink.h"
#include "runtime/runtime.h"

struct resolver;
struct gpu_allocation;

struct resolve_stats {
	uint32_t processes, objects, open_files;
	uint64_t truncated;       /* samples */
	uint64_t ends[WALK_ENDS]; /* samples, by why their stacks end */
	uint64_t unsymbolized; /* samples whose leaf has no name; known after resolve_symbolize */
	/* waits without a stack, of all threads whose exact times are known */
	int64_t short_off_ns;
	struct table_store_stats tables;
	uint64_t traced_refused;   /* processes */
	uint64_t mappings_refused; /* processes and mappings beyond the limits */
	uint64_t below_main;       /* whole stacks that end in a C library without unwind rows */
	uint64_t pythons_refused, python_unnamed, python_unplaced; /* processes, frames, stacks */
	uint64_t gpu_memory_refused;                               /* allocations */
	uint64_t heap_refused;                                     /* sampled allocations */
	struct name_failures names;                                /* as unsymbolized */
	uint64_t kernel_names_ns, kernel_symbols_read;             /* as in struct collect_stats */
};

/* asked: the events and processes to record, after sampler_opts_settle. */
struct resolver *resolver_new(const struct resolve_opts *opts, const struct sampler_opts *asked,
			      const struct resolve_links *links);
void resolver_free(struct resolver *r);

/* Reads every process of /proc with its executable mappings as of now. Calls between after each
 * process, unless NULL: it may read and announce samples, but not resolve them. */
void resolve_snapshot(struct resolver *r, void (*between)(void *ctx), void *ctx);

/* Announces programs that are interpreters by their names to the walker, until until_ns: for a
 * recording of the whole machine. */
void resolve_expect_interpreters(struct resolver *r, uint64_t until_ns);

/* Begins to read records: all of them are in the rings. */
void resolve_begin_reading(struct resolver *r);
/* Sets the record's object. */
void resolve_seen(struct resolver *r, struct side_record *rec);
/* sides: all records of one reading, in time order. */
void resolve_follow(struct resolver *r, const struct order_side *sides, size_t n);
void resolve_apply(struct resolver *r, const struct side_record *rec);
/* In place of resolve_apply, for a record of a brief life (lives.h). */
void resolve_pass(struct resolver *r, const struct side_record *rec);

/* In place of all of these, for a record of a brief life that is skipped (brief.h). */
void resolve_skip(struct resolver *r, const struct side_record *rec);

/* Announces a process that will be sampled. */
void resolve_expect(struct resolver *r, uint32_t pid);
/* Announces a process with a recorded wait, as soon as the wait is read. */
void resolve_waited(struct resolver *r, uint32_t pid);
/* Announces a sample that met code unknown to the walker, as soon as it is read. */
void resolve_missed(struct resolver *r, const struct event_raw *raw);
/* Passes everything seen since the last call to the walker; call it after reading, and when the
 * descriptor (-1: none) is readable. */
void resolve_sync(struct resolver *r);
/* The same without unwind tables, which takes less time, and no longer than until_ns. */
void resolve_send(struct resolver *r, uint64_t until_ns);
int resolve_fd(const struct resolver *r);
/* Returns when it wants to be called again; UINT64_MAX: never. */
uint64_t resolve_sync_ns(const struct resolver *r);
bool resolve_is_busy(const struct resolver *r); /* tables are being built */

/* Retains a function of a runtime that the walker has sent. */
void resolve_function(struct resolver *r, const struct event_function *f);
/* Retains the contents of a stack under its hash, replacing earlier contents. Bounded: past
 * STACK_CACHE_MAX_BYTES the older half is dropped. */
void resolve_stack_contents(struct resolver *r, const struct event_stack *st);
/* Returns whether contents were dropped since the last call: then the caller makes the kernel send
 * them again. */
bool resolve_take_epoch_over(struct resolver *r);

/* Puts one event into the sink, in time order: a sample, a wait, or the times of a thread, with its
 * stack resolved in its process and its labels (collect/resolve/labels.h). raw is NULL when the
 * stack was walked in the kernel. */
void resolve_event(struct resolver *r, const union order_event *ev, const struct event_raw *raw);

/* Samples of `wall` are held until the exact times of their threads are known. resolve_flush hands
 * them out once those of all threads have come, as resolve_symbolize does at the end.
 * resolve_is_full: returns whether it is time to request the times. */
void resolve_flush(struct resolver *r);
bool resolve_is_full(const struct resolver *r);

/* Names every frame in the sink: ELF symbols, debug files, kernel symbols, BPF, vDSO, perf-map,
 * jitdump. */
void resolve_symbolize(struct resolver *r);
/* --- always on: one sink after the other */

/* Drops processes that ended long enough before now_ns, and unused objects. Each event does this as
 * of its time; without events the caller has to, once everything until then was handed out. */
void resolve_sweep(struct resolver *r, uint64_t now_ns);
/* Requests the names that samples are held for (collect/walker/jit.h), and waits for some ms;
 * samples without a response by then follow later. */
void resolve_give_held(struct resolver *r);
/* Passes results to the sink, and rereads processes whose records were lost when it is time;
 * returns true then. Call it some times a second. */
bool resolve_run(struct resolver *r);
/* Requests names, and after wait_ms passes everything to the sink, some without names. */
void resolve_settle(struct resolver *r, uint32_t wait_ms);
/* Names the kernel's frames; returns false when there are no new ones since the last call. */
bool resolve_name_kernel(struct resolver *r);
/* Sends everything to another sink from here on, with ids of that sink. Processes and their
 * mappings, objects, unwind tables and what is known of GPUs are retained. Not while `wall` is
 * recorded, and nothing may be held. copy: copies from the old sink to the new one; NULL: stacks of
 * launches and of memory in use on GPUs are forgotten. */
void resolve_set_sink(struct resolver *r, struct sink *sink, const struct resolve_types *types,
		      struct profile_copy *copy);
/* Finds the mapped files of processes whose path is wanted; the descriptors stay the resolver's. A
 * file may come more than once. fd -1: it is a copy of another file, and was not opened. */
struct mapped_file;
void resolve_find_files(struct resolver *r, bool (*is_wanted)(const char *path),
			void (*found)(void *ctx, const struct mapped_file *f, int fd), void *ctx);
/* Puts the GPU memory in use now into the sink, one sample per origin, and one of 0 for a process
 * that had some at the last call and has none now. is_there: whether the kernel still has an
 * allocation; if not, it is forgotten. NULL: none is forgotten. */
void resolve_gpu_snapshot(struct resolver *r, uint64_t now_ns,
			  bool (*is_there)(void *ctx, uint32_t pid, uint64_t address,
					   uint32_t flags),
			  void *ctx);
/* Reads how much memory processes have (collect/resolve/resident.h), for a recording with an end;
 * and puts the result of the last reading into the sink. */
void resolve_resident_look(struct resolver *r);
void resolve_resident_finish(struct resolver *r, uint64_t now_ns);
/* Always on: reads and puts it, and a sample of 0 for a process that had memory at the last call
 * but not now; or only these, for processes that have ended. */
void resolve_resident_snapshot(struct resolver *r, uint64_t now_ns);
void resolve_resident_ended(struct resolver *r, uint64_t now_ns);
/* Puts unwatched page faults, as a marker. */
void resolve_faults_unwatched(struct resolver *r, uint64_t faults, uint64_t now_ns);
/* Forgets unreferenced origins, when there are many. */
void resolve_gpu_trim(struct resolver *r);
/* Puts an estimate of each process's GPU memory beyond what was counted: from the driver's figures
 * of all processes. is_target: whether to include a process without any seen allocation. A process
 * that had some at the last call and has none now gets a sample of 0. */
struct gpu_reading;
void resolve_gpu_before(struct resolver *r, uint64_t now_ns, const struct gpu_reading *told,
			bool (*is_target)(void *ctx, uint32_t pid), void *ctx);
/* Something that ran on a GPU, or a time in which that was watched, as a sample. */
struct gpu_ran {
	uint32_t type;
	uint32_t origin, pid; /* origin 0: unknown */
	uint64_t start_ns, length_ns, ns;
	uint32_t gpu;                 /* index of resolve_gpu_names, plus 1; 0: no such label */
	uint32_t stream;              /* stream number plus 1; 0: no such label */
	uint32_t samples;             /* number of samples its stack was estimated from; 0: exact */
	uint32_t frames[2], n_frames; /* of the sink, at the leaf */
	const uint32_t *more;         /* below those; the caller's */
	uint32_t n_more;
	int64_t period;
};
void resolve_gpu_ran(struct resolver *r, const struct gpu_ran *ran);
/* Memory in use in programs' heaps. First resolve_heap_begin; then resolve_heap_add for each block
 * of each process, or earlier, has_ended, when it ends; then resolve_heap_end, which drops freed
 * blocks and puts sums by stack into the sink. */
enum { HEAP_ANCESTORS = 4 };
struct heap_owner {
	uint32_t pid;
	uint32_t ancestors[HEAP_ANCESTORS]; /* it is a child of fork of these; 0: no more */
};
struct live_block;
void resolve_heap_begin(struct resolver *r);
/* All rows of a process are passed on from here on, or none is left. */
void resolve_heap_read(struct resolver *r, uint32_t pid);
void resolve_heap_add(struct resolver *r, const struct heap_owner *owner,
		      const struct live_block *block, bool has_ended);
/* Go's own profile of its heap (mem/go/go_heap.h). The origin is of a stack of return addresses of
 * a process, the innermost first; 0: the process is unknown, or without space. since_s: Unix time
 * for the label "since"; 0: none. */
uint32_t resolve_go_origin(struct resolver *r, uint32_t pid, uint32_t since_s, const uint64_t *addr,
			   uint32_t n);
struct go_blocks {
	uint32_t origin;
	uint64_t size;              /* of a block */
	double weight;              /* blocks that a sampled one stands for */
	uint64_t allocated, in_use; /* sampled ones; allocated: since the last cut */
};
void resolve_go_add(struct resolver *r, const struct go_blocks *b);
/* Waits of goroutines for a mutex (go_locks_read). The origin is of the stack that unlocked it, as
 * for resolve_go_origin. */
uint32_t resolve_go_lock_origin(struct resolver *r, uint32_t pid, uint32_t since_s,
				const uint64_t *addr, uint32_t n);
struct go_waits {
	uint32_t origin;
	double ns, waits;
};
void resolve_go_waits(struct resolver *r, uint64_t now_ns, const struct go_waits *w);
/* The values for the sink. A process with memory in the last snapshot, and without any now, gets a
 * last sample of 0. */
enum heap_cut {
	HEAP_RELIEF,    /* nothing */
	HEAP_ALLOCATED, /* allocations since the last cut */
	HEAP_SNAPSHOT,  /* and memory in use */
	HEAP_LAST,      /* and that of ended processes at their end */
};
void resolve_heap_end(struct resolver *r, uint64_t now_ns, enum heap_cut cut);
/* Returns whether it is time to drop freed blocks. */
bool resolve_heap_is_full(const struct resolver *r);
/* The names of GPUs; callers may add to them. */
struct gpu_names *resolve_gpu_names(struct resolver *r);
/* Passes on each process but kernel threads, and when it started to run its program
 * (CLOCK_MONOTONIC; 0: before the recording). */
void resolve_each_process(struct resolver *r,
			  void (*fn)(void *ctx, uint32_t pid, uint64_t begun_ns), void *ctx);
/* Finds the processes that have mapped a file whose path is wanted. */
void resolve_find_processes(struct resolver *r, bool (*is_wanted)(const char *path),
			    void (*found)(void *ctx, uint32_t pid), void *ctx);
/* As collect_ask_labels. */
bool resolve_ask_labels(struct resolver *r, uint32_t pid, uint32_t events,
			const struct series_hook *hook);
/* Returns a descriptor of the file behind a mapping of the sink, for reading; it stays the
 * resolver's, until the next call of any function. -ENOENT: none, or no longer. */
int resolve_file(struct resolver *r, uint32_t mapping);

/* See interpreted_refused. */
const char *resolve_runtime_refused(const struct resolver *r);
void resolve_get_stats(const struct resolver *r, struct resolve_stats *out);

#endif
