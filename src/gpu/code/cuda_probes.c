/* gpu/code/cuda_probes.c: functions of NVIDIA's driver, runtime and NCCL, from their public
 * interfaces (CUDA 11 … 13). Offsets into structures are those of cuda.h: CUDA_MEMCPY2D and
 * CUDA_MEMCPY3D, whose sizes are 128 and 200 bytes. Also of libraries that are not a vendor's. */
#include "bpf/java_heap.h"
#include "gpu/code/probes.h"

/* clang-format off */
#define ROW(name, ...) { #name, { __VA_ARGS__ } },
/* The same, and its variant with the per-thread default stream. */
#define BOTH(name, ...) ROW(name, __VA_ARGS__) ROW(name##_ptsz, __VA_ARGS__)
/* For functions without a stream argument. */
#define DEFAULTS(name, ...) ROW(name, __VA_ARGS__) ROW(name##_ptds, __VA_ARGS__)

#define LAUNCH         .what = GPU_LAUNCH
#define WAIT           .what = GPU_WAIT
#define ALLOC(at, from) .what = GPU_ALLOC, .address = (at), .bytes = GPU_BYTES_ARG, .a = (from)
#define PITCHED        .what = GPU_ALLOC, .address = 0, .bytes = GPU_BYTES_PITCH, .a = 1, .b = 3
/* CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR. Sparse arrays and those mapped later have no
 * memory; layers and faces do not count as depth. Only formats with channels of whole bytes; the
 * memory of others, mostly compressed ones, is unknown. */
#define FORMATS \
	.type_bytes = { 0x01, 1, 0x02, 2, 0x03, 4, 0x08, 1, 0x09, 2, 0x0a, 4, 0x10, 2, 0x20, 4 }
#define ARRAY(sizes, from) \
	.what = GPU_ALLOC, .address = 0, .bytes = GPU_BYTES_ARRAY, .a = 1, .b = (sizes), \
	.levels = (from), .void_flags = 0xc0, .layer_flags = 0x05, .flags = GPU_ADDRESS_HANDLE, \
	FORMATS
#define FREE           .what = GPU_FREE, .address = 0
#define COPY(from)      .what = GPU_COPY, .bytes = GPU_BYTES_ARG, .a = (from)
#define COPY_WAIT(from) .what = GPU_COPY | GPU_WAIT, .bytes = GPU_BYTES_ARG, .a = (from)
#define PLANE          .what = GPU_COPY, .bytes = GPU_BYTES_PLANE, .a = 0, .b = 112
#define VOLUME         .what = GPU_COPY, .bytes = GPU_BYTES_VOLUME, .a = 0, .b = 176
#define PLANE_WAIT     .what = GPU_COPY | GPU_WAIT, .bytes = GPU_BYTES_PLANE, .a = 0, .b = 112
#define VOLUME_WAIT    .what = GPU_COPY | GPU_WAIT, .bytes = GPU_BYTES_VOLUME, .a = 0, .b = 176
#define RECT_WAIT      .what = GPU_COPY | GPU_WAIT, .bytes = GPU_BYTES_PRODUCT, .a = 4, .b = 5
#define RECT           .what = GPU_COPY, .bytes = GPU_BYTES_PRODUCT, .a = 4, .b = 5

/* The most important ones are first. */
static const struct gpu_probe driver_probes[] = {
	BOTH(cuLaunchKernel, LAUNCH)
	BOTH(cuLaunchKernelEx, LAUNCH)
	BOTH(cuGraphLaunch, LAUNCH)
	BOTH(cuLaunchCooperativeKernel, LAUNCH)
	ROW(cuCtxSynchronize, WAIT)
	BOTH(cuStreamSynchronize, WAIT)
	ROW(cuEventSynchronize, WAIT)
	ROW(cuMemAlloc_v2, ALLOC(0, 1))
	BOTH(cuMemAllocAsync, ALLOC(0, 1))
	BOTH(cuMemAllocFromPoolAsync, ALLOC(0, 1))
	ROW(cuMemAllocManaged, ALLOC(0, 1))
	ROW(cuMemAllocPitch_v2, PITCHED)
	ROW(cuMemCreate, ALLOC(0, 1), .flags = GPU_ADDRESS_HANDLE)
	ROW(cuMemFree_v2, FREE)
	BOTH(cuMemFreeAsync, FREE)
	ROW(cuMemRelease, FREE, .flags = GPU_ADDRESS_HANDLE)
	ROW(cuCtxDestroy_v2, .what = GPU_RESET, .address = 0)
	ROW(cuDevicePrimaryCtxReset_v2, .what = GPU_RESET, .address = 0)
	ROW(cuCtxSetCurrent, .what = GPU_USE, .address = 0)
	ROW(cuCtxPushCurrent_v2, .what = GPU_USE, .address = 0)
	ROW(cuMemcpyHtoD_v2, COPY_WAIT(2))
	ROW(cuMemcpyHtoD_v2_ptds, COPY_WAIT(2))
	ROW(cuMemcpyDtoH_v2, COPY_WAIT(2))
	ROW(cuMemcpyDtoH_v2_ptds, COPY_WAIT(2))
	ROW(cuMemcpyDtoD_v2, COPY_WAIT(2))
	ROW(cuMemcpyDtoD_v2_ptds, COPY_WAIT(2))
	ROW(cuMemcpy, COPY_WAIT(2))
	ROW(cuMemcpy_ptds, COPY_WAIT(2))
	BOTH(cuMemcpyHtoDAsync_v2, COPY(2))
	BOTH(cuMemcpyDtoHAsync_v2, COPY(2))
	BOTH(cuMemcpyDtoDAsync_v2, COPY(2))
	BOTH(cuMemcpyAsync, COPY(2))
	DEFAULTS(cuMemcpyPeer, COPY_WAIT(4))
	BOTH(cuMemcpyPeerAsync, COPY(4))
	DEFAULTS(cuMemcpy2D_v2, PLANE_WAIT)
	DEFAULTS(cuMemcpy2DUnaligned_v2, PLANE_WAIT)
	BOTH(cuMemcpy2DAsync_v2, PLANE)
	DEFAULTS(cuMemcpy3D_v2, VOLUME_WAIT)
	BOTH(cuMemcpy3DAsync_v2, VOLUME)
	DEFAULTS(cuMemcpy3DPeer, VOLUME_WAIT)
	BOTH(cuMemcpy3DPeerAsync, VOLUME)
	DEFAULTS(cuMemcpyHtoA_v2, COPY_WAIT(3))
	DEFAULTS(cuMemcpyAtoH_v2, COPY_WAIT(3))
	DEFAULTS(cuMemcpyDtoA_v2, COPY_WAIT(3))
	DEFAULTS(cuMemcpyAtoD_v2, COPY_WAIT(3))
	DEFAULTS(cuMemcpyAtoA_v2, COPY_WAIT(4))
	BOTH(cuMemcpyHtoAAsync_v2, COPY(3))
	BOTH(cuMemcpyAtoHAsync_v2, COPY(3))
	ROW(cuMemMap, .what = GPU_MAP)
	ROW(cuMemUnmap, .what = GPU_UNMAP)
	ROW(cuMemRetainAllocationHandle, .what = GPU_RETAIN)
	ROW(cuArrayCreate_v2, ARRAY(2, GPU_NO_ARG))
	ROW(cuArray3DCreate_v2, ARRAY(3, GPU_NO_ARG))
	ROW(cuMipmappedArrayCreate, ARRAY(3, 2))
	ROW(cuArrayDestroy, FREE, .flags = GPU_ADDRESS_HANDLE)
	ROW(cuMipmappedArrayDestroy, FREE, .flags = GPU_ADDRESS_HANDLE)
};

/* __cudaLaunchKernel has no row, as it jumps to cudaLaunchKernel. Functions without a row here are
 * seen in the driver, which they call. */
static const struct gpu_probe runtime_probes[] = {
	BOTH(cudaLaunchKernel, LAUNCH)
	BOTH(cudaLaunchKernelExC, LAUNCH)
	BOTH(cudaGraphLaunch, LAUNCH)
	BOTH(cudaLaunchCooperativeKernel, LAUNCH)
	ROW(cudaDeviceSynchronize, WAIT)
	BOTH(cudaStreamSynchronize, WAIT)
	ROW(cudaEventSynchronize, WAIT)
	ROW(cudaMalloc, ALLOC(0, 1))
	BOTH(cudaMallocAsync, ALLOC(0, 1))
	BOTH(cudaMallocFromPoolAsync, ALLOC(0, 1))
	ROW(cudaMallocManaged, ALLOC(0, 1))
	ROW(cudaMallocPitch, PITCHED)
	ROW(cudaFree, FREE)
	BOTH(cudaFreeAsync, FREE)
	ROW(cudaDeviceReset, .what = GPU_RESET, .address = GPU_NO_ARG)
	ROW(cudaSetDevice, .what = GPU_USE, .address = 0)
	ROW(cudaMemcpy, COPY_WAIT(2))
	ROW(cudaMemcpy_ptds, COPY_WAIT(2))
	BOTH(cudaMemcpyAsync, COPY(2))
	ROW(cudaMemcpyPeer, COPY_WAIT(4))
	ROW(cudaMemcpyPeerAsync, COPY(4))
	DEFAULTS(cudaMemcpy2D, RECT_WAIT)
	BOTH(cudaMemcpy2DAsync, RECT)
};

/* ncclDataType_t: int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 fp8e4m3
 * fp8e5m2. */
#define NCCL_TYPES .type_bytes = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 }
#define NCCL(count, type) \
	.what = GPU_NCCL, .bytes = GPU_BYTES_TYPED, .a = (count), .b = (type), NCCL_TYPES
static const struct gpu_probe nccl_probes[] = {
	ROW(ncclAllReduce, NCCL(2, 3))
	ROW(ncclReduceScatter, NCCL(2, 3))
	ROW(ncclAllGather, NCCL(2, 3))
	ROW(ncclBroadcast, NCCL(2, 3))
	ROW(ncclBcast, NCCL(1, 2))
	ROW(ncclReduce, NCCL(2, 3))
	ROW(ncclAlltoAll, NCCL(2, 3))
	ROW(ncclGather, NCCL(2, 3))
	ROW(ncclScatter, NCCL(2, 3))
	ROW(ncclSend, NCCL(1, 2))
	ROW(ncclRecv, NCCL(1, 2))
};

/* clang-format on */
#define LIBRARY(file, list) \
	{ \
		.name = (file), .important = 24, .probes = (list), \
		.n = sizeof(list) / sizeof *(list) \
	}
static const struct gpu_library driver = LIBRARY("libcuda.so", driver_probes);
static const struct gpu_library runtime = LIBRARY("libcudart.so", runtime_probes);
/* In our own library in the program (gpu/inject/). */
static const struct gpu_probe inject_probes[] = { { "cresset:launch", { .what = GPU_STACK } } };
static const struct gpu_library inject = LIBRARY("libcresset-cuda.so", inject_probes);
/* The same for allocations (mem/inject/), which is not a vendor's. */
static const struct gpu_probe heap_probes[] = { { "cresset:alloc", { .what = GPU_HEAP } } };
static const struct gpu_library heap = LIBRARY(MEM_LIBRARY, heap_probes);
static const struct gpu_library nccl = LIBRARY("libnccl.so", nccl_probes);
static const struct gpu_probe java_probes[] = {
	{ JAVA_SAMPLER_CHECK, { .what = GPU_JAVA_CHECK } },
	{ JAVA_SAMPLER_SAMPLE, { .what = GPU_JAVA_SAMPLE } },
};
const struct gpu_library java_library = {
	.name = "libjvm.so",
	.important = 2,
	.probes = java_probes,
	.n = sizeof java_probes / sizeof *java_probes,
	.is_static = true,
};

const struct gpu_library *const gpu_libraries[] = {
	&driver, &runtime, &nccl, &inject, &heap, NULL
};

/* The driver calls CUPTI, also for calls of the runtime, and CUPTI calls our library. */
const struct gpu_inside_row gpu_inside_rows[] = {
	{ "libcresset-cuda.so", GPU_INSIDE_TELLER },
	{ "libcupti.so", GPU_INSIDE_TELLER },
	{ "libcuda.so", GPU_INSIDE_CALL },
	{ "libcudart.so", GPU_INSIDE_CALL },
	{ MEM_LIBRARY, GPU_INSIDE_TELLER },
	{ "libjvm.so", GPU_INSIDE_RUNTIME },
	{ NULL, GPU_INSIDE_NONE },
};
