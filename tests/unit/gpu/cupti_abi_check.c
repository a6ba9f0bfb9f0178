/* Our declarations of CUPTI beside its own: compiled, never run, by t_gpu_cupti_abi where there is a toolkit. */
#include <cuda.h>
#include <cupti.h>

#include "gpu/inject/calls.h"
#include "gpu/inject/cupti_abi.h"

#define SAME(ours, a, theirs, b) \
	_Static_assert(offsetof(struct ours, a) == offsetof(theirs, b), #theirs "." #b); \
	_Static_assert(sizeof(((struct ours *)0)->a) == sizeof(((theirs *)0)->b), \
		       "size of " #theirs "." #b)
#define EQUAL(a, b) _Static_assert((int)(a) == (int)(b), #b)

#if CUPTI_API_VERSION >= 130000
#define KERNEL CUpti_ActivityKernel10
#define COPY   CUpti_ActivityMemcpy6
#define SYNC   CUpti_ActivitySynchronization2
#elif CUPTI_API_VERSION >= 18
#define KERNEL CUpti_ActivityKernel9
#define COPY   CUpti_ActivityMemcpy5
#define SYNC   CUpti_ActivitySynchronization
#else
#define KERNEL CUpti_ActivityKernel5
#define COPY   CUpti_ActivityMemcpy4
#define SYNC   CUpti_ActivitySynchronization
#endif

SAME(cupti_kernel, kind, KERNEL, kind);
SAME(cupti_kernel, registers, KERNEL, registersPerThread);
SAME(cupti_kernel, start, KERNEL, start);
SAME(cupti_kernel, end, KERNEL, end);
SAME(cupti_kernel, device, KERNEL, deviceId);
SAME(cupti_kernel, context, KERNEL, contextId);
SAME(cupti_kernel, stream, KERNEL, streamId);
SAME(cupti_kernel, grid[0], KERNEL, gridX);
SAME(cupti_kernel, grid[2], KERNEL, gridZ);
SAME(cupti_kernel, block[0], KERNEL, blockX);
SAME(cupti_kernel, block[2], KERNEL, blockZ);
SAME(cupti_kernel, shared_static, KERNEL, staticSharedMemory);
SAME(cupti_kernel, shared_dynamic, KERNEL, dynamicSharedMemory);
SAME(cupti_kernel, correlation, KERNEL, correlationId);
SAME(cupti_kernel, name, KERNEL, name);
SAME(cupti_kernel, queued, KERNEL, queued);
SAME(cupti_kernel, submitted, KERNEL, submitted);
#if CUPTI_API_VERSION >= 14
SAME(cupti_copy, bytes, COPY, bytes);
SAME(cupti_copy, copy_kind, COPY, copyKind);
SAME(cupti_copy, from, COPY, srcKind);
SAME(cupti_copy, to, COPY, dstKind);
SAME(cupti_copy, flags, COPY, flags);
SAME(cupti_copy, start, COPY, start);
SAME(cupti_copy, end, COPY, end);
SAME(cupti_copy, device, COPY, deviceId);
SAME(cupti_copy, stream, COPY, streamId);
SAME(cupti_copy, correlation, COPY, correlationId);
#endif
#if CUPTI_API_VERSION >= 18
SAME(cupti_kernel, graph_node, KERNEL, graphNodeId);
SAME(cupti_kernel, graph, KERNEL, graphId);
SAME(cupti_copy, graph, COPY, graphId);
SAME(cupti_peer_copy, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
SAME(cupti_peer_copy, start, CUpti_ActivityMemcpyPtoP4, start);
SAME(cupti_peer_copy, end, CUpti_ActivityMemcpyPtoP4, end);
SAME(cupti_peer_copy, device, CUpti_ActivityMemcpyPtoP4, deviceId);
SAME(cupti_peer_copy, stream, CUpti_ActivityMemcpyPtoP4, streamId);
SAME(cupti_peer_copy, from_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
SAME(cupti_peer_copy, to_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
SAME(cupti_peer_copy, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
SAME(cupti_peer_copy, graph, CUpti_ActivityMemcpyPtoP4, graphId);
SAME(cupti_set, value, CUpti_ActivityMemset4, value);
SAME(cupti_set, bytes, CUpti_ActivityMemset4, bytes);
SAME(cupti_set, start, CUpti_ActivityMemset4, start);
SAME(cupti_set, end, CUpti_ActivityMemset4, end);
SAME(cupti_set, device, CUpti_ActivityMemset4, deviceId);
SAME(cupti_set, stream, CUpti_ActivityMemset4, streamId);
SAME(cupti_set, correlation, CUpti_ActivityMemset4, correlationId);
SAME(cupti_set, flags, CUpti_ActivityMemset4, flags);
SAME(cupti_set, memory_kind, CUpti_ActivityMemset4, memoryKind);
SAME(cupti_set, graph, CUpti_ActivityMemset4, graphId);
SAME(cupti_memory, op, CUpti_ActivityMemory3, memoryOperationType);
SAME(cupti_memory, memory_kind, CUpti_ActivityMemory3, memoryKind);
SAME(cupti_memory, correlation, CUpti_ActivityMemory3, correlationId);
SAME(cupti_memory, address, CUpti_ActivityMemory3, address);
SAME(cupti_memory, bytes, CUpti_ActivityMemory3, bytes);
SAME(cupti_memory, time, CUpti_ActivityMemory3, timestamp);
SAME(cupti_memory, device, CUpti_ActivityMemory3, deviceId);
SAME(cupti_graph, correlation, CUpti_ActivityGraphTrace, correlationId);
SAME(cupti_graph, start, CUpti_ActivityGraphTrace, start);
SAME(cupti_graph, end, CUpti_ActivityGraphTrace, end);
SAME(cupti_graph, device, CUpti_ActivityGraphTrace, deviceId);
SAME(cupti_graph, graph, CUpti_ActivityGraphTrace, graphId);
SAME(cupti_graph, stream, CUpti_ActivityGraphTrace, streamId);
EQUAL(CUPTI_KIND_GRAPH, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
#endif
SAME(cupti_sync, type, SYNC, type);
SAME(cupti_sync, start, SYNC, start);
SAME(cupti_sync, end, SYNC, end);
SAME(cupti_sync, correlation, SYNC, correlationId);
SAME(cupti_sync, stream, SYNC, streamId);
SAME(cupti_overhead, overhead_kind, CUpti_ActivityOverhead, overheadKind);
SAME(cupti_overhead, start, CUpti_ActivityOverhead, start);
SAME(cupti_overhead, end, CUpti_ActivityOverhead, end);

SAME(cupti_call, site, CUpti_CallbackData, callbackSite);
SAME(cupti_call, function, CUpti_CallbackData, functionName);
SAME(cupti_call, context_id, CUpti_CallbackData, contextUid);
SAME(cupti_call, correlation, CUpti_CallbackData, correlationId);
#ifdef CUpti_SubscriberParams_STRUCT_SIZE
SAME(cupti_subscriber_params, size, CUpti_SubscriberParams, structSize);
SAME(cupti_subscriber_params, name, CUpti_SubscriberParams, subscriberName);
SAME(cupti_subscriber_params, other_name, CUpti_SubscriberParams, oldSubscriberName);
SAME(cupti_subscriber_params, other_size, CUpti_SubscriberParams, oldSubscriberSize);
_Static_assert(sizeof(struct cupti_subscriber_params) == sizeof(CUpti_SubscriberParams),
	       "subscriber params");
#endif

EQUAL(CUPTI_OK, CUPTI_SUCCESS);
EQUAL(CUPTI_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY);
EQUAL(CUPTI_MAX_LIMIT, CUPTI_ERROR_MAX_LIMIT_REACHED);
EQUAL(CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
EQUAL(CUPTI_UNKNOWN, CUPTI_ERROR_UNKNOWN);
EQUAL(CUPTI_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
EQUAL(CUPTI_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
EQUAL(CUPTI_KIND_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
EQUAL(CUPTI_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD);
EQUAL(CUPTI_KIND_MEMCPY_PEER, CUPTI_ACTIVITY_KIND_MEMCPY2);
EQUAL(CUPTI_KIND_SYNC, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
EQUAL(CUPTI_KIND_MEMORY, CUPTI_ACTIVITY_KIND_MEMORY2);
EQUAL(CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
EQUAL(CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
EQUAL(CUPTI_SITE_ENTER, CUPTI_API_ENTER);
EQUAL(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
#if CUPTI_API_VERSION >= 130000
EQUAL(CUPTI_DOMAIN_STATE, CUPTI_CB_DOMAIN_STATE);
EQUAL(CUPTI_STATE_FATAL, CUPTI_CBID_STATE_FATAL_ERROR);
#endif
