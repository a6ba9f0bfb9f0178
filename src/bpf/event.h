/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/event.h: the events that BPF programs send through the ring buffer, shared by BPF and user
 * space.
 *
 * Every sample is one event of fixed size. The addresses of its stack are sent separately, once per
 * CPU and hash for as long as that CPU remembers the hash. Times are CLOCK_MONOTONIC ns. Layouts
 * have no implicit padding and are the same for both sides. */
#ifndef CRESSET_BPF_EVENT_H
#define CRESSET_BPF_EVENT_H

#include "bpf/futex.h"

#include <linux/types.h>

enum {
	EVENT_SAMPLE = 1,
	EVENT_STACK = 2,
	EVENT_RAW = 3,
	EVENT_WAIT = 4,
	EVENT_THREAD = 5,
	EVENT_GPU = 6,   /* bpf/gpu_event.h */
	EVENT_FAULT = 7, /* bpf/fault_event.h */
	EVENT_FUNCTION = 8,
};

enum {
	/* limit: user frames in a stack; a deeper one ends in [truncated: depth] */
	WALK_MAX_USER = 512,
	/* limit: kernel frames (kernel.perf_event_max_stack's default) */
	WALK_MAX_KERNEL = 127,
	EVENT_COMM_LEN = 16,
};

/* Why the walk of the user stack ended. All but the first two appear as a marker frame at the
 * root. */
enum walk_end {
	WALK_COMPLETE = 0,   /* reached the thread's first frame */
	WALK_NO_USER = 1,    /* nothing to walk: a kernel thread, or no user stack was requested */
	WALK_NO_FP = 2,      /* code without a table, and no frame pointer either */
	WALK_UNREADABLE = 3, /* a stack page could not be read */
	WALK_DEPTH = 4,      /* more frames than requested */
	WALK_32BIT = 5,      /* a 32-bit process */
	WALK_RULE = 6, /* a rule that cannot be applied, or needs a register whose value is lost */
	WALK_ASTRAY = 7, /* a rule led to something that is no frame */
	/* no mapping or table is loaded for this code yet: a copy of the stack is sent; in user
	 * space, the table was too late */
	WALK_NOT_LOADED = 8,
	WALK_CUT = 9, /* more stack than was sent along, or frames of another call */
	WALK_KERNEL =
		10, /* user space only: no frame pointer, and a kernel that cannot run our walk */
	WALK_LOST = 11, /* user space only: the ring had no room for the addresses */
	/* inside an exec or exit that has released the memory with the stack: nothing is missing */
	WALK_EXEC = 12,
	WALK_TIME = 13, /* took too long: interrupts are off during the walk */
	WALK_NO_ROOM =
		14, /* walked by frame pointers only: no room for the mappings of the process */
	WALK_EXIT = 15,
	/* as WALK_NOT_LOADED: the ring was too full for the copy; or copies had taken their share
	 * of the CPU */
	WALK_NO_COPY_ROOM = 16,
	WALK_NO_COPY_TIME = 17,
	/* user space only: the code is in no known mapping; or in a file that cannot be read, so it
	 * has no table, and it has no frame pointer */
	WALK_NO_MAPPING = 18,
	WALK_NO_FILE = 19,
	WALK_ENDS
};

/* The span that the thread was working for (W3C Trace Context), in the byte order of its text form;
 * zeros: none. */
struct event_trace {
	__u64 trace[2], span;
};

/* In events that user space makes. */
enum { EVENT_NO_CPU = 0xffff };
#define EVENT_NO_UID 0xffffffffu

/* A sample refers to the EVENT_STACK with the same hash, which the same CPU sent before it. Hash 0:
 * no frames. */
struct event_sample {
	__u16 kind;    /* EVENT_SAMPLE */
	__u16 periods; /* sampling periods it stands for (bpf/cycle_clock.h) */
	__u32 uid;     /* effective user of the thread, as the host numbers users */
	__u64 time_ns;
	__u64 stack_hash;
	__u64 cgroup_id; /* v2 */
	__u32 tgid, tid;
	char comm[EVENT_COMM_LEN]; /* of the thread */
	struct event_trace trace;
	__u32 mappings; /* number of mappings in its memory; 0: none */
	__u16 cpu;
	/* Not 0: inside a call that waits for a GPU. Then it is the number of user frames that
	 * belong to that call and its callees, at least 1. In an event_raw it is just 1: the reader
	 * finds the number in the copy of the stack. */
	__u16 gpu_call;
};
_Static_assert(sizeof(struct event_sample) == 88, "event_sample has no padding");

/* A time off the CPU: first blocked (or stopped), then runnable without a CPU. off_ns and run_ns
 * are exact. weight_ns is what the shown parts together stand for when not every wait was sent. */
enum wait_part {
	WAIT_OFF_CPU = 1,
	WAIT_SCHED = 2,
	WAIT_STOPPED_PART = 4,
	/* 8 is PART_GPU (bpf/gpu_event.h), 32 PART_FAULT (bpf/fault_event.h). */
	WAIT_THINNED =
		16, /* stands for more: switches are recorded in windows (bpf/thread_time.h) */
};
struct wait_info {
	__u64 start_ns;       /* when it left the CPU */
	__u64 off_ns, run_ns; /* blocked, then runnable */
	__u64 weight_ns;      /* the sum of the parts shown, unless sampled */
	/* the stack with the kernel part, when that was taken earlier; 0: in the sample's own
	 * stack */
	__u64 kernel_hash;
	__u32 parts; /* bits of enum wait_part: which are shown; 0: not a wait */
	__u32 waker_tgid;
	__u32 waker_tid; /* 0: unknown, or an interrupt (by its name) */
	/* Identifies a pending wait among those of its thread; 0: the wait is over. A pending wait
	 * that is reported again before its thread has run has no stack (stack_hash is 0): the copy
	 * sent with the first report is still valid. */
	__u32 going_on;
	__u64 waker_hash; /* of its stack; 0: none */
	char waker_comm[EVENT_COMM_LEN];
	struct lock_wait lock; /* the lock it waited for, where requested */
};
_Static_assert(sizeof(struct wait_info) == 96, "wait_info has no padding");

/* The sample's time is when the stack was taken, right after the wait. */
struct event_wait {
	struct event_sample sample; /* kind is EVENT_WAIT, or EVENT_RAW in an event_raw */
	struct wait_info wait;
};

/* The exact times of a thread, sent at its end or on request. The long_… fields sum only the
 * waits that passed the filter. */
struct event_thread {
	struct event_sample sample; /* kind is EVENT_THREAD; time_ns: end of the times */
	__u64 first_ns;
	__u64 on_ns, off_ns, run_ns, stopped_ns;
	__u64 long_off_ns, long_run_ns, long_stopped_ns;
	/* The share of all this inside calls that wait for a GPU. */
	__u64 gpu_on_ns, gpu_off_ns, long_gpu_off_ns;
	__u64 ended;
};
_Static_assert(sizeof(struct event_thread) == 184, "event_thread has no padding");

/* Leaf first, kernel part before the user part. In kernel addresses, and in user addresses without
 * STACK_FRAMES, the first of each part is the exact instruction and the others are return
 * addresses. With STACK_FRAMES the user part has frames as in bpf/space.h. */
enum {
	STACK_FRAMES = 1,
	STACK_PORTABLE = 2,   /* no user frame is an address: the same stack in every process */
	STACK_PYTHON_CUT = 4, /* more Python frames exist: unreadable, or beyond the limit */
	/* for a sample with a copy of its stack: groups of Python frames instead of native
	 * frames */
	STACK_PYTHON_GROUPS = 8,
	STACK_INLINE = 16,    /* there are frames of two words among the native ones */
	STACK_PHP_CUT = 32,   /* more frames of PHP exist: unreadable */
	STACK_PHP_UNFIT = 64, /* frames of PHP may be before the wrong native ones */
};
struct event_stack {
	__u16 kind; /* EVENT_STACK */
	__u16 reserved;
	__u16 n_kernel, n_user;
	__u64 stack_hash;
	__u16 walk_end; /* enum walk_end */
	__u16 flags;
	__u32 syscall;  /* of a wait: system call number + 1; 0: not in one, or not a wait */
	__u32 tgid;     /* the process, for stacks with Python frames; else 0 */
	__u32 n_python; /* words of Python frames at the start of the user part */
	__u64 addr[];
};
_Static_assert(sizeof(struct event_stack) == 32, "event_stack has no padding");

/* A function of a runtime, read when a stack first has it: it may be gone later. It is sent before
 * that stack, through the same ring. Texts are as long as their lengths, or as there is space: a
 * longer file is cut at its start, other texts at their end. */
enum { FUNCTION_NAME = 128, FUNCTION_FILE = 256 };
struct event_function {
	__u16 kind; /* EVENT_FUNCTION */
	__u16 reserved;
	__u32 tgid;
	__u64 what;  /* the first word of its frames (bpf/runtime_frame.h) */
	__u32 stamp; /* of the second one */
	__u32 line;  /* that it starts at; 0: unknown */
	__u32 scope_len, name_len, file_len;
	__u32 reserved_2;
	char scope[FUNCTION_NAME], name[FUNCTION_NAME], file[FUNCTION_FILE];
};
_Static_assert(sizeof(struct event_function) == 552, "event_function has no padding");

/* A sample whose walk met code that is not loaded yet: user space walks the copy of its stack. Its
 * stack_hash is that of the kernel part. */
enum { RAW_MAX_STACK = 32 << 10 };
/* In place of a table: a pending wait, whose stack is always walked by user space. */
#define RAW_NOT_WALKED 0xffffffffu
/* struct pt_regs of x86-64, as words. */
enum { PT_FP = 4, PT_IP = 16, PT_CS = 17, PT_SP = 19, PT_REGS_WORDS = 21 };
struct event_raw {
	struct event_wait ev; /* sample.kind is EVENT_RAW; without parts: not a wait */
	__u64 regs[PT_REGS_WORDS];
	__u32 table;       /* the missing table; 0: a missing mapping; or RAW_NOT_WALKED */
	__u32 stack_bytes; /* from regs' stack pointer on */
	__u64 call_sp;     /* of the caller of the call that waits for a GPU; 0: in no such call */
	__u8 stack[];
};

/* Which tasks are sampled: the sampler's knob `filter`. */
enum sample_filter { FILTER_ALL = 0, FILTER_TGID, FILTER_TID, FILTER_COMM, FILTER_CGROUP };

/* Value of the target tables. */
struct target {
	__u32 wait_exec; /* 1: samples are dropped until the process has called exec */
};

/* A glob pattern with one bit per position (`collect/kernel/target.h` compiles it). The kernel
 * matches comm byte by byte. */
enum { GLOB_MAX_POSITIONS = 63 };
struct glob_program {
	__u64 match[256]; /* positions that byte c may advance to */
	__u64 star;       /* positions that stay on any byte */
	__u64 accept;     /* the bit of the end */
};

/* Losses counted in the kernel, summed over CPUs: index of the per-CPU counter map. */
enum counter {
	COUNT_SAMPLES = 0,     /* sent */
	COUNT_RING_FULL,       /* samples refused by the ring */
	COUNT_RING_BUSY,       /* … although it had room: another CPU held its lock */
	COUNT_STACK_RING_FULL, /* stack contents refused by the ring */
	COUNT_TARGETS_FULL,    /* children that could not be followed */
	COUNT_STACKS,          /* stack contents sent */
	COUNT_RAW,             /* samples sent with their stack */
	/* samples that should have been: the ring was half full, or copies took too long */
	COUNT_RAW_NO_ROOM,
	COUNT_RAW_NO_TIME,
	COUNT_BY_TABLE,       /* frames whose caller was found by a rule */
	COUNT_BY_FP,          /* … by the frame pointer */
	COUNT_WAITS_SAMPLED,  /* not sent: other waits stand for them */
	COUNT_WAITS_LOST,     /* refused by the ring */
	COUNT_WAITS_UNSEEN,   /* whose final switch was not seen */
	COUNT_TASKS_UNKNOWN,  /* threads whose times could not be retained: no space */
	COUNT_PYTHON_UNREAD,  /* stacks with unreadable Python frames */
	COUNT_TRACES_UNREAD,  /* samples whose thread has an unreadable span (bpf/trace.h) */
	COUNT_CYCLES_GONE_NS, /* busy time of CPUs without a tick of cycles */
	COUNT_FAULTS_LOST,    /* page faults refused by the ring */
	COUNT_FAULTS_SEEN,    /* by the programs, whether sent or not */
	COUNT_FAULTS_NS,      /* time in these programs for faults that were sent */
	COUNT_RUN_NS,         /* time in these programs, except at switches (off_cpu.h) */
	COUNTERS
};

#endif
