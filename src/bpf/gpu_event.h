/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/gpu_event.h: calls of GPU libraries as the probes see them: the description of a probed
 * function, and the events sent. Shared by BPF and user space; independent of the vendor. */
#ifndef CRESSET_BPF_GPU_EVENT_H
#define CRESSET_BPF_GPU_EVENT_H

#include "bpf/event.h"

/* What a function does, one bit each. */
enum gpu_what {
	GPU_LAUNCH = 1, /* starts work on the device */
	GPU_WAIT = 2,   /* returns when the device has finished */
	GPU_ALLOC = 4,
	GPU_FREE = 8,
	GPU_COPY = 16,  /* to, from or on the device */
	GPU_NCCL = 32,  /* between devices */
	GPU_RESET = 64, /* frees everything in a context */
	GPU_USE = 128,  /* the thread switches to another device or context */
	/* A library in the program requests the stack of a launch: the probe is in its code. Its
	 * first arguments are the launch's correlation id, what it called, and how many launches it
	 * stands for. */
	GPU_STACK = 256,
	/* MAP: memory with a handle gets an address: (address, bytes, …, handle). UNMAP: it loses
	 * it: (address, bytes). RETAIN: it gets one more handle: (…, address). */
	GPU_MAP = 512,
	GPU_UNMAP = 1024,
	GPU_RETAIN = 2048,
	/* Not of a GPU: a library in the program reports a sampled allocation of its heap
	 * (mem/inject/library.h): number, bytes, and a weight (mem/live/live.h). */
	GPU_HEAP = 4096,
	/* HotSpot's sampler of allocations (bpf/java_heap.h): decides about an object (sampler,
	 * object, bytes, bytes since); has chosen one (sampler, object, top of the TLAB). Sent as
	 * GPU_HEAP with GPU_HEAP_JAVA. */
	GPU_JAVA_CHECK = 8192,
	GPU_JAVA_SAMPLE = 16384,
};
enum { GPU_AT_RETURN = GPU_WAIT | GPU_ALLOC }; /* those also probed at their return */

/* The number of bytes; a and b are numbers of arguments. */
enum gpu_bytes {
	GPU_BYTES_NONE = 0,
	GPU_BYTES_ARG,     /* a */
	GPU_BYTES_PRODUCT, /* a * b */
	GPU_BYTES_PITCH,   /* the word that a points to on return, * b */
	GPU_BYTES_TYPED,   /* a elements of type b, whose sizes the row has */
	GPU_BYTES_PLANE,   /* the product of two words at address a + b */
	GPU_BYTES_VOLUME,  /* … of three */
	/* An array whose description a points to: b sizes, then a 32-bit type, whose size the row
	 * has, the number of its channels, and flags. */
	GPU_BYTES_ARRAY,
};
/* An address is that of memory, a handle, or one where a handle's memory is mapped: the three are
 * kept apart. */
enum { GPU_ADDRESS_HANDLE = 1, GPU_ADDRESS_MAPPED = 2 };
/* Of GPU_HEAP: the weight is a number of bytes: a random point in them has sampled the object; or
 * the address is, and it stands for these bytes. 0: not so. The context is the mean distance of
 * these points in bytes, and one sample in 2^how is sent. */
enum { GPU_HEAP_JAVA = 1 };
enum { GPU_UNMAPPED_AT_ONCE = 16 }; /* limit: GPU mappings one call frees */
enum { GPU_NO_ARG = 0xff, GPU_MAX_ARGS = 6, GPU_TYPES = 16 };

/* One probe. */
struct gpu_probe_row {
	__u32 what; /* bits of enum gpu_what */
	__u8 bytes; /* enum gpu_bytes */
	__u8 a, b;
	/* GPU_ALLOC: the argument that points to where the address goes. GPU_FREE: the address.
	 * GPU_RESET, GPU_USE: the device or context; GPU_NO_ARG: the thread's. */
	__u8 address;
	__u8 flags;
	/* GPU_BYTES_ARRAY: the argument with the number of levels, GPU_NO_ARG: one level; the flags
	 * of arrays without memory of their own; the flags of arrays whose third size is a number
	 * of layers. */
	__u8 levels, void_flags, layer_flags;
	__u8 reserved[4];
	__u8 type_bytes[GPU_TYPES]; /* by type; for arrays pairs: type, bytes */
	__u64 skipped;              /* bytes from the function's first instruction to the probe */
	__u64 below, beyond; /* the library's code: from address - below up to address + beyond */
};
_Static_assert(sizeof(struct gpu_probe_row) == 56, "gpu_probe_row has no padding");
enum { GPU_MAX_ROWS = 4096 }; /* limit: probes in GPU libraries */

/* What an event has in place of its wait_info. */
enum { PART_GPU = 8 }; /* next to enum wait_part */
/* GPU_HOW_ESTIMATE: not a wait and not of an event: an estimate made by user space. */
enum gpu_how { GPU_HOW_NONE = 0, GPU_HOW_SPIN, GPU_HOW_SLEEP, GPU_HOW_ESTIMATE };
struct gpu_info {
	__u64 start_ns; /* of the call */
	__u64 value;    /* bytes, or ns for GPU_WAIT; 0 for GPU_LAUNCH */
	__u64 weight;   /* number of calls it stands for; GPU_HEAP: its third argument,
			 * or as GPU_HEAP_JAVA says */
	__u64 address;
	__u64 none;        /* 0: in the place of a wait's kernel part */
	__u32 parts;       /* PART_GPU */
	__u32 what;        /* one bit of enum gpu_what */
	__u64 correlation; /* GPU_HEAP: number of the sample */
	/* the device or context that the thread uses, as the thread named it; 0: the first */
	__u64 context;
	__u32 how;   /* enum gpu_how, for GPU_WAIT */
	__u32 flags; /* of the row, or GPU_HEAP_JAVA */
	__u64 reserved[3];
};
_Static_assert(sizeof(struct gpu_info) == sizeof(struct wait_info), "one takes the other's place");
_Static_assert(__builtin_offsetof(struct gpu_info, parts) ==
		       __builtin_offsetof(struct wait_info, parts),
	       "parts tells them apart");

struct event_gpu {
	struct event_sample sample; /* kind is EVENT_GPU, or EVENT_RAW in an event_raw */
	struct gpu_info gpu;
};

/* An allocation, kept until it is freed. */
struct gpu_block_key {
	__u64 address;
	__u32 tgid;
	__u32 flags; /* GPU_ADDRESS_… */
};
struct gpu_block {
	__u64 bytes, time_ns;
	__u64 context;    /* for GPU_ADDRESS_MAPPED: the handle */
	__u64 mapped_at;  /* its last mapped address; 0: never mapped */
	__u32 refs, maps; /* its handles not yet released, and its mapped addresses */
};

/* Counters of the probes, summed over CPUs. */
enum gpu_counter {
	GPU_COUNT_LAUNCHES = 0,  /* calls that started work, outermost only */
	GPU_COUNT_NESTED,        /* calls that another call made */
	GPU_COUNT_SHORT_WAITS,   /* waits below the limit, */
	GPU_COUNT_SHORT_NS,      /* their time */
	GPU_COUNT_COPIES,        /* calls */
	GPU_COUNT_COPY_BYTES,    /* of all of them */
	GPU_COUNT_NCCL,          /* calls */
	GPU_COUNT_NCCL_BYTES,    /* of all of them */
	GPU_COUNT_ALLOC_FAILED,  /* allocations that the library refused */
	GPU_COUNT_FREES_UNKNOWN, /* frees of memory whose allocation was not seen */
	GPU_COUNT_BLOCKS_FULL,   /* allocations that were not retained: no space */
	GPU_COUNT_THREADS_FULL,  /* calls of threads for which there was no space */
	/* calls not handled: preempted tasks had taken all places */
	GPU_COUNT_BUSY,
	GPU_COUNT_LOST,          /* events refused by the ring */
	GPU_COUNT_LOST_LAUNCHES, /* launches they stood for */
	GPU_COUNT_HEAP_LOST,     /* samples of a heap refused by the ring */
	GPU_COUNT_UNREADABLE,    /* calls whose arguments could not be read */
	GPU_COUNTERS
};

/* What a thread has launched since its last stack is sent when it ends, or read at the end of
 * recording. */
enum gpu_rate_of { GPU_RATE_LAUNCH = 0, GPU_RATE_COPY, GPU_RATE_NCCL, GPU_RATES };
struct gpu_rate {
	__u64 window_ns;   /* when the window started */
	__u64 skipped;     /* calls since the last stack */
	__u32 seen, taken; /* in the window */
	__u32 one_of;      /* one call in this many gets a stack; 0: all */
	__u32 reserved;
};
struct gpu_thread {
	/* The outermost call, until its frame is left. sp 0: none. */
	__u64 sp, ret, ip;
	__u64 from, to; /* the library's code */
	__u64 start_ns, bytes, address_at, pitch_at, times;
	__u64 switches; /* voluntary context switches when the wait started */
	__u64 context;
	__u64 last_hash; /* of the last stack of a launch */
	/* Stack addresses of the return addresses of the call and of a call inside it, while their
	 * returns are probed; else 0. */
	__u64 return_at, inner_at, inner_ret;
	__u64 back_at,
		back_to; /* of the last probed return: its stack address, and the original word */
	__u64 waits_sp;  /* inside a call that waits: its caller's stack pointer; else 0 */
	__u32 row, tgid;
	struct gpu_rate rates[GPU_RATES];
};
_Static_assert(sizeof(struct gpu_thread) == 256, "gpu_thread has no padding");

#endif
