/* gpu/ring/ring.h: the memory shared by the library inside a GPU program and the agent: one memfd
 * per program.
 *
 *     0        struct ring_control      the agent's requests, the library's state
 *     2048     struct ring_device[64]   GPUs, by the program's numbers
 *     4096     struct ring_lane[lanes]  at most 32
 *     8192     names { u32 len, bytes, padding to 8 }: a name's id is the place of its length
 *     …        the lanes' records
 *
 * The library creates the memfd, named RING_NAME and sealed against shrinking, and retains it for
 * the life of the process. The agent finds it in /proc/PID/maps, so it works with containers and
 * with programs that close all descriptors, and can reattach at any time.
 *
 * A lane has one writer, a thread, and one reader, the agent. head and tail only grow; modulo size
 * they are positions. Records never wrap: a RING_PAD fills the end. Threads that find no free lane
 * share the last lane of their kind under its lock. A record that does not fit is dropped and
 * counted: the library never waits. Names are written before the record that uses them and never
 * moved: a reader that sees the record also sees the name.
 *
 * A second memfd, CUBINS_NAME, holds the device code loaded while stalls were sampled: images as
 * described by RING_MODULE, from CUBINS_AT on, each written once, before its record. It is created
 * with the first such window.
 *
 * Little endian. Times are CLOCK_MONOTONIC ns; correlation ids are CUPTI's, 32 bits for each
 * process. The writer is a program of any user: the agent treats everything but its own words as
 * untrusted input. */
#ifndef CRESSET_GPU_RING_RING_H
#define CRESSET_GPU_RING_RING_H

#include <linux/types.h>

#define RING_NAME       "cresset-ring"
#define CUBINS_NAME     "cresset-cubins"
#define RING_MAGIC      0x3155504754535243ull /* "CRSTGPU1" */
/* The stub that is left when a ring is released: control page and lanes without space, so that a
 * new ring can be requested. */
#define RING_STUB_NAME  "cresset-detached"
#define RING_STUB_MAGIC 0x3055504754535243ull /* "CRSTGPU0" */

enum {
	RING_VERSION = 1,
	RING_DEVICES_AT = 2048,
	RING_DEVICES_MAX = 64, /* limit: GPUs in a program's ring */
	RING_LANES_AT = 4096,
	RING_NAMES_AT = 8192,
	RING_LANES_MAX = 32,
	/* Longer names end in ~ and the hash of the whole name, so that they stay distinct. */
	RING_NAME_BYTES = 256,    /* limit: bytes of a name in it */
	RING_SIZE_MAX = 64 << 20, /* limit: bytes of the ring */
	CUBINS_SIZE = 64 << 20,   /* limit: bytes of device code a program keeps for the agent */
	CUBINS_AT = 4096,
	/* Sizes that the library uses. */
	RING_NAMES_SIZE = 512 << 10,
	RING_BUFFER_LANES = 4, /* the first lanes: bursts of records of what ran */
	RING_BUFFER_LANE_SIZE = 1 << 20,
	RING_CALL_LANES = 28, /* the other lanes: calls of the program's threads */
	RING_CALL_LANE_SIZE = 128 << 10,
	/* For agent and library. */
	RING_AGENT_GONE_MS = 1200,
	RING_TICK_MS = 250,
	RING_STALL_TICK_MS =
		50, /* while stalls are sampled: starts new contexts, empties full buffers */
};

/* Bits of want. */
enum {
	RING_WANT_KERNELS = 1, /* and graphs */
	RING_WANT_COPIES = 2,
	RING_WANT_SYNCS = 4,
	RING_WANT_MEMORY = 8,
	RING_WANT_CALLS = 16,  /* a record for each launch, and the probe for stacks */
	RING_WANT_ALL = 31,    /* everything that does not keep the device busy */
	RING_WANT_STALLS = 32, /* where kernels stall, by PC sampling */
	RING_WANT_ANY = 63,
	/* With other bits: only if recording can be switched off again and then costs nothing
	 * between windows. */
	RING_WANT_OFF_AFTER = 1 << 30,
};

enum ring_state {
	RING_PARKED = 1, /* nothing is enabled, the thread sleeps */
	RING_OPEN = 2,
	RING_MUTED =
		3,     /* a CUPTI that must not be switched off: its records are discarded unread */
	RING_BUSY = 4, /* another tool has CUPTI; the next window tries again */
	RING_INERT = 5,    /* permanent: error_part has the reason */
	RING_DETACHED = 6, /* in a stub: the ring was released */
};

/* The source of an error; error_code is CUPTI's, or an errno. */
enum ring_part {
	RING_PART_NONE,
	RING_PART_NO_CUPTI, /* none is mapped, none is next to the runtime */
	RING_PART_SYMBOLS,  /* a CUPTI without a required function */
	RING_PART_TOO_OLD,  /* code: its version */
	RING_PART_SUBSCRIBE,
	RING_PART_CALLBACKS,
	RING_PART_ENABLE,
	RING_PART_FATAL,    /* CUPTI gave up */
	RING_PART_STAYS_ON, /* a CUPTI that cannot be switched off again; code: its version */
	/* For stalls only: the rest of the window continues. */
	RING_PART_STALLS_ABSENT, /* a CUPTI without PC sampling */
	RING_PART_STALLS_DENIED, /* requires a privilege */
	RING_PART_STALLS_MEMORY, /* out of memory, or the device's buffer was full */
	RING_PART_STALLS,        /* any other error */
	RING_PART_STALLS_GRAPHS, /* the program launches graphs, which sampling nearly stops */
};

struct ring_control {
	__u64 magic; /* written last */
	__u32 version, lanes;
	__u64 size;
	__u32 names_at, names_size;
	/* in its own namespace; a child that still maps its parent's ring has another one */
	__u32 pid;
	__u32 reserved0[7];

	/* Written by the agent, which must wake waiters on bell. */
	__u32 bell;         /* futex, shared */
	__u32 generation;   /* of the requested window: a new number is a new window */
	__u32 want;         /* RING_WANT_*; 0 closes */
	__u32 stacks_per_s; /* per thread; 0: every launch */
	__u64 deadline_ns, heartbeat_ns;
	__u64 agent; /* the reader: a ring never has two */
	__u64 reserved1[2];
	/* not 0: the ring must be released and left alone; 0 in a stub: a new ring is requested */
	__u64 detach;

	/* Written by the library. */
	__u32 state, seen; /* seen: the last generation handled */
	__u32 error_part, error_code;
	__u32 cupti_version, names_used;
	__u64 opened_ns, closed_ns; /* the last window */
	__u64 helper_ns;            /* spent by the library's own thread */
	__u64 overhead_ns;          /* CUPTI's own figure */
	__u64 cupti_dropped;        /* records for which CUPTI had no space */
	__u64 names_lost, unknown_records;
	char other[64]; /* the tool that has CUPTI */

	__u32 features;               /* RING_WANT_* it supports; 0: it cannot sample stalls */
	__u32 stall_part, stall_code; /* why stalls are not, or no longer, sampled in this window */
	__u32 contexts;               /* sampled now */
	__u64 stall_dropped;          /* samples: no space in the device or the last buffer */
	__u64 stall_other;            /* samples in kernels that are not the program's */
	__u64 cubins_lost;            /* images for which there was no space */
};
_Static_assert(sizeof(struct ring_control) == 312, "ring_control has no padding");

/* A GPU, at the place that is the program's number for it; that number follows
 * CUDA_VISIBLE_DEVICES. */
struct ring_device {
	__u8 uuid[16];
	__u32 domain; /* of PCI */
	__u8 bus, slot;
	__u16 reserved0;
	/* RING_DEVICE_*; written last. 0: the library has not filled it in, or never will */
	__u32 flags;
	__u32 reserved1;
};
enum {
	RING_DEVICE_UUID = 1,
	RING_DEVICE_BUS = 2,
	RING_DEVICE_INSTANCE = 4, /* a part of a GPU: the UUID is its own, the bus is the whole's */
	RING_DEVICE_CONTEXT = 8,  /* the program has had a context there */
};
_Static_assert(sizeof(struct ring_device) == 32 && sizeof(struct ring_control) <= RING_DEVICES_AT &&
		       RING_DEVICES_AT + RING_DEVICES_MAX * sizeof(struct ring_device) <=
			       RING_LANES_AT,
	       "devices fit");

struct ring_lane {
	__u64 head; /* the writer's */
	__u64 dropped;
	__u64 calls, probes,
		busy_ns; /* the writer's cost: per lane, to avoid sharing a cache line */
	__u32 owner;     /* tid; 0: free */
	__u32 lock;
	__u32 at, size; /* size: a power of two */
	__u64 reserved0;
	__u64 tail; /* the reader's, in its own cache line */
	__u64 reserved1[7];
};
_Static_assert(sizeof(struct ring_lane) == 128, "two cache lines");
_Static_assert(RING_LANES_MAX * sizeof(struct ring_lane) <= RING_NAMES_AT - RING_LANES_AT,
	       "lanes fit");

enum ring_type {
	RING_PAD,
	RING_KERNEL,
	RING_COPY,
	RING_SET,
	RING_SYNC,
	RING_GRAPH,
	RING_MEMORY,
	RING_CALL,
	RING_WINDOW,
	RING_STALL_NAME,
	RING_STALL_CONFIG,
	RING_MODULE,
	RING_STALL,
	RING_TYPES
};

/* The head of every record. */
struct ring_record {
	__u16 type, words; /* of 8 bytes, including this one */
	__u32 correlation;
};
struct ring_kernel {
	struct ring_record r;
	__u64 start_ns, end_ns;
	__u32 name, stream;
	__u32 device, graph; /* graph 0: none */
	__u64 graph_node;
	__u32 grid[3], shared_bytes;
	__u16 block[3], registers;
};
_Static_assert(sizeof(struct ring_kernel) == 72, "promised: at most 80 bytes");
struct ring_copy { /* and RING_SET */
	struct ring_record r;
	__u64 start_ns, end_ns, bytes;
	__u32 device, stream;
	__u32 graph;
	__u8 kind, from, to, flags; /* CUPTI's numbers */
};
struct ring_sync {
	struct ring_record r;
	__u64 start_ns, end_ns;
	__u32 kind, stream;
};
struct ring_graph {
	struct ring_record r;
	__u64 start_ns, end_ns; /* both 0: unknown to CUPTI */
	__u32 device, stream;
	__u32 graph, reserved;
};
struct ring_memory {
	struct ring_record r;
	__u64 time_ns, address, bytes;
	__u32 device;
	__u16 op, kind; /* op 1 allocation, 2 release */
};
struct ring_call {
	struct ring_record r;
	__u32 tid, cbid;
	__u32 weight; /* of the stack taken for it; 0: none was taken */
	__u32 domain; /* 1 driver, 2 runtime */
};
struct ring_window {
	struct ring_record r; /* correlation: its generation */
	__u64 time_ns;
	__u32 open, want;
};
/* The names of a context's stall reasons, each once per window, before its first RING_STALL. */
struct ring_stall_name {
	struct ring_record r; /* correlation: the reason's number */
	__u32 name, context;
};
/* How a context is sampled: each multiprocessor once in 2^period cycles. */
struct ring_stall_config {
	struct ring_record r;
	__u64 time_ns;
	__u32 device, context;
	__u32 period, mode;                               /* mode 1: continuous */
	__u32 reasons, multiprocessors, clock_khz, model; /* 0: unknown; model: 90 for sm_90 */
};
struct ring_module {
	struct ring_record r;
	__u64 crc; /* CUPTI's */
	__u64 at, size;
};
/* Number of samples of an instruction with a stall reason, since its last record. */
struct ring_stall {
	struct ring_record r; /* correlation: 0 unless kernels are serialized */
	__u64 crc, offset;
	__u32 name, reason, samples, context;
};
union ring_any {
	struct ring_record r;
	struct ring_kernel kernel;
	struct ring_copy copy;
	struct ring_sync sync;
	struct ring_graph graph;
	struct ring_memory memory;
	struct ring_call call;
	struct ring_window window;
	struct ring_stall_name stall_name;
	struct ring_stall_config stall_config;
	struct ring_module module;
	struct ring_stall stall;
};
_Static_assert(sizeof(struct ring_stall_name) == 16 && sizeof(struct ring_stall_config) == 48 &&
		       sizeof(struct ring_module) == 32 && sizeof(struct ring_stall) == 40,
	       "records have no padding");
_Static_assert(sizeof(struct ring_copy) == 48 && sizeof(struct ring_sync) == 32 &&
		       sizeof(struct ring_graph) == 40 && sizeof(struct ring_memory) == 40 &&
		       sizeof(struct ring_call) == 24 && sizeof(struct ring_window) == 24,
	       "records have no padding");

#endif
