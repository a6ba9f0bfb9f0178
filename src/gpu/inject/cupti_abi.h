/* gpu/inject/cupti_abi.h: the part of NVIDIA's CUPTI that the library uses, declared here: numbers,
 * functions, and the part of each record that has had the same layout since CUDA 11 (records only
 * grow at the end). tests/unit/gpu/inject/t_gpu_cupti_abi.c compares it with the real headers where
 * they are installed. */
#ifndef CRESSET_GPU_INJECT_CUPTI_ABI_H
#define CRESSET_GPU_INJECT_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum {
	CUPTI_OK = 0,
	CUPTI_OUT_OF_MEMORY = 8,
	CUPTI_MAX_LIMIT = 12, /* no more records */
	CUPTI_NOT_INITIALIZED = 15,
	CUPTI_INSUFFICIENT_PRIVILEGES = 35,
	CUPTI_MULTIPLE_SUBSCRIBERS = 39,
	CUPTI_VIRTUALIZED_PRIVILEGES = 40,
	CUPTI_UNKNOWN = 999,

	/* Versions of the interface: 13.0 before its first update hangs when kernel records are
	 * switched off; before 13.1 update 1 graph launches have wrong ids in every session but the
	 * first. */
	CUPTI_OLDEST = 14,
	CUPTI_SWITCHES_OFF = 130001,
	CUPTI_RESUBSCRIBES = 130101,
	CUPTI_WIDE_PCS = 22, /* 12.4: struct cupti_pc gained its last member */

	CUPTI_KIND_MEMCPY = 1,
	CUPTI_KIND_MEMSET = 2,
	CUPTI_KIND_KERNEL = 10, /* concurrent; 3 would serialize kernels */
	CUPTI_KIND_OVERHEAD = 17,
	CUPTI_KIND_MEMCPY_PEER = 22,
	CUPTI_KIND_SYNC = 38,
	CUPTI_KIND_MEMORY = 49,
	CUPTI_KIND_GRAPH = 51,

	CUPTI_DOMAIN_DRIVER = 1,
	CUPTI_DOMAIN_RUNTIME = 2,
	CUPTI_DOMAIN_RESOURCE = 3,
	CUPTI_DOMAIN_STATE = 6,
	CUPTI_RESOURCE_CONTEXT_CREATED = 1,
	CUPTI_RESOURCE_CONTEXT_GOING = 2,
	CUPTI_RESOURCE_MODULE_LOADED = 6,
	CUPTI_STATE_FATAL = 1,
	CUPTI_SITE_ENTER = 0,

	CUPTI_FLUSH_FORCED = 1,

	CUPTI_PC_PERIOD = 1, /* attributes of PC sampling */
	CUPTI_PC_SCRATCH_SIZE = 3,
	CUPTI_PC_HARDWARE_SIZE = 4,
	CUPTI_PC_MODE = 5,
	CUPTI_PC_FORMAT = 7,
	CUPTI_PC_BUFFER = 8,
	CUPTI_PC_CONTINUOUS = 1,
	CUPTI_PC_PARSED = 1,
	CUPTI_STALL_NAME_BYTES = 128,
};

struct cupti_call {
	uint32_t site, pad0;
	const char *function;
	const void *params;
	void *result;
	const char *symbol;
	void *context;
	uint32_t context_id, pad1;
	uint64_t *tool_data;
	uint32_t correlation, pad2;
};
struct cupti_resource {
	void *context, *handle;
	void *descriptor; /* for modules: struct cupti_module */
};
struct cupti_module {
	uint32_t id, pad0;
	size_t size;
	const char *cubin;
};
struct cupti_subscriber_params {
	size_t size;
	const char *name;
	char *other_name; /* receives the name of the tool that has CUPTI */
	size_t other_size;
};

struct cupti_kernel {
	uint32_t kind;
	uint16_t cache_config, registers;
	uint64_t partition;
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t shared_static, shared_dynamic;
	uint32_t local_per_thread, local_total, correlation;
	int64_t grid_id;
	const char *name;
	void *reserved;
	uint64_t queued, submitted;
	uint8_t launch_type, carveout_requested;
	uint8_t pad0[6];
	uint64_t graph_node;
	uint32_t shared_limit, graph;
};
struct cupti_copy {
	uint32_t kind;
	uint8_t copy_kind, from, to, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint32_t runtime_correlation, pad0;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph;
};
struct cupti_peer_copy {
	uint32_t kind;
	uint8_t copy_kind, from, to, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t from_device, from_context, to_device, to_context;
	uint32_t correlation;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph;
};
struct cupti_set {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint16_t flags, memory_kind;
	uint32_t pad0;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph;
};
struct cupti_sync {
	uint32_t kind, type;
	uint64_t start, end;
	uint32_t correlation, context, stream, event;
};
struct cupti_memory {
	uint32_t kind, op, memory_kind, correlation;
	uint64_t address, bytes, time, pc;
	uint32_t pid, device, context, stream;
};
struct cupti_graph {
	uint32_t kind, correlation;
	uint64_t start, end;
	uint32_t device, graph, context, stream;
};
struct cupti_overhead {
	uint32_t kind, overhead_kind, object_kind, object[3];
	uint64_t start, end;
};

/* PC sampling, from the documentation in cupti_pcsampling.h. Each struct starts with its size up to
 * its last member. */
struct cupti_stall {
	uint32_t reason, samples;
};
struct cupti_pc {
	size_t size;
	uint64_t crc, offset;
	uint32_t function, pad0;
	char *name; /* CUPTI's, shared with the names of kernels: never freed */
	size_t n_stalls;
	struct cupti_stall *stalls;
	uint32_t correlation, pad1; /* for serialized mode */
};
enum { CUPTI_NARROW_PC = 56 }; /* up to stalls */
struct cupti_pcs {
	size_t size, room;
	uint64_t samples, dropped;
	size_t n, remaining;
	uint64_t range;
	struct cupti_pc *pcs;
	uint64_t other_samples; /* of kernels that are not the program's */
	uint8_t hardware_full;
	uint8_t pad0[7];
};
struct cupti_pc_attribute {
	uint32_t attribute, status;
	union {
		uint64_t words[3];
		uint32_t number;
		size_t size;
		void *buffer;
	};
};
struct cupti_pc_context { /* for Enable and Disable */
	size_t size;
	void *reserved, *context;
};
struct cupti_pc_configuration {
	size_t size;
	void *reserved, *context;
	size_t n;
	struct cupti_pc_attribute *attributes;
};
struct cupti_pc_get {
	size_t size;
	void *reserved, *context;
	struct cupti_pcs *pcs;
};
struct cupti_pc_reason_count {
	size_t size;
	void *reserved, *context;
	size_t *n;
};
struct cupti_pc_reasons {
	size_t size;
	void *reserved, *context;
	size_t n;
	uint32_t *indices;
	char **names;
};
struct cupti_cubin_crc {
	size_t size, cubin_size;
	const void *cubin;
	uint64_t crc;
};

typedef void cupti_callback(void *user, uint32_t domain, uint32_t cbid, const void *data);
typedef void cupti_request(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void cupti_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			     size_t valid);

/* Its functions, by name; the "must" functions are required. */
#define CUPTI_FUNCTIONS(must, may) \
	must(GetVersion, uint32_t *version) must(Subscribe, void **subscriber, cupti_callback *fn, \
						 void *user) must(Unsubscribe, void *subscriber) \
		must(EnableCallback, uint32_t enable, void *subscriber, uint32_t domain, \
		     uint32_t cbid) must(ActivityRegisterCallbacks, cupti_request *request, \
					 cupti_completed *completed) must(ActivityEnable, \
									  uint32_t kind) \
			must(ActivityDisable, uint32_t kind) must(ActivityFlushAll, uint32_t flag) \
				must(ActivityGetNextRecord, uint8_t *buffer, size_t valid, \
				     void **record) must(ActivityGetNumDroppedRecords, \
							 void *context, uint32_t stream, \
							 size_t *dropped) \
					may(Subscribe_v2, void **subscriber, cupti_callback *fn, \
					    void *user, struct cupti_subscriber_params *params) \
						may(ActivityRegisterTimestampCallback, \
						    uint64_t (*fn)(void)) may(ActivityFlushPeriod, \
									      uint32_t ms) \
							may(ActivityEnableAllSyncRecords, \
							    uint8_t enable) \
								may(ActivitySetAttribute, \
								    uint32_t attribute, \
								    size_t *size, void *value) \
									CUPTI_PC_FUNCTIONS(may)

/* For PC sampling, which needs all of them. */
#define CUPTI_PC_FUNCTIONS(may) \
	may(PCSamplingEnable, struct cupti_pc_context *params) may( \
		PCSamplingDisable, \
		struct cupti_pc_context *params) may(PCSamplingSetConfigurationAttribute, \
						     struct cupti_pc_configuration *params) \
		may(PCSamplingGetConfigurationAttribute, struct cupti_pc_configuration *params) \
			may(PCSamplingGetData, \
			    struct cupti_pc_get *params) may(PCSamplingGetNumStallReasons, \
							     struct cupti_pc_reason_count *params) \
				may(PCSamplingGetStallReasons, struct cupti_pc_reasons *params) \
					may(GetCubinCrc, struct cupti_cubin_crc *params) \
						may(GetDeviceId, void *context, uint32_t *device)

#define CUPTI_MEMBER(name, ...) int (*name)(__VA_ARGS__);
struct cupti {
	CUPTI_FUNCTIONS(CUPTI_MEMBER, CUPTI_MEMBER)
};
#undef CUPTI_MEMBER

/* The calls that put work on a GPU or end a context, by CUPTI's numbers (which never change): those
 * of the runtime, and those of the driver, which programs also call directly. A runtime call and
 * the driver call nested in it have the same correlation id. */

/* cudaLaunchKernel, …ExC, …Cooperative…, cudaGraphLaunch; cuLaunchKernel, …Ex, …Cooperative…,
 * cuGraphLaunch; and their per-thread stream variants. */
static const uint16_t launch_calls_runtime[] = { 211, 214, 430, 431, 269, 270, 272, 311, 312 };
static const uint16_t launch_calls_driver[] = { 307, 442, 652, 653, 477, 478, 480, 514, 515 };

/* The ones that launch a graph. */
static const uint16_t graph_calls_runtime[] = { 311, 312 };
static const uint16_t graph_calls_driver[] = { 514, 515 };

/* cudaMemcpy…, cudaMemset… */
static const uint16_t copy_calls_runtime[] = {
	31,  32,  33,  34,  35,  36,  37,  38,  39,  40,  41,  42,  43,  44,  45,  46,  47,
	48,  49,  50,  51,  52,  142, 143, 144, 145, 160, 161, 162, 163, 215, 216, 217, 218,
	219, 220, 221, 222, 223, 224, 225, 226, 227, 228, 229, 230, 231, 232, 233, 234, 235,
	236, 243, 244, 245, 246, 249, 250, 482, 483, 484, 485, 509, 510, 511, 512,
};
/* cuMemcpy…, cuMemset… of the versions in use since CUDA 4. */
static const uint16_t copy_calls_driver[] = {
	248, 249, 250, 251, 252, 253, 254, 276, 277, 278, 279, 280, 281, 282, 283, 284, 285,
	286, 287, 288, 289, 290, 291, 292, 293, 305, 306, 318, 319, 320, 321, 216, 218, 220,
	222, 224, 226, 397, 398, 399, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410,
	411, 412, 413, 414, 415, 416, 418, 419, 420, 421, 422, 423, 424, 425, 426, 427, 428,
	429, 430, 431, 432, 433, 776, 777, 778, 779, 796, 797, 798, 799,
};

/* Calls that end a context, and with it the records that CUPTI has not handed over: cudaThreadExit,
 * cudaDeviceReset; cuCtxDestroy, cuDevicePrimaryCtxRelease, …Reset. */
static const uint16_t ending_calls_runtime[] = { 123, 164 };
static const uint16_t ending_calls_driver[] = { 11, 322, 387, 389, 544, 545 };

#endif
