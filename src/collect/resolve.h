/* collect/resolve.h: addresses of processes → frames in the sink, and their names.
 *
 * Owns the process table (mappings per process), the object table (one per distinct file, at most
 * max_open_files descriptors open, least recently used closed first) and the cache from stacks of
 * addresses to stacks of the sink. The caller hands over side-band records twice: at once when they
 * are read (resolve_seen: a file that may be gone in a millisecond is opened now, through
 * /proc/PID/map_files), and again in time order (resolve_apply: the table changes). Samples come in
 * the same time order, so the table always shows the moment of the event at hand: pid reuse, exec,
 * fork without exec, dlopen and munmap need no versions. */
#ifndef CRESSET_COLLECT_RESOLVE_H
#define CRESSET_COLLECT_RESOLVE_H

#include "bpf/event.h"
#include "bpf/gpu_event.h"
#include "collect/elf_names.h"
#include "collect/gpu_names.h"
#include "collect/gpu_origins.h"
#include "collect/order.h"
#include "collect/series_hook.h"
#include "collect/side_band.h"
#include "collect/space.h"
#include "collect/traced.h"
#include "profile/copy.h"
#include "profile/sink.h"
#include "runtime/runtime.h"

struct resolver;
struct gpu_allocation;

#define TYPE_NONE UINT32_MAX /* is not recorded */
struct resolve_types {       /* of the sink */
	uint32_t cpu, off_cpu, sched_wait, wall;
	struct gpu_types {
		uint32_t launch, wait, copy, nccl, alloc, inuse, time, window, queue, stall,
			not_issued;
		uint32_t alloc_objects, inuse_objects; /* how many, beside alloc and inuse */
	} gpu;
	int64_t period_ns; /* of samples on a CPU */
};

struct helper;
struct resolve_opts {
	struct sink *sink;
	struct helper *
		helper; /* reads others' files (collect/helper.h); NULL: one is made when it is needed */
	struct resolve_types types;
	uint64_t min_block_ns;   /* shorter waits have no stack */
	uint64_t max_block_ns;   /* nor have longer ones; 0: that limit was not asked for */
	uint32_t max_open_files; /* 0 = a quarter of RLIMIT_NOFILE, at most 1024 */
	bool no_kernel, no_user; /* leave that side of stacks out */
	uint32_t max_user;       /* frames, ≤ WALK_MAX_USER; 0 = that */
	/* The kernel's helper gives so many at most (helper_end.h); 0: its stacks are as they say (tests). */
	uint32_t helper_frames;
	const struct space_maps *space; /* of the walker; NULL: it follows frame pointers only */
	const struct runtime_maps *runtimes; /* of the walker; NULL: it does not know of any */
	bool show_python_native;   /* also the interpreter's own frames between Python's */
	struct traced_maps traced; /* zeroed: spans of threads are not read */
	/* The stack of a wait that goes on is to be copied again the next time, or need not be. NULL: it always is. */
	void (*copy_again)(void *ctx, uint32_t tid, bool again);
	void *copy_ctx;
	struct name_files_opts names;
	const char *host;                /* a label of every series; NULL: none */
	const struct label_text *labels; /* as struct collect_opts */
	size_t n_labels;
	struct series_hook series_hook;
	const struct relabel *relabel;
	const char *host_root;  /* the folder that is the host's "/"; NULL: that of process 1 */
	uint64_t stack_bytes;   /* as struct collect_opts */
	bool keep_kernel_names; /* likewise */
	/* A process that ends keeps what it has allocated on a GPU: of a command that is recorded to its end, what it had then is shown. */
	bool keep_ended_memory;
	void (*gpu_stack)(void *ctx, uint32_t pid, uint32_t tid, uint32_t correlation,
			  uint32_t stack, uint32_t weight); /* as struct collect_opts */
	void *gpu_stack_ctx;
	/* Likewise, for resolve_gpu_ran: origin is the launch's stack, thread and labels. */
	void (*gpu_launch)(void *ctx, uint32_t pid, uint32_t correlation, uint32_t origin,
			   uint32_t weight, uint64_t time_ns);
	void *gpu_launch_ctx;
	/* Told of what goes with its context or process; may be NULL. */
	void (*gpu_gone)(void *ctx, const struct gpu_allocation *a);
	/* Origins get other numbers: whoever keeps some asks for each what it is now (0: nothing any more). May be NULL. */
	void (*gpu_renamed)(void *ctx, gpu_origin_move *to, void *to_ctx);
	uint32_t gpu_max_live, gpu_max_origins; /* 0: as gpu_live.h and gpu_origins.h have it */
	void *gpu_ctx;
};
struct resolve_stats {
	uint32_t processes, objects, open_files;
	uint64_t truncated;       /* samples */
	uint64_t ends[WALK_ENDS]; /* samples, by why their stacks end */
	uint64_t unsymbolized; /* samples whose leaf has no name; known after resolve_symbolize */
	int64_t short_off_ns; /* waits without a stack, of all threads whose exact times have come */
	struct table_store_stats tables;
	uint64_t traced_refused;   /* processes */
	uint64_t mappings_refused; /* processes without room for their mappings */
	uint64_t pythons_refused, python_unnamed, python_unplaced; /* processes, frames, stacks */
	uint64_t gpu_memory_refused;                               /* allocations */
	struct name_failures names;                                /* likewise */
	uint64_t kernel_names_ns, kernel_symbols_read;             /* as struct collect_stats */
};

struct resolver *resolver_new(const struct resolve_opts *opts);
void resolver_free(struct resolver *r);

/* Reads every process of /proc with its executable mappings; as of now. Also used after lost
 * records. */
void resolve_snapshot(struct resolver *r);

void resolve_seen(struct resolver *r, const struct side_record *rec);
void resolve_apply(struct resolver *r, const struct side_record *rec);

/* A process that is going to be sampled. */
void resolve_expect(struct resolver *r, uint32_t pid);
/* A process that a wait was recorded of, as soon as that is read. */
void resolve_waited(struct resolver *r, uint32_t pid);
/* A sample that met what the walker does not know yet, as soon as it is read. */
void resolve_missed(struct resolver *r, const struct event_raw *raw);
/* Tells the walker what was seen since; call it after reading, and when the descriptor (-1: none) is readable. */
void resolve_sync(struct resolver *r);
int resolve_fd(const struct resolver *r);
/* When it wants to be called again; UINT64_MAX: never. */
uint64_t resolve_sync_ns(const struct resolver *r);
bool resolve_is_busy(const struct resolver *r); /* tables are being built */

/* Keeps the contents of a stack under its hash (replaced when it is there already). Bounded: past
 * STACK_CACHE_MAX_BYTES the older half is dropped. */
void resolve_stack_contents(struct resolver *r, const struct event_stack *st);
/* Whether contents were dropped since it was asked the last time: then the caller has the kernel send them anew. */
bool resolve_take_epoch_over(struct resolver *r);

/* One event in time order: a sample, a wait, or the times of a thread, to the sink: its stack resolved in its process, with its
 * labels (collect/labels.h). raw is NULL when the stack was walked in the kernel. */
void resolve_event(struct resolver *r, const union order_event *ev, const struct event_raw *raw);

/* Samples of `wall` wait for the exact times of their threads: hands them out, when those of all have come, as resolve_symbolize does at
 * the end. resolve_is_full: it is time to ask for them. */
void resolve_flush(struct resolver *r);
bool resolve_is_full(const struct resolver *r);

/* Gives every frame handed to the sink its names: ELF symbols, debug files, kernel symbols, BPF,
 * vDSO, perf-map, jitdump. */
void resolve_symbolize(struct resolver *r);
/* --- always on: one sink after the other */

/* Processes that ended long enough before then go, and objects that nobody uses. Each event does so as of its time; where none comes, it has to be
 * said that what came until then was given. */
void resolve_sweep(struct resolver *r, uint64_t now_ns);
/* Samples that are held for the names of their code (collect/jit.h): asks for these, and waits for some ms; what is not answered then comes later. */
void resolve_give_held(struct resolver *r);
/* What was answered goes to the sink, and processes of which records were lost are read anew when it is time: true then. Some times a second. */
bool resolve_run(struct resolver *r);
/* Asks, and after wait_ms all goes to the sink, some without names. */
void resolve_settle(struct resolver *r, uint32_t wait_ms);
/* Names the kernel's frames; false when none has come since the last time. */
bool resolve_name_kernel(struct resolver *r);
/* From here on everything goes to another sink, and ids are that one's. Processes and their mappings, objects, unwind tables and what is
 * known of GPUs stay. Not while `wall` is recorded, and nothing may be held. copy: from the sink that there was to this one; NULL: stacks of
 * what is in use on GPUs and of launches are forgotten. */
void resolve_set_sink(struct resolver *r, struct sink *sink, const struct resolve_types *types,
		      struct profile_copy *copy);
/* The files that processes have mapped and whose path is wanted; the descriptors stay the resolver's. The same file may come more than
 * once. */
void resolve_find_files(struct resolver *r, bool (*is_wanted)(const char *path),
			void (*found)(void *ctx, uint32_t pid, const char *path, int fd),
			void *ctx);
/* What of a GPU's memory is in use now, as samples, one for each origin; of a process that had some the last time and has none now, one of 0.
 * is_there: whether the kernel still has it, else it is forgotten; NULL: nobody asks. */
void resolve_gpu_snapshot(struct resolver *r, uint64_t now_ns,
			  bool (*is_there)(void *ctx, uint32_t pid, uint64_t address,
					   uint32_t flags),
			  void *ctx);
/* Origins that nobody refers to any more are forgotten, when there are many. */
void resolve_gpu_trim(struct resolver *r);
/* What each process has of a GPU's memory beyond what was counted, as an estimate: of the driver's figures of all. is_target: also of processes of which
 * no allocation was seen. Of a process that had some the last time and has none now, 0. */
struct gpu_reading;
void resolve_gpu_before(struct resolver *r, uint64_t now_ns, const struct gpu_reading *told,
			bool (*is_target)(void *ctx, uint32_t pid), void *ctx);
/* Something that ran on a GPU, or when that was watched, as a sample. */
struct gpu_ran {
	uint32_t type;
	uint32_t origin, pid; /* origin 0: who launched it is not known */
	uint64_t start_ns, length_ns, ns;
	uint32_t gpu;     /* as resolve_gpu_names has it, plus 1; 0: there is no such label */
	uint32_t stream;  /* likewise, its number */
	uint32_t samples; /* that its stack was estimated of; 0: it was not */
	uint32_t frames[2], n_frames; /* of the sink, at the leaf */
	const uint32_t *more;         /* below those; the caller's */
	uint32_t n_more;
	int64_t period;
};
void resolve_gpu_ran(struct resolver *r, const struct gpu_ran *ran);
/* What GPUs are called; for the caller to add to. */
struct gpu_names *resolve_gpu_names(struct resolver *r);
/* The processes that have mapped a file whose path is wanted. */
void resolve_find_processes(struct resolver *r, bool (*is_wanted)(const char *path),
			    void (*found)(void *ctx, uint32_t pid), void *ctx);
/* As collect_ask_labels. */
bool resolve_ask_labels(struct resolver *r, uint32_t pid, const struct series_hook *hook);
/* The file that a mapping of the sink is of, open for reading; it stays the resolver's until the next call of anything. -ENOENT: there
 * is none, or none any more. */
int resolve_file(struct resolver *r, uint32_t mapping);

void resolve_get_stats(const struct resolver *r, struct resolve_stats *out);

#endif
