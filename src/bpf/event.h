/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/event.h: what the kernel side sends through the ring buffer, shared by BPF and user space.
 *
 * Every sample is one fixed event; the addresses of its stack travel apart, once per CPU and hash while that CPU remembers the
 * hash. Times are CLOCK_MONOTONIC ns. Layouts have no implicit padding and are the same for both sides. */
#ifndef CRESSET_BPF_EVENT_H
#define CRESSET_BPF_EVENT_H

#include <linux/types.h>

enum {
	EVENT_SAMPLE = 1,
	EVENT_STACK = 2,
	EVENT_RAW = 3,
	EVENT_WAIT = 4,
	EVENT_THREAD = 5,
	EVENT_GPU = 6, /* bpf/gpu_event.h */
};

enum {
	WALK_MAX_USER = 512,   /* user frames in one stack; more end in WALK_DEPTH */
	WALK_MAX_KERNEL = 127, /* kernel.perf_event_max_stack's default */
	EVENT_COMM_LEN = 16,
};

/* Why the walk of the user stack ended. Everything but the first two is shown as a marker frame at the root. */
enum walk_end {
	WALK_COMPLETE = 0, /* reached the thread's first frame */
	WALK_NO_USER = 1, /* nothing to walk: a kernel thread, or the user side was not asked for */
	WALK_NO_FP = 2,   /* code without a table, and no frame pointer either */
	WALK_UNREADABLE = 3, /* a stack page could not be read */
	WALK_DEPTH = 4,      /* more frames than asked for */
	WALK_32BIT = 5,      /* a 32-bit process */
	WALK_RULE =
		6, /* a rule that cannot be followed, or a register that is not known any more */
	WALK_ASTRAY = 7, /* a rule led to what is no frame */
	WALK_NOT_LOADED =
		8, /* mappings or a table that the walker did not have yet, and no room to send the stack itself */
	WALK_CUT = 9, /* user space only: more stack than was sent along */
	WALK_KERNEL =
		10, /* user space only: no frame pointer, and a kernel that cannot run our walk */
	WALK_LOST = 11, /* user space only: the ring had no room for the contents */
	WALK_EXEC = 12, /* a wait inside an exec: the program that called it is gone */
	WALK_TIME = 13, /* it took too long, with interrupts off */
	WALK_NO_ROOM =
		14, /* by frame pointers only: there was no room for the mappings of the process */
	WALK_ENDS
};

/* The span of a trace that the thread worked for (W3C Trace Context), as its bytes are written; zeros: none. */
struct event_trace {
	__u64 trace[2], span;
};

/* {kind, stack_hash}: a sample refers to the EVENT_STACK with the same hash, sent before it by the same CPU. hash 0: no frames. */
struct event_sample {
	__u16 kind;    /* EVENT_SAMPLE */
	__u16 periods; /* of the sampling rate that it stands for (bpf/cycle_clock.h) */
	__u32 cpu;
	__u64 time_ns;
	__u64 stack_hash;
	__u64 cgroup_id; /* v2 */
	__u32 tgid, tid;
	char comm[EVENT_COMM_LEN]; /* of the thread */
	struct event_trace trace;
	__u32 mappings; /* of its memory, how many; 0: it has none */
	/* Inside a call that waits for a GPU: 1, and so many user frames are those of what it calls; 0: in none. In an event_raw just 1: that is
	 * found in the copy of its stack. */
	__u32 gpu_call;
};
_Static_assert(sizeof(struct event_sample) == 88, "event_sample has no padding");

/* A time off the CPU: first blocked (or stopped), then runnable without a CPU. Both of a sample's lengths are exact; weight_ns is what
 * all shown parts together stand for when not every wait was sent. */
enum wait_part {
	WAIT_OFF_CPU = 1,
	WAIT_SCHED = 2,
	WAIT_STOPPED_PART = 4,
};
struct wait_info {
	__u64 start_ns;       /* when it left the CPU */
	__u64 off_ns, run_ns; /* blocked, then runnable */
	__u64 weight_ns;      /* the sum of the parts shown, but for sampled ones */
	__u64 kernel_hash; /* where the kernel part of the stack is, when it was taken earlier; 0: with the rest */
	__u32 parts; /* bits of enum wait_part: which are shown; 0: this is no wait */
	__u32 waker_tgid;
	__u32 waker_tid; /* 0: not known, or an interrupt (then the name says so) */
	/* Of one that goes on, as threads are asked: tells it from others of its thread; 0: it is over. Told again while its thread has not run,
	 * it comes without a stack (stack_hash is 0): that is still the one which was copied the first time. */
	__u32 going_on;
	__u64 waker_hash; /* of its stack, 0: none */
	char waker_comm[EVENT_COMM_LEN];
};
_Static_assert(sizeof(struct wait_info) == 80, "wait_info has no padding");

/* The sample is of the moment when the stack was taken, right after the wait. */
struct event_wait {
	struct event_sample sample; /* kind is EVENT_WAIT, or EVENT_RAW in an event_raw */
	struct wait_info wait;
};

/* The exact times of a thread: at its end, or when asked for. long_…: of that, the waits that passed the filter. */
struct event_thread {
	struct event_sample sample; /* kind is EVENT_THREAD; time_ns: until when */
	__u64 first_ns;
	__u64 on_ns, off_ns, run_ns, stopped_ns;
	__u64 long_off_ns, long_run_ns, long_stopped_ns;
	/* Of all that, inside calls that wait for a GPU. */
	__u64 gpu_on_ns, gpu_off_ns, long_gpu_off_ns;
	__u64 ended;
};
_Static_assert(sizeof(struct event_thread) == 184, "event_thread has no padding");

/* Leaf first, kernel part before the user part. Kernel addresses, and user addresses without STACK_FRAMES: the first of each part is the
 * exact instruction, the others are return addresses. With it the user part is frames as bpf/space.h has them. */
enum {
	STACK_FRAMES = 1,
	STACK_PORTABLE = 2, /* no user frame is an address: the same stack in every process */
	STACK_PYTHON_CUT =
		4, /* there are more frames of Python, which were not read or are too many */
	STACK_PYTHON_GROUPS =
		8, /* of a sample with a copy of its stack: groups of them instead of native frames */
};
struct event_stack {
	__u16 kind; /* EVENT_STACK */
	__u16 reserved;
	__u16 n_kernel, n_user;
	__u64 stack_hash;
	__u16 walk_end; /* enum walk_end */
	__u16 flags;
	__u32 syscall;  /* of a wait: its number + 1; 0: not in a system call, or no wait */
	__u32 tgid;     /* of one that took it; 0 unless it has frames of Python */
	__u32 n_python; /* words of the user part: frames of Python (bpf/cpython_walk.h) */
	__u64 addr[];
};
_Static_assert(sizeof(struct event_stack) == 32, "event_stack has no padding");

/* A sample whose walk met something that is not loaded yet: user space walks the copy of its stack. Its stack_hash is that of the
 * kernel part. */
enum { RAW_MAX_STACK = 32 << 10 };
#define RAW_NOT_WALKED \
	0xffffffffu /* in place of a table: a wait that goes on, whose stack is walked by user space anyhow */
/* struct pt_regs of x86-64, as words. */
enum { PT_FP = 4, PT_IP = 16, PT_CS = 17, PT_SP = 19, PT_REGS_WORDS = 21 };
struct event_raw {
	struct event_wait ev; /* sample.kind is EVENT_RAW; without parts: no wait */
	__u64 regs[PT_REGS_WORDS];
	__u32 table;       /* that was not there, 0: a mapping; or RAW_NOT_WALKED */
	__u32 stack_bytes; /* from regs' stack pointer on */
	__u64 call_sp;     /* of the caller of the call that waits for a GPU; 0: it is in none */
	__u8 stack[];
};

/* Whose samples are taken: the sampler's knob `filter`. */
enum sample_filter { FILTER_ALL = 0, FILTER_TGID, FILTER_TID, FILTER_COMM, FILTER_CGROUP };

/* Value of the target tables. */
struct target {
	__u32 wait_exec; /* 1: samples are dropped until the process has called exec */
};

/* One bit per position of a glob pattern (`collect/target.h` compiles it): comm is matched byte by byte in the kernel. */
enum { GLOB_MAX_POSITIONS = 63 };
struct glob_program {
	__u64 match[256]; /* positions that byte c may step onto */
	__u64 star;       /* positions that may stay for any byte */
	__u64 accept;     /* the one bit of the end */
};

/* Losses counted in the kernel, summed over CPUs: index of the per-CPU counter map. */
enum counter {
	COUNT_SAMPLES = 0,     /* sent */
	COUNT_RING_FULL,       /* samples the ring refused */
	COUNT_RING_BUSY,       /* … which had room, but was locked by another CPU */
	COUNT_STACK_RING_FULL, /* stack contents the ring refused */
	COUNT_TARGETS_FULL,    /* children that could not be followed */
	COUNT_STACKS,          /* stack contents sent */
	COUNT_RAW,             /* samples sent with their stack */
	COUNT_RAW_REFUSED, /* samples that should have been: beyond the rate, or the ring was full */
	COUNT_BY_TABLE,    /* frames whose caller was found by a rule */
	COUNT_BY_FP,       /* … by the frame pointer */
	COUNT_WAITS_SAMPLED, /* not sent, as others stand for them */
	COUNT_WAITS_LOST,    /* the ring refused */
	COUNT_WAITS_UNSEEN,  /* the switch at their end was not seen */
	COUNT_TASKS_UNKNOWN, /* no room for the times of a thread */
	COUNT_PYTHON_UNREAD, /* stacks with frames of Python that cannot be read */
	COUNT_TRACES_UNREAD, /* samples whose thread has a span that cannot be read (bpf/trace.h) */
	COUNT_CYCLES_GONE_NS, /* busy time of CPUs in which no tick of cycles came */
	COUNTERS
};

#endif
