/* collect/kernel/sampler_opts.h: settings of the kernel side: targets, sampling rate, events,
 * waits. Other parts of a collector have their own options, and read these. */
#ifndef CRESSET_COLLECT_KERNEL_SAMPLER_OPTS_H
#define CRESSET_COLLECT_KERNEL_SAMPLER_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum target_kind { TARGET_ALL = 0, TARGET_PID, TARGET_TID, TARGET_COMM, TARGET_CGROUP };

/* How user stacks are walked: by unwind tables, with frame pointers without one; or by
 * frame pointers only. */
enum unwind_mode { UNWIND_AUTO = 0, UNWIND_FP, UNWIND_TABLES };

/* Events to record. */
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
	COLLECT_GPU_STACK = 1024, /* passed to gpu_collect_opts.stack */
	COLLECT_GPU_TIME = 2048,  /* collect/gpu/gpu_time.h; of processes or the whole machine */
	COLLECT_GPU_STALL = 4096, /* collect/gpu/gpu_stall.h; of processes or the whole machine */
	COLLECT_LOCK = 8192,      /* types lock and lock-waits */
	/* Recorded at switches (bpf/off_cpu.h). */
	COLLECT_WAITS = COLLECT_OFF_CPU | COLLECT_SCHED_WAIT | COLLECT_WALL | COLLECT_LOCK,
	COLLECT_PAGE_FAULT = 16384,
	COLLECT_RSS = 32768, /* collect/resolve/resident.h */
	/* Recorded at page faults (bpf/sample.bpf.c). */
	COLLECT_FAULTS = COLLECT_PAGE_FAULT | COLLECT_RSS,
	/* Recorded by a library in the program (mem/live/live.h): types alloc and alloc-objects;
	 * inuse and inuse-objects. */
	COLLECT_ALLOC = 65536,
	COLLECT_INUSE = 131072,
	COLLECT_HEAP = COLLECT_ALLOC | COLLECT_INUSE,
	/* Recorded by a library in the program (gpu/ring/ring.h). */
	COLLECT_GPU_INSIDE = COLLECT_GPU_TIME | COLLECT_GPU_STALL,
	/* Recorded by probes on the GPU's libraries (collect/gpu/gpu_probes.h). */
	COLLECT_GPU = COLLECT_GPU_LAUNCH | COLLECT_GPU_WAIT | COLLECT_GPU_COPY | COLLECT_HBM_ALLOC |
		      COLLECT_HBM_INUSE | COLLECT_NCCL | COLLECT_GPU_STACK | COLLECT_GPU_INSIDE,
};

/* Where the user part of a wait's stack is taken (bpf/off_cpu.h). */
enum wait_hook { WAIT_HOOK_AUTO = 0, WAIT_HOOK_SCHED_EXIT, WAIT_HOOK_SYS_EXIT };

/* What triggers a CPU's samples: a timer, or a hardware counter, which also ticks while interrupts
 * are off. */
enum collect_clock { CLOCK_AUTO = 0, CLOCK_CPU, CLOCK_CYCLES };

/* limit: target processes and threads; others are counted */
enum { COLLECT_MAX_TARGETS = 10240 };

/* Defaults that 0 stands for below. They are macros with a unit because texts of options are made
 * of them. */
#define SAMPLER_FREQ_HZ         99
/* limit: MiB of the ring buffer, by default, with few CPUs or at a low rate */
#define SAMPLER_BUFFER_MIB      1
/* limit: MiB of the ring buffer, by default, with many CPUs or at a high rate */
#define SAMPLER_BUFFER_MOST_MIB 4
#define SAMPLER_UNWIND_MIB      32
#define SAMPLER_MAX_DEPTH       512 /* WALK_MAX_USER */
#define WAIT_MAX_BLOCK_H        1
#define WAIT_MAX_RATE           20000
/* Default of min_block_ns, in which 0 means 0. */
#define WAIT_MIN_BLOCK_MS       1
#define WAIT_MIN_BLOCK_NS       (WAIT_MIN_BLOCK_MS * 1000000ull)
#define WAIT_MAX_BLOCK_NS       (WAIT_MAX_BLOCK_H * 3600000000000ull)

struct wait_opts {
	uint64_t min_block_ns, max_block_ns; /* waits outside get no stack */
	uint64_t max_rate;                   /* stacks per second; 0 = WAIT_MAX_RATE */
	bool kernel_threads;                 /* include waits without a user frame */
	bool wakers, waker_stacks;           /* the thread that ended a wait; with its stack */
	enum wait_hook hook;                 /* -EOPNOTSUPP if the kernel does not have it */
	/* Share of one CPU's time that recording switches may take, if collect_cut is called every
	 * cut_every_ns. Beyond it switches are recorded in windows, and waits are estimates
	 * (collect/kernel/switch_windows.h). Not with COLLECT_WALL, whose times are exact. 0: no
	 * limit. */
	double budget;
	uint64_t cut_every_ns;
};

/* How programs are loaded. */
struct kernel_opts {
	/* kernel types to use in place of /sys/kernel/btf/vmlinux; NULL: that file. The caller's */
	const char *btf_file;
	/* Directory of all caches, for collect/kernel/types_part.h; NULL: none. The caller's. */
	const char *types_cache;
	/* Receives the whole log of a program that the verifier refuses. May be NULL. */
	void (*on_refused)(void *ctx, const char *program, const char *log);
	void *on_refused_ctx;
	/* bits of enum kernel_feature (collect/kernel/kernel_features.h) to treat as absent
	 * (tests) */
	uint32_t without;
};

struct sampler_opts {
	enum target_kind target;
	const uint32_t *ids; /* TARGET_PID, TARGET_TID */
	size_t n_ids;
	uint32_t max_targets; /* processes or threads followed at once; 0 = COLLECT_MAX_TARGETS */
	bool wait_exec;       /* TARGET_PID: drop samples of ids[0] until it has called exec */
	const char *comm;     /* TARGET_COMM: thread name, exact or glob */
	const char *cgroup;   /* TARGET_CGROUP: path, absolute or below the cgroup v2 mount */
	uint32_t events;      /* bits of enum collect_event; 0 = COLLECT_CPU */
	struct wait_opts waits;
	uint64_t freq_hz; /* 1…10000 */
	/* CLOCK_AUTO: cycles if a counter works, else cpu-clock; CLOCK_CYCLES: -EOPNOTSUPP if none
	 * works. */
	enum collect_clock clock;
	uint64_t max_depth; /* user frames, ≤ SAMPLER_MAX_DEPTH */
	bool no_kernel, no_user;
	enum unwind_mode unwind; /* UNWIND_TABLES: -EOPNOTSUPP if the kernel refuses our walk */
	uint64_t unwind_bytes;   /* kernel memory of tables, whole MiB */
	/* of the rings of samples and of waits together, rounded up to a power of two pages */
	uint64_t buffer_bytes;
	const char *cpus_file; /* list of CPUs to sample; NULL: those the kernel says are online */
	/* always on: no user waits for results, so thousands of starting processes may cost less */
	bool is_always;
	/* Share of the time of all CPUs that watching page faults may take
	 * (collect/kernel/fault_limits.h); 0: no limit. TARGET_ALL only. */
	double fault_budget;
	struct kernel_opts kernel;
	/* Sizes of the walker's tables of processes and of blocks of their mappings; how long one
	 * stack may take. 0: as in bpf/maps.h (tests) */
	uint32_t max_processes, max_blocks;
	uint64_t max_walk_ns;
	/* walk with the kernel's helper only, as if the verifier refused our walk (tests) */
	bool plain_walk;
	/* without the walkers of runtimes, as if the verifier refused them (bench) */
	bool no_runtimes;
};

/* Replaces 0 by the defaults, except in max_rate: an explicit limit reserves ring space for that
 * many waits, and also applies to GPU calls. */
void sampler_opts_settle(struct sampler_opts *opts);

/* Returns whether calls of GPU libraries are probed: also for `wall`, which separates time in calls
 * that wait for a GPU. */
static inline bool collect_probes_gpu(uint32_t events)
{
	return events & (COLLECT_GPU | COLLECT_WALL);
}

/* Returns whether any library is probed. */
static inline bool collect_probes_libraries(uint32_t events)
{
	return collect_probes_gpu(events) || events & COLLECT_HEAP;
}

/* Returns whether blocked time gets stacks; sched-wait alone is time of threads that could run. */
static inline bool collect_takes_blocked(uint32_t events)
{
	return events & (COLLECT_OFF_CPU | COLLECT_WALL);
}

/* max_block_ns to show to users; 0 if it is the default, which only a recording of over an hour can
 * exceed. */
static inline uint64_t wait_max_told_ns(const struct wait_opts *waits)
{
	return waits->max_block_ns == WAIT_MAX_BLOCK_NS ? 0 : waits->max_block_ns;
}

#endif
