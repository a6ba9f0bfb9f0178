/* Our declarations of CUPTI beside its own: compiled, never run, by t_gpu_cupti_abi if there is a toolkit. */
#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>

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
EQUAL(CUPTI_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
EQUAL(CUPTI_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
EQUAL(CUPTI_RESOURCE_CONTEXT_GOING, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
EQUAL(CUPTI_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
EQUAL(CUPTI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
EQUAL(CUPTI_VIRTUALIZED_PRIVILEGES, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
SAME(cupti_call, context, CUpti_CallbackData, context);
SAME(cupti_resource, context, CUpti_ResourceData, context);
SAME(cupti_resource, descriptor, CUpti_ResourceData, resourceDescriptor);
SAME(cupti_module, id, CUpti_ModuleResourceData, moduleId);
SAME(cupti_module, size, CUpti_ModuleResourceData, cubinSize);
SAME(cupti_module, cubin, CUpti_ModuleResourceData, pCubin);

/* --- PC sampling --- */

#define WHOLE(ours, theirs) \
	_Static_assert(sizeof(struct ours) == sizeof(theirs), "size of " #theirs)
SAME(cupti_stall, reason, CUpti_PCSamplingStallReason, pcSamplingStallReasonIndex);
SAME(cupti_stall, samples, CUpti_PCSamplingStallReason, samples);
WHOLE(cupti_stall, CUpti_PCSamplingStallReason);
SAME(cupti_pc, crc, CUpti_PCSamplingPCData, cubinCrc);
SAME(cupti_pc, offset, CUpti_PCSamplingPCData, pcOffset);
SAME(cupti_pc, function, CUpti_PCSamplingPCData, functionIndex);
SAME(cupti_pc, name, CUpti_PCSamplingPCData, functionName);
SAME(cupti_pc, n_stalls, CUpti_PCSamplingPCData, stallReasonCount);
SAME(cupti_pc, stalls, CUpti_PCSamplingPCData, stallReason);
_Static_assert(offsetof(struct cupti_pc, correlation) == CUPTI_NARROW_PC, "the narrow one");
#if CUPTI_API_VERSION >= 22
SAME(cupti_pc, correlation, CUpti_PCSamplingPCData, correlationId);
WHOLE(cupti_pc, CUpti_PCSamplingPCData);
#else
_Static_assert(sizeof(CUpti_PCSamplingPCData) == CUPTI_NARROW_PC, "the narrow one");
#endif
SAME(cupti_pcs, room, CUpti_PCSamplingData, collectNumPcs);
SAME(cupti_pcs, samples, CUpti_PCSamplingData, totalSamples);
SAME(cupti_pcs, dropped, CUpti_PCSamplingData, droppedSamples);
SAME(cupti_pcs, n, CUpti_PCSamplingData, totalNumPcs);
SAME(cupti_pcs, remaining, CUpti_PCSamplingData, remainingNumPcs);
SAME(cupti_pcs, range, CUpti_PCSamplingData, rangeId);
SAME(cupti_pcs, pcs, CUpti_PCSamplingData, pPcData);
#if CUPTI_API_VERSION >= 22
SAME(cupti_pcs, other_samples, CUpti_PCSamplingData, nonUsrKernelsTotalSamples);
SAME(cupti_pcs, hardware_full, CUpti_PCSamplingData, hardwareBufferFull);
WHOLE(cupti_pcs, CUpti_PCSamplingData);
#endif
SAME(cupti_pc_attribute, attribute, CUpti_PCSamplingConfigurationInfo, attributeType);
SAME(cupti_pc_attribute, status, CUpti_PCSamplingConfigurationInfo, attributeStatus);
SAME(cupti_pc_attribute, words, CUpti_PCSamplingConfigurationInfo, attributeData.invalidData);
SAME(cupti_pc_attribute, number, CUpti_PCSamplingConfigurationInfo,
     attributeData.samplingPeriodData);
SAME(cupti_pc_attribute, size, CUpti_PCSamplingConfigurationInfo,
     attributeData.hardwareBufferSizeData);
SAME(cupti_pc_attribute, buffer, CUpti_PCSamplingConfigurationInfo,
     attributeData.samplingDataBufferData);
WHOLE(cupti_pc_attribute, CUpti_PCSamplingConfigurationInfo);
SAME(cupti_pc_context, context, CUpti_PCSamplingEnableParams, ctx);
WHOLE(cupti_pc_context, CUpti_PCSamplingEnableParams);
WHOLE(cupti_pc_context, CUpti_PCSamplingDisableParams);
SAME(cupti_pc_configuration, n, CUpti_PCSamplingConfigurationInfoParams, numAttributes);
SAME(cupti_pc_configuration, attributes, CUpti_PCSamplingConfigurationInfoParams,
     pPCSamplingConfigurationInfo);
WHOLE(cupti_pc_configuration, CUpti_PCSamplingConfigurationInfoParams);
SAME(cupti_pc_get, pcs, CUpti_PCSamplingGetDataParams, pcSamplingData);
WHOLE(cupti_pc_get, CUpti_PCSamplingGetDataParams);
SAME(cupti_pc_reason_count, n, CUpti_PCSamplingGetNumStallReasonsParams, numStallReasons);
WHOLE(cupti_pc_reason_count, CUpti_PCSamplingGetNumStallReasonsParams);
SAME(cupti_pc_reasons, n, CUpti_PCSamplingGetStallReasonsParams, numStallReasons);
SAME(cupti_pc_reasons, indices, CUpti_PCSamplingGetStallReasonsParams, stallReasonIndex);
SAME(cupti_pc_reasons, names, CUpti_PCSamplingGetStallReasonsParams, stallReasons);
WHOLE(cupti_pc_reasons, CUpti_PCSamplingGetStallReasonsParams);
SAME(cupti_cubin_crc, cubin_size, CUpti_GetCubinCrcParams, cubinSize);
SAME(cupti_cubin_crc, cubin, CUpti_GetCubinCrcParams, cubin);
SAME(cupti_cubin_crc, crc, CUpti_GetCubinCrcParams, cubinCrc);
WHOLE(cupti_cubin_crc, CUpti_GetCubinCrcParams);
EQUAL(CUPTI_PC_PERIOD, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD);
EQUAL(CUPTI_PC_SCRATCH_SIZE, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE);
EQUAL(CUPTI_PC_HARDWARE_SIZE, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE);
EQUAL(CUPTI_PC_MODE, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE);
EQUAL(CUPTI_PC_FORMAT, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_OUTPUT_DATA_FORMAT);
EQUAL(CUPTI_PC_BUFFER, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER);
EQUAL(CUPTI_PC_CONTINUOUS, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS);
EQUAL(CUPTI_PC_PARSED, CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED);
EQUAL(CUPTI_STALL_NAME_BYTES, CUPTI_STALL_REASON_STRING_SIZE);
