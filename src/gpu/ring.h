/* gpu/ring.h: what the library inside a GPU program and the agent share: one memfd for each program.
 *
 *     0        struct ring_control      wishes of the agent, state of the library
 *     2048     struct ring_device[64]   which GPU is which, by the program's numbers
 *     4096     struct ring_lane[lanes]  at most 32
 *     8192     names                    { u32 len, bytes, padding to 8 }: a name is known by where its length stands
 *     …        the lanes' records
 *
 * The library makes the memfd, named RING_NAME and sealed against shrinking, and keeps it for the life of the
 * process; the agent finds it in /proc/PID/maps, so that neither containers nor programs that close every descriptor
 * are in the way, and comes back to it as often as it likes.
 *
 * A lane has one writer, a thread, and one reader, the agent: head and tail are positions that only grow, modulo size
 * they are places. Records are whole: they never wrap, a RING_PAD fills the end. Threads that find no lane of their
 * own share the last of their kind under its lock. A record that does not fit is counted in dropped and gone: the
 * library never waits. Names are written before the record that uses them and never moved: a reader that has seen the
 * record sees the name.
 *
 * A second memfd, CUBINS_NAME, holds the device code that was loaded while stalls were sampled: images as RING_MODULE
 * says, from CUBINS_AT on, written once before the record that tells of them. It is made with the first such window.
 *
 * Little endian; times are CLOCK_MONOTONIC ns; correlation ids are CUPTI's, 32 bits for each process. The writer is a
 * program of any user: to the agent everything but its own words is untrusted input. */
#ifndef CRESSET_GPU_RING_H
#define CRESSET_GPU_RING_H

#include <linux/types.h>

#define RING_NAME       "cresset-ring"
#define CUBINS_NAME     "cresset-cubins"
#define RING_MAGIC      0x3155504754535243ull /* "CRSTGPU1" */
/* What is left of a ring that was given back: control and lanes without room, so that it can be asked for again. */
#define RING_STUB_NAME  "cresset-detached"
#define RING_STUB_MAGIC 0x3055504754535243ull /* "CRSTGPU0" */

enum {
	RING_VERSION = 1,
	RING_DEVICES_AT = 2048,
	RING_DEVICES_MAX = 64,
	RING_LANES_AT = 4096,
	RING_NAMES_AT = 8192,
	RING_LANES_MAX = 32,
	/* Longer ones end in ~ and the hash of the whole, so that two stay two. */
	RING_NAME_BYTES = 256,
	RING_SIZE_MAX = 64 << 20,
	CUBINS_SIZE = 64 << 20,
	CUBINS_AT = 4096,
	/* What the library makes. */
	RING_NAMES_SIZE = 512 << 10,
	RING_BUFFER_LANES = 4, /* the first ones: records of what ran, in bursts */
	RING_BUFFER_LANE_SIZE = 1 << 20,
	RING_CALL_LANES = 28, /* the others: calls of the program's threads */
	RING_CALL_LANE_SIZE = 128 << 10,
	/* Agent and library. */
	RING_AGENT_GONE_MS = 1200,
	RING_TICK_MS = 250,
	RING_STALL_TICK_MS =
		50, /* while stalls are sampled: new contexts are begun with, full ones emptied */
};

/* Bits of want. */
enum {
	RING_WANT_KERNELS = 1, /* and graphs */
	RING_WANT_COPIES = 2,
	RING_WANT_SYNCS = 4,
	RING_WANT_MEMORY = 8,
	RING_WANT_CALLS = 16,  /* a record for each launch, and the probe for stacks */
	RING_WANT_ALL = 31,    /* that does not keep the device busy */
	RING_WANT_STALLS = 32, /* where kernels stall, by PC sampling */
	RING_WANT_ANY = 63,
	/* Beside these: only where it can be switched off again, and costs nothing between windows. */
	RING_WANT_OFF_AFTER = 1 << 30,
};

enum ring_state {
	RING_PARKED = 1, /* nothing enabled, the thread asleep */
	RING_OPEN = 2,
	RING_MUTED =
		3, /* a CUPTI that must not be switched off: its records are thrown away unread */
	RING_BUSY = 4,     /* another tool has CUPTI; the next window tries again */
	RING_INERT = 5,    /* for good: error_part says where */
	RING_DETACHED = 6, /* of a stub: the ring was given back */
};

/* Where an error comes from; error_code is CUPTI's, or an errno. */
enum ring_part {
	RING_PART_NONE,
	RING_PART_NO_CUPTI, /* none mapped, none beside the runtime */
	RING_PART_SYMBOLS,  /* a CUPTI without a function that is needed */
	RING_PART_TOO_OLD,  /* code: its version */
	RING_PART_SUBSCRIBE,
	RING_PART_CALLBACKS,
	RING_PART_ENABLE,
	RING_PART_FATAL,    /* CUPTI gave up */
	RING_PART_STAYS_ON, /* a CUPTI that cannot be switched off again; code: its version */
	/* Of stalls alone: the rest of a window goes on. */
	RING_PART_STALLS_ABSENT, /* a CUPTI without PC sampling */
	RING_PART_STALLS_DENIED, /* not without a privilege */
	RING_PART_STALLS_MEMORY, /* out of memory, or the device's buffer was full */
	RING_PART_STALLS,        /* else */
};

struct ring_control {
	__u64 magic; /* written last */
	__u32 version, lanes;
	__u64 size;
	__u32 names_at, names_size;
	__u32 pid; /* in its own namespace: a child that still maps its parent's ring is not it */
	__u32 reserved0[7];

	/* By the agent; whoever writes here must wake the waiter of bell. */
	__u32 bell;         /* futex, shared */
	__u32 generation;   /* of the window wanted: another number is another window */
	__u32 want;         /* RING_WANT_*; 0 closes */
	__u32 stacks_per_s; /* for each thread; 0: every launch */
	__u64 deadline_ns, heartbeat_ns;
	__u64 agent; /* who has it: so that two agents don't read one ring */
	__u64 reserved1[2];
	__u64 detach; /* not 0: the ring is to be given back, to be left alone; 0 in a stub: a new one is wanted */

	/* By the library. */
	__u32 state, seen; /* seen: the last generation dealt with */
	__u32 error_part, error_code;
	__u32 cupti_version, names_used;
	__u64 opened_ns, closed_ns; /* the last window */
	__u64 helper_ns;            /* spent by the library's own thread */
	__u64 overhead_ns;          /* CUPTI's own figure */
	__u64 cupti_dropped;        /* records that CUPTI had no room for */
	__u64 names_lost, unknown_records;
	char other[64]; /* the tool that has CUPTI */

	__u32 features;               /* RING_WANT_* that it knows; 0: it knows nothing of stalls */
	__u32 stall_part, stall_code; /* why there are none, or no more in this window */
	__u32 contexts;               /* sampled now */
	__u64 stall_dropped;          /* samples that the device had no room for */
	__u64 stall_other;            /* samples in kernels that are not the program's */
	__u64 cubins_lost;            /* images that there was no room for */
};
_Static_assert(sizeof(struct ring_control) == 312, "ring_control has no padding");

/* A GPU, whatever the program's number of it is: that is its place here, and follows CUDA_VISIBLE_DEVICES. */
struct ring_device {
	__u8 uuid[16];
	__u32 domain; /* of PCI */
	__u8 bus, slot;
	__u16 reserved0;
	__u32 flags; /* RING_DEVICE_*; written last. 0: the library has not said yet, or never does */
	__u32 reserved1;
};
enum {
	RING_DEVICE_UUID = 1,
	RING_DEVICE_BUS = 2,
	RING_DEVICE_INSTANCE =
		4,               /* a part of a GPU: the UUID is that part's, the bus the whole's */
	RING_DEVICE_CONTEXT = 8, /* the program has had a context there */
};
_Static_assert(sizeof(struct ring_device) == 32 && sizeof(struct ring_control) <= RING_DEVICES_AT &&
		       RING_DEVICES_AT + RING_DEVICES_MAX * sizeof(struct ring_device) <=
			       RING_LANES_AT,
	       "devices fit");

struct ring_lane {
	__u64 head; /* writer's */
	__u64 dropped;
	__u64 calls, probes,
		busy_ns; /* the cost of the writer, so that threads don't meet in one line */
	__u32 owner;     /* tid; 0: free */
	__u32 lock;
	__u32 at, size; /* size: a power of two */
	__u64 reserved0;
	__u64 tail; /* the reader's, in a line of its own */
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

/* Every record begins so. */
struct ring_record {
	__u16 type, words; /* of 8 bytes, this one included */
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
	__u64 start_ns, end_ns; /* both 0: CUPTI could not tell */
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
	__u32 weight; /* of the stack taken for it; 0: none was */
	__u32 domain; /* 1 driver, 2 runtime */
};
struct ring_window {
	struct ring_record r; /* correlation: its generation */
	__u64 time_ns;
	__u32 open, want;
};
/* The reasons of a context, each once in a window, before its first RING_STALL. */
struct ring_stall_name {
	struct ring_record r; /* correlation: its number */
	__u32 name, context;
};
/* How a context is sampled: each of its multiprocessors once in 2^period cycles. */
struct ring_stall_config {
	struct ring_record r;
	__u64 time_ns;
	__u32 device, context;
	__u32 period, mode;                               /* mode 1: continuous */
	__u32 reasons, multiprocessors, clock_khz, model; /* 0: not known; model: 90 for sm_90 */
};
struct ring_module {
	struct ring_record r;
	__u64 crc; /* CUPTI's */
	__u64 at, size;
};
/* How often an instruction of a function was seen with a reason, since it was last told of. */
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
