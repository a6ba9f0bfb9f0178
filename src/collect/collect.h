/* collect/collect.h: the collector: from a timer interrupt in the kernel to samples with frames in a sink.
 *
 *     collect_open    loads the BPF programs, opens the side band and the process table; nothing samples yet
 *     collect_start   opens the sampling events; from here on the sink fills
 *     collect_run     waits, reads what came, resolves what is safe to resolve; call it in a loop
 *     collect_stop    stops sampling, reads the rest
 *     collect_symbolize  gives every frame in the sink its names; call it last
 *
 * Always on, instead of stopping:
 *
 *     collect_cut         an interval ends: what belongs to it is in the sink
 *     collect_name_kernel gives the kernel's frames their names
 *     collect_set_sink    goes on with an empty sink, so that memory stays bounded
 *
 * Single-threaded: everything happens inside these calls. A sample is resolved against the mappings valid at its own time: side-band
 * records and samples are held back until every CPU's ring has been read past their time, then taken in time order. */
#ifndef CRESSET_COLLECT_COLLECT_H
#define CRESSET_COLLECT_COLLECT_H

#include "base/err.h"
#include "bpf/event.h"
#include "bpf/gpu_event.h"
#include "collect/elf_names.h"
#include "collect/series_hook.h"
#include "profile/copy.h"
#include "profile/relabel.h"
#include "profile/sink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum target_kind { TARGET_ALL = 0, TARGET_PID, TARGET_TID, TARGET_COMM, TARGET_CGROUP };

/* How user stacks are walked: by unwind tables, and frame pointers where there is none; or by frame pointers only. */
enum unwind_mode { UNWIND_AUTO = 0, UNWIND_FP, UNWIND_TABLES };

/* What is recorded. */
enum collect_event {
	COLLECT_CPU = 1,
	COLLECT_OFF_CPU = 2,
	COLLECT_SCHED_WAIT = 4,
	COLLECT_WALL = 8,
	COLLECT_GPU_LAUNCH = 16,
	COLLECT_GPU_WAIT = 32,
	COLLECT_GPU_COPY = 64,
	COLLECT_HBM_ALLOC = 128,
	COLLECT_HBM_INUSE = 256,
	COLLECT_NCCL = 512,
	COLLECT_GPU_STACK = 1024, /* to gpu_stack, below */
	COLLECT_GPU_TIME = 2048,  /* collect/gpu_time.h; of processes, or of all */
	COLLECT_GPU_STALL = 4096, /* collect/gpu_stall.h; likewise */
	/* By a library in the program (gpu/ring.h). */
	COLLECT_GPU_INSIDE = COLLECT_GPU_TIME | COLLECT_GPU_STALL,
	/* By probes on the GPU's libraries (collect/gpu_probes.h). */
	COLLECT_GPU = COLLECT_GPU_LAUNCH | COLLECT_GPU_WAIT | COLLECT_GPU_COPY | COLLECT_HBM_ALLOC |
		      COLLECT_HBM_INUSE | COLLECT_NCCL | COLLECT_GPU_STACK | COLLECT_GPU_INSIDE,
};

/* What happens to processes that have the library of a GPU's driver in them; MAPPED also of those that had it before, and again of all when records were lost. */
enum gpu_program_news {
	GPU_PROGRAM_MAPPED,
	GPU_PROGRAM_FORKED, /* any process is a child of another one */
	GPU_PROGRAM_EXEC,   /* any process runs another program */
	GPU_PROGRAM_ENDED,  /* any process ends */
};

/* Where the user part of a wait's stack is taken (bpf/off_cpu.h). */
enum wait_hook { WAIT_HOOK_AUTO = 0, WAIT_HOOK_SCHED_EXIT, WAIT_HOOK_SYS_EXIT };

/* What makes a CPU's samples: a timer, or a hardware counter, whose ticks come also where interrupts are off. */
enum collect_clock { CLOCK_AUTO = 0, CLOCK_CPU, CLOCK_CYCLES };

enum { COLLECT_MAX_TARGETS = 10240 }; /* processes followed at once */

struct collect_opts {
	enum target_kind target;
	const uint32_t *ids; /* TARGET_PID, TARGET_TID */
	size_t n_ids;
	uint32_t max_targets; /* processes or threads followed at once; 0 = COLLECT_MAX_TARGETS */
	bool wait_exec;       /* TARGET_PID: drop samples of ids[0] until it has called exec */
	const char *comm;     /* TARGET_COMM: thread name, exact or glob */
	const char *cgroup;   /* TARGET_CGROUP: path, absolute or below the cgroup v2 mount */
	uint32_t freq_hz;     /* 1…10000, default 99 */
	/* CLOCK_AUTO: cycles where a counter works, else cpu-clock; CLOCK_CYCLES: -EOPNOTSUPP where none does. */
	enum collect_clock clock;
	uint32_t max_depth; /* user frames, ≤ 512 (0 = that) */
	bool no_kernel, no_user;
	enum unwind_mode unwind; /* UNWIND_TABLES: -EOPNOTSUPP where the kernel refuses our walk */
	uint64_t unwind_bytes;   /* kernel memory of tables, whole MiB; 0 = 32 MiB */
	uint64_t
		buffer_bytes; /* of the rings of samples and of waits together, rounded up to a power of two pages; 0 = 1 MiB */
	uint32_t
		max_open_files; /* descriptors kept for watched files; 0 = a quarter of RLIMIT_NOFILE, at most 1024 */
	const char
		*cpus_file; /* list of the CPUs to sample; NULL: those the kernel says are online */
	struct name_files_opts names;
	/* Of the walker's tables of processes, and of blocks of their mappings; how long one stack may take. 0: as in bpf/maps.h (tests) */
	uint32_t max_processes, max_blocks;
	uint64_t max_walk_ns;
	bool plain_walk; /* walk with the kernel's helper only, as where the verifier refuses our walk (tests) */
	uint32_t events; /* bits of enum collect_event; 0 = COLLECT_CPU */
	/* Of waits: those that get a stack. 0 = 1 ms and 1 h; with min_block_set 0 is 0. */
	uint64_t min_block_ns, max_block_ns;
	bool min_block_set;
	bool show_python_native;   /* also the interpreter's own frames between Python's */
	bool kernel_threads;       /* also waits without a user frame */
	bool wakers, waker_stacks; /* who ended a wait; with its stack */
	uint32_t max_rate;         /* stacks of waits per second; 0 = 20000 */
	enum wait_hook wait_hook;  /* -EOPNOTSUPP for what the kernel does not have */
	const char *host;          /* a label of every series; NULL: none. Stays the caller's */
	const struct label_text
		*labels; /* further ones of every series: kernel, arch …. The caller's */
	size_t n_labels;
	struct series_hook series_hook; /* which series are wanted */
	const struct relabel *relabel;  /* rules for labels, after that; NULL: none. The caller's */
	uint64_t stack_bytes;           /* for stacks as they were sent; 0 = 8 MiB */
	bool is_always; /* nobody waits for it: processes that begin by the thousand may cost less */
	/* The kernel's symbols stay in memory, packed (1 to 2 MB), so that collect_name_kernel costs next to nothing, and names anew for each sink. */
	bool keep_kernel_names;
	const char *
		gpu_script; /* what plays GPUs (gpu/scripted.h); NULL: those of this machine. The caller's */
	/* Of COLLECT_GPU_TIME, always on: what windows may cost each program, of the wall time; 0: all of the time is watched, and limits are
	 * those of a recording. */
	double gpu_budget;
	/* Of COLLECT_GPU_TIME: launches of one thread that get a stack, each second; 0: all. */
	uint32_t gpu_stacks_per_s;
	/* Of COLLECT_GPU_STACK: the stack, of the sink, that a launch of this correlation id has; it stands for so many. May be NULL. */
	void (*gpu_stack)(void *ctx, uint32_t pid, uint32_t tid, uint32_t correlation,
			  uint32_t stack, uint32_t weight);
	void *gpu_stack_ctx;
	/* Told in the order in which it happened, with the machine a target; parent: of FORKED. NULL: nobody asks. */
	void (*gpu_program)(void *ctx, enum gpu_program_news what, uint32_t pid, uint32_t parent);
	void *gpu_program_ctx;
	const char *
		btf_file; /* kernel types to use in place of /sys/kernel/btf/vmlinux; NULL: that. The caller's */
	/* A program that the kernel's verifier refuses: its whole log. NULL: nobody asks. */
	void (*on_refused)(void *ctx, const char *program, const char *log);
	void *on_refused_ctx;
	uint32_t
		without; /* bits of enum kernel_feature (collect/kernel_features.h) that are taken as absent (tests) */
};

/* A part of a recording that a kernel may refuse by itself. */
enum collect_group {
	GROUP_WALKER = 0,
	GROUP_RUNTIMES,
	GROUP_WAITS,
	GROUP_WAKERS,
	GROUP_GPU,
	COLLECT_GROUPS,
};
/* Which of what was asked for is not recorded, and why. */
struct collect_missing {
	enum collect_group group;
	/* One line: "the kernel's verifier refuses off_sys_exit: R2 min value is outside …", "this kernel has no task_struct.sched_info". */
	char why[200];
};

/* Whether calls of GPUs' libraries are probed: also for `wall`, which tells time in calls that wait for a GPU from other time. */
static inline bool collect_probes_gpu(const struct collect_opts *opts)
{
	return opts->events & (COLLECT_GPU | COLLECT_WALL);
}

/* Whether time that threads are blocked for gets stacks: sched-wait alone is of threads that could run. */
static inline bool collect_takes_blocked(const struct collect_opts *opts)
{
	return opts->events & (COLLECT_OFF_CPU | COLLECT_WALL);
}

static inline uint64_t collect_min_block_ns(const struct collect_opts *opts)
{
	enum { DEFAULT_NS = 1000000 };

	return opts->min_block_ns || opts->min_block_set ? opts->min_block_ns : DEFAULT_NS;
}

/* 0 where it is the default, which nothing but a recording of more than an hour can meet. */
static inline uint64_t collect_max_block_ns(const struct collect_opts *opts)
{
	return opts->max_block_ns == 3600000000000ull ? 0 : opts->max_block_ns;
}

/* Of probes on the libraries of GPUs. */
struct gpu_probes_stats {
	uint64_t counters[GPU_COUNTERS];
	uint32_t files, probes;        /* attached */
	uint32_t refused_launches;     /* that would have been single-stepped */
	uint32_t refused_files;        /* that cannot be probed, or are too many */
	uint64_t attach_ns, detach_ns; /* of all of them */
	const char *how;               /* "uprobe.multi", "uprobes"; NULL: nothing is attached */
	char problem[160];             /* the first one; "": none */
};

/* Of what ran on GPUs (collect/gpu_time.h). */
enum { GPU_TIME_RECENT = 4 };
struct gpu_time_stats {
	uint32_t programs;              /* that were watched */
	uint32_t watching, given_up;    /* now; given_up: of these, no window will open */
	uint64_t watched_ns, window_ns; /* of all of them; in windows */
	uint64_t records;               /* kernels, copies, sets, graphs */
	uint64_t exact_ns, estimated_ns, unknown_ns; /* by how well their stack is known */
	uint64_t dropped, names_lost, bad;
	uint32_t problems;
	char problem[160];                 /* the first one; "": none */
	char recent[GPU_TIME_RECENT][160]; /* the last ones: I is at I modulo their number */
};

/* Of where kernels stalled (collect/gpu_stall.h). */
struct gpu_stall_stats {
	uint64_t samples, not_issued;        /* not_issued: of samples */
	uint64_t exact, estimated, no_stack; /* samples, by how well their stack is known */
	double estimate_error; /* of those by estimate, the mean share that may be another stack's; 95 in 100 */
	uint64_t no_code; /* samples in device code that is not there */
	uint64_t other;   /* samples in kernels that are not the program's */
	uint64_t unclear; /* of no_code: in functions of which several files have different ones */
	uint64_t functions, places;
	uint64_t modules, in_files; /* images that programs handed over, and found in their files */
	uint64_t unread;            /* pieces of files with device code that could not be read */
	uint32_t shortest_period, longest_period; /* powers of two cycles; 0: none is known */
	uint64_t dropped, refused,
		cubins_lost; /* refused: samples for which there was no room here */
};

struct collect_stats {
	uint64_t samples, truncated,
		unsymbolized;     /* truncated: samples whose stack ends in a marker */
	uint64_t ends[WALK_ENDS]; /* samples, by why their stacks end (collect/walk_end.h) */
	uint64_t lost; /* samples so far; the reasons are in the sink's meta after collect_stop */
	uint64_t ring_bytes, kernel_map_bytes;
	uint64_t read_bytes;       /* that the kernel wrote for samples and stacks */
	uint64_t bpf_ns, bpf_runs; /* 0 unless kernel.bpf_stats_enabled */
	uint32_t cpus, processes, objects;
	struct name_failures names; /* after collect_symbolize */
	/* CPU time for the kernel's names, and how often its symbols were read for collect_name_kernel. */
	uint64_t kernel_names_ns, kernel_symbols_read;
	uint64_t first_sample_ns; /* CLOCK_MONOTONIC, 0 = none yet */
	bool cut_is_held; /* what the last collect_cut reported is not in the sink yet: it waits for unwind tables, 10 s at most */
	const char *clock;     /* "cpu-clock" or "cycles" */
	uint64_t uncounted_ns; /* time of CPUs in which others had the counter of cycles */
	const char *walker;    /* "unwind tables", "frame pointers" or "frame pointers (helper)" */
	uint64_t frames_by_table, frames_by_fp;
	uint64_t raw, raw_bytes; /* samples that were walked in user space; of read_bytes */
	uint64_t raw_refused;    /* that should have been: too many, or the ring too full */
	uint32_t tables;         /* in the kernel */
	uint64_t table_bytes, tables_evicted,
		tables_refused; /* refused: larger than all the memory */
	const char *wait_hook;  /* "sched_exit_tp" or "sys_exit"; NULL: no waits are recorded */
	uint64_t waits;         /* of the samples */
	uint64_t waits_sampled; /* others stand for them: more than max_rate */
	/* All waits that were too short (or long), of all threads, after collect_stop; all blocked time where nobody asked for any. */
	int64_t short_off_ns;
	struct gpu_time_stats gpu_time;
	struct gpu_stall_stats gpu_stall;
	struct gpu_probes_stats gpu; /* zeros where nothing of one was asked for */
};

struct collector;

/* Raises this process's soft limit of descriptors by what the machine's CPUs need, as far as its hard limit allows: fork what is to have the old
 * one before. -EPERM: permission missing; -EOPNOTSUPP: kernel or feature missing; -ESRCH: target not found; -EINVAL: options. Succeeds when at least one of
 * the events can be recorded: collect_get_missing has the rest. */
int collect_open(const struct collect_opts *opts, struct sink *sink, struct collector **out,
		 struct err *err);
/* Good until collect_free. Call it after collect_open; GPU's may come later, when a library is first seen. */
size_t collect_get_missing(struct collector *c, const struct collect_missing **out);
/* Those of opts->events that are not missing. */
uint32_t collect_events(const struct collector *c);
int collect_start(struct collector *c, struct err *err);
/* When that opened the first event, CLOCK_MONOTONIC: nothing is from before. */
uint64_t collect_started_ns(const struct collector *c);
/* Waits at most timeout_ms (a signal ends the wait early). Returns 0, or -errno on an internal failure. */
int collect_run(struct collector *c, int timeout_ms, struct err *err);
/* True once every process or thread that was a target has ended (TARGET_PID, TARGET_TID only). */
bool collect_targets_gone(struct collector *c);
int collect_stop(struct collector *c, struct err *err);
void collect_symbolize(struct collector *c);

/* collect_run returns when this descriptor of the caller's is readable, too, until it is closed. (What collect_run itself waits for cannot be
 * waited for elsewhere: to poll a ring of perf events says once that it is readable.) */
int collect_watch(struct collector *c, int fd, struct err *err);
/* Likewise, but when something more has come: what is left unread there is no reason. */
int collect_watch_news(struct collector *c, int fd, struct err *err);
/* Which GPUs this machine has, for their names: before collect_start, or as soon as it is known; what runs always waits for it, a second at most. The caller's. */
struct gpu_machine;
void collect_gpu_named(struct collector *c, const struct gpu_machine *m);
/* What the driver told of GPUs since the last time (gpu/watch.h): for memory in use that nobody counted. The caller's. */
struct gpu_reading;
void collect_gpu_told(struct collector *c, const struct gpu_reading *told);
/* What the hook says to the labels that the process's samples of GPU time would have now; false of one that is not known. */
bool collect_ask_labels(struct collector *c, uint32_t pid, const struct series_hook *hook);
/* Ends an interval: waits that go on are reported up to now, samples that are held for names are let go, and what was lost since the last
 * time is told to the sink. No sample comes twice. With waits it takes 20 ms more, so that all from before it is in the sink, but for what is
 * held until unwind tables are built (collect_stats.cut_is_held); that comes after it. */
int collect_cut(struct collector *c, struct err *err);
/* The same without the waits that go on, for who wants to see samples early and often: asking every thread is most of what a cut costs. */
int collect_catch_up(struct collector *c, struct err *err);
/* Samples that are held for names of code made at run time: asks for these, and after wait_ms all are in the sink, some without. */
void collect_settle(struct collector *c, uint32_t wait_ms);
/* True when there was one without. Without keep_kernel_names those that were named for an earlier sink are left out. */
bool collect_name_kernel(struct collector *c);
/* Right after collect_cut: from here on everything goes to another sink. copy: from the one there was to that one, for what is in use on GPUs;
 * NULL: that is forgotten. -EINVAL while `wall` is recorded: samples are held. */
int collect_set_sink(struct collector *c, struct sink *sink, struct profile_copy *copy,
		     struct err *err);
/* The file that a mapping of the sink is of, for reading; it stays the collector's until the next call. -ENOENT: there is none. */
int collect_file(struct collector *c, uint32_t mapping);

void collect_get_stats(struct collector *c, struct collect_stats *out);
/* Only what is seen of GPUs, which costs less. */
void collect_get_gpu_stats(struct collector *c, struct gpu_probes_stats *probes,
			   struct gpu_time_stats *time);
void collect_free(struct collector *c);

/* What works here, for doctor: one row per capability; `remedy` is "" when ok. kernel: btf_file, on_refused and `without` of it count. */
enum check_state { CHECK_OK, CHECK_LIMITED, CHECK_MISSING };
struct check {
	const char *name; /* "BPF programs", "kernel symbols", "hardware counters" … */
	enum check_state state;
	char detail[240], remedy[300];
};
enum { CHECKS_MAX = 32 };
size_t collect_checks(const struct collect_opts *kernel, struct check *out, size_t max);
/* Only that one, which costs next to nothing; name is left alone. */
void collect_check_capabilities(struct check *out);

#endif
