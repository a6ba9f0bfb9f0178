/* tests/doubles/libcudart.so.13.c: the CUDA runtime on the driver's double (libcuda.so.1.c): what programs that nvcc -cudart shared has made need, and
 * what tests call. Entries begin with push %rbp, as in the real one, and __cudaLaunchKernel jumps to cudaLaunchKernel. The script's statements
 *
 *     fail FUNCTION CODE after N        answers CODE from call N on (0), without doing anything
 *
 * are those of functions that begin with cuda. */
// build: -shared -fPIC -O2 -fno-omit-frame-pointer -fno-shrink-wrap -fcf-protection=none -Wl,-soname,libcudart.so.13 -Wl,--default-symver -ldl
#include "cuda.h"
#include "script.h"

#include <dlfcn.h>
#include <stdbool.h>

#pragma GCC visibility push(default)

typedef uint64_t u64;
typedef uint32_t u32;
struct dim {
	u32 x, y, z;
};

/* --- the driver -------------------------------------------------------------------------------------------------------- */

/* clang-format off */
#define DRIVER(ROW) \
	ROW(cuInit) ROW(cuDeviceGetCount) ROW(cuDeviceGetName) ROW(cuDevicePrimaryCtxRetain) \
	ROW(cuDevicePrimaryCtxReset_v2) ROW(cuCtxSetCurrent) ROW(cuCtxGetCurrent) ROW(cuCtxGetDevice) \
	ROW(cuCtxSynchronize) ROW(cuMemAlloc_v2) ROW(cuMemAllocPitch_v2) ROW(cuMemAllocManaged) \
	ROW(cuMemAllocAsync) ROW(cuMemAllocFromPoolAsync) ROW(cuMemFree_v2) ROW(cuMemFreeAsync) \
	ROW(cuMemAllocHost_v2) ROW(cuMemFreeHost) ROW(cuMemGetInfo_v2) ROW(cuMemcpyHtoD_v2) ROW(cuMemcpyDtoH_v2) \
	ROW(cuMemcpyDtoD_v2) ROW(cuMemcpyHtoDAsync_v2) ROW(cuMemcpyDtoHAsync_v2) ROW(cuMemcpyDtoDAsync_v2) \
	ROW(cuMemsetD8_v2) ROW(cuMemsetD8Async) ROW(cuLaunchKernel) ROW(cuLaunchKernelEx) \
	ROW(cuLaunchCooperativeKernel) ROW(cuGraphInstantiateWithFlags) ROW(cuGraphLaunch) ROW(cuGraphDestroy) \
	ROW(cuGraphExecDestroy) ROW(cuStreamBeginCapture_v2) ROW(cuStreamEndCapture) ROW(cuStreamCreate) \
	ROW(cuStreamDestroy_v2) ROW(cuStreamSynchronize) ROW(cuStreamQuery) ROW(cuStreamWaitEvent) \
	ROW(cuEventCreate) ROW(cuEventDestroy_v2) ROW(cuEventRecord) ROW(cuEventSynchronize) ROW(cuEventQuery) \
	ROW(cuEventElapsedTime) ROW(double_cuda_runtime_enter) ROW(double_cuda_runtime_exit) \
	ROW(double_cuda_function) ROW(double_cuda_module)
/* clang-format on */
#define MEMBER(name) void *name;
static struct {
	void *library;
	DRIVER(MEMBER)
	u32 (*enter)(const char *name);
	void (*leave)(const char *name, int result);
} driver;

enum { NAMES = 64 };
static struct {
	char name[64];
	u64 code, after, calls;
} fails[NAMES];
static u32 n_fails;

static void statement(int n, char **w)
{
	if (n < 3 || strcmp(w[0], "fail") || strncmp(w[1], "cuda", 4) || n_fails == NAMES)
		return;
	snprintf(fails[n_fails].name, sizeof fails[0].name, "%s", w[1]);
	fails[n_fails].code = strtoull(w[2], NULL, 0);
	fails[n_fails++].after = script_number(n, w, "after", 0);
}

__attribute__((constructor)) static void find_driver(void)
{
	script_read(statement);
	driver.library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!driver.library)
		return;
#define FIND(name) driver.name = dlsym(driver.library, #name);
	DRIVER(FIND)
	driver.enter = (u32(*)(const char *))driver.double_cuda_runtime_enter;
	driver.leave = (void (*)(const char *, int))driver.double_cuda_runtime_exit;
}

static int scripted(const char *name)
{
	for (u32 i = 0; i < n_fails; i++)
		if (!strcmp(fails[i].name, name) && fails[i].calls++ >= fails[i].after)
			return fails[i].code;
	return 0;
}

/* A call of the driver's; its result is that of the runtime, whose numbers are the same for most. */
#define CU(name, ...) ((int (*)())driver.name)(__VA_ARGS__)

static __thread int device;
static __thread int last_error;
static __thread bool is_ready;

/* The runtime makes the device's context when it is first needed. */
static int ready(void)
{
	void *context;

	if (is_ready)
		return 0;
	if (!driver.library)
		return 35; /* cudaErrorInsufficientDriver */
	int rc = CU(cuInit, 0);
	if (!rc)
		rc = CU(cuDevicePrimaryCtxRetain, &context, device);
	if (!rc)
		rc = CU(cuCtxSetCurrent, context);
	is_ready = !rc;
	return rc;
}

#define CALL(name, ...) \
	do { \
		if (!driver.library) \
			return 35; \
		driver.enter(#name); \
		int result_ = scripted(#name); \
		if (!result_) \
			result_ = ready(); \
		if (!result_) \
			result_ = (__VA_ARGS__); \
		driver.leave(#name, result_); \
		if (result_) \
			last_error = result_; \
		return result_; \
	} while (0)

/* --- devices ----------------------------------------------------------------------------------------------------------- */

int cudaGetDeviceCount(int *n)
{
	CALL(cudaGetDeviceCount, CU(cuDeviceGetCount, n));
}

int cudaGetDevice(int *out)
{
	CALL(cudaGetDevice, (*out = device, 0));
}

int cudaSetDevice(int to)
{
	device = to;
	is_ready = false;
	CALL(cudaSetDevice, 0);
}

static int reset(void)
{
	int rc = CU(cuDevicePrimaryCtxReset_v2, device);

	is_ready = false;
	return rc;
}

int cudaDeviceReset(void)
{
	CALL(cudaDeviceReset, reset());
}

int cudaDeviceSynchronize(void)
{
	CALL(cudaDeviceSynchronize, CU(cuCtxSynchronize));
}

int cudaGetLastError(void)
{
	int error = last_error;

	last_error = 0;
	return error;
}

int cudaPeekAtLastError(void)
{
	return last_error;
}

const char *cudaGetErrorString(int error)
{
	return error ? "an error" : "no error";
}

const char *cudaGetErrorName(int error)
{
	return error ? "cudaError" : "cudaSuccess";
}

/* --- memory ------------------------------------------------------------------------------------------------------------ */

int cudaMalloc(void **out, size_t bytes)
{
	CALL(cudaMalloc, CU(cuMemAlloc_v2, out, bytes));
}

int cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height)
{
	CALL(cudaMallocPitch, CU(cuMemAllocPitch_v2, out, pitch, width, height, 4));
}

int cudaMallocManaged(void **out, size_t bytes, u32 flags)
{
	CALL(cudaMallocManaged, CU(cuMemAllocManaged, out, bytes, flags));
}

int cudaMallocAsync(void **out, size_t bytes, void *stream)
{
	CALL(cudaMallocAsync, CU(cuMemAllocAsync, out, bytes, stream));
}

int cudaMallocFromPoolAsync(void **out, size_t bytes, void *pool, void *stream)
{
	CALL(cudaMallocFromPoolAsync, CU(cuMemAllocFromPoolAsync, out, bytes, pool, stream));
}

int cudaFree(void *p)
{
	CALL(cudaFree, CU(cuMemFree_v2, p));
}

int cudaFreeAsync(void *p, void *stream)
{
	CALL(cudaFreeAsync, CU(cuMemFreeAsync, p, stream));
}

int cudaMallocHost(void **out, size_t bytes)
{
	CALL(cudaMallocHost, CU(cuMemAllocHost_v2, out, bytes));
}

int cudaFreeHost(void *p)
{
	CALL(cudaFreeHost, CU(cuMemFreeHost, p));
}

int cudaMemGetInfo(size_t *left, size_t *all)
{
	CALL(cudaMemGetInfo, CU(cuMemGetInfo_v2, left, all));
}

static int copy(void *to, const void *from, size_t bytes, int kind)
{
	return kind == 1   ? CU(cuMemcpyHtoD_v2, to, from, bytes)
	       : kind == 2 ? CU(cuMemcpyDtoH_v2, to, from, bytes)
			   : CU(cuMemcpyDtoD_v2, to, from, bytes);
}

static int copy_async(void *to, const void *from, size_t bytes, int kind, void *stream)
{
	return kind == 1   ? CU(cuMemcpyHtoDAsync_v2, to, from, bytes, stream)
	       : kind == 2 ? CU(cuMemcpyDtoHAsync_v2, to, from, bytes, stream)
			   : CU(cuMemcpyDtoDAsync_v2, to, from, bytes, stream);
}

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
	CALL(cudaMemcpy, copy(to, from, bytes, kind));
}

int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
	CALL(cudaMemcpyAsync, copy_async(to, from, bytes, kind, stream));
}

int cudaMemset(void *p, int value, size_t bytes)
{
	CALL(cudaMemset, CU(cuMemsetD8_v2, p, value, bytes));
}

int cudaMemsetAsync(void *p, int value, size_t bytes, void *stream)
{
	CALL(cudaMemsetAsync, CU(cuMemsetD8Async, p, value, bytes, stream));
}

/* --- kernels ----------------------------------------------------------------------------------------------------------- */

enum { FUNCTIONS = 4096 };
static struct {
	const void *host;
	void *function;
} functions[FUNCTIONS];
static u32 n_functions;
static __thread struct {
	struct dim grid, block;
	size_t shared;
	void *stream;
} pushed;

/* The fat binary that nvcc puts into a program: { magic, version, data, … }. */
struct fat_binary {
	u32 magic, version;
	const void *data;
};
struct fat_header {
	u32 magic;
	uint16_t version, header_bytes;
	u64 bytes;
};

void **__cudaRegisterFatBinary(const struct fat_binary *fat)
{
	enum { WRAPPER = 0x466243b1, HEADER = 0xba55ed50 };
	void **handle = calloc(1, sizeof *handle);
	const struct fat_header *h = fat->data;

	if (driver.library && fat->magic == WRAPPER && h && h->magic == HEADER)
		((u32(*)(const void *, size_t))driver.double_cuda_module)(h, h->header_bytes +
										     h->bytes);
	return handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
	free(handle);
}

char __cudaInitModule(void **handle)
{
	(void)handle;
	return 1;
}

static void *function_of(const void *host)
{
	for (u32 i = 0; i < n_functions; i++)
		if (functions[i].host == host)
			return functions[i].function;
	return NULL;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device_function,
			    const char *name, int limit, void *tid, void *bid, void *block,
			    void *grid, int *warp)
{
	(void)handle, (void)device_function, (void)limit, (void)tid, (void)bid, (void)block;
	(void)grid, (void)warp;
	if (!driver.library || n_functions == FUNCTIONS)
		return;
	functions[n_functions].host = host;
	functions[n_functions++].function =
		((void *(*)(const char *))driver.double_cuda_function)(name);
}

u32 __cudaPushCallConfiguration(struct dim grid, struct dim block, size_t shared, void *stream)
{
	pushed.grid = grid;
	pushed.block = block;
	pushed.shared = shared;
	pushed.stream = stream;
	return 0;
}

int __cudaPopCallConfiguration(struct dim *grid, struct dim *block, size_t *shared, void *stream)
{
	*grid = pushed.grid;
	*block = pushed.block;
	*shared = pushed.shared;
	*(void **)stream = pushed.stream;
	return 0;
}

int __cudaGetKernel(void **kernel, const void *host)
{
	*kernel = (void *)host;
	return 0;
}

int cudaLaunchKernel(const void *host, struct dim grid, struct dim block, void **args,
		     size_t shared, void *stream)
{
	CALL(cudaLaunchKernel, CU(cuLaunchKernel, function_of(host), grid.x, grid.y, grid.z,
				  block.x, block.y, block.z, (u32)shared, stream, args, NULL));
}

/* What the programs of nvcc 13 call. */
asm(".text\n.p2align 4\n.globl __cudaLaunchKernel\n.type __cudaLaunchKernel,@function\n"
    "__cudaLaunchKernel:\n.cfi_startproc\njmp cudaLaunchKernel@PLT\n.cfi_endproc\n"
    ".size __cudaLaunchKernel, . - __cudaLaunchKernel\n");

struct launch_config {
	struct dim grid, block;
	size_t shared;
	void *stream;
	void *attributes;
	u32 n_attributes;
};
struct driver_config {
	struct dim grid, block;
	u32 shared;
	void *stream;
	void *attributes;
	u32 n_attributes;
};

static int launch_with(const struct launch_config *c, const void *host, void **args)
{
	struct driver_config d = { c->grid,   c->block,      c->shared,
				   c->stream, c->attributes, c->n_attributes };

	return CU(cuLaunchKernelEx, &d, function_of(host), args, NULL);
}

int cudaLaunchKernelExC(const struct launch_config *c, const void *host, void **args)
{
	CALL(cudaLaunchKernelExC, launch_with(c, host, args));
}

int cudaLaunchCooperativeKernel(const void *host, struct dim grid, struct dim block, void **args,
				size_t shared, void *stream)
{
	CALL(cudaLaunchCooperativeKernel,
	     CU(cuLaunchCooperativeKernel, function_of(host), grid.x, grid.y, grid.z, block.x,
		block.y, block.z, (u32)shared, stream, args));
}

/* --- graphs, streams, events -------------------------------------------------------------------------------------------- */

int cudaStreamBeginCapture(void *stream, int mode)
{
	CALL(cudaStreamBeginCapture, CU(cuStreamBeginCapture_v2, stream, mode));
}

int cudaStreamEndCapture(void *stream, void **graph)
{
	CALL(cudaStreamEndCapture, CU(cuStreamEndCapture, stream, graph));
}

int cudaGraphInstantiate(void **exec, void *graph, u64 flags)
{
	CALL(cudaGraphInstantiate, CU(cuGraphInstantiateWithFlags, exec, graph, flags));
}

int cudaGraphLaunch(void *exec, void *stream)
{
	CALL(cudaGraphLaunch, CU(cuGraphLaunch, exec, stream));
}

int cudaGraphDestroy(void *graph)
{
	CALL(cudaGraphDestroy, CU(cuGraphDestroy, graph));
}

int cudaGraphExecDestroy(void *exec)
{
	CALL(cudaGraphExecDestroy, CU(cuGraphExecDestroy, exec));
}

int cudaStreamCreate(void **out)
{
	CALL(cudaStreamCreate, CU(cuStreamCreate, out, 0));
}

int cudaStreamCreateWithFlags(void **out, u32 flags)
{
	CALL(cudaStreamCreateWithFlags, CU(cuStreamCreate, out, flags));
}

int cudaStreamDestroy(void *stream)
{
	CALL(cudaStreamDestroy, CU(cuStreamDestroy_v2, stream));
}

int cudaStreamSynchronize(void *stream)
{
	CALL(cudaStreamSynchronize, CU(cuStreamSynchronize, stream));
}

int cudaStreamQuery(void *stream)
{
	CALL(cudaStreamQuery, CU(cuStreamQuery, stream));
}

int cudaStreamWaitEvent(void *stream, void *event, u32 flags)
{
	CALL(cudaStreamWaitEvent, CU(cuStreamWaitEvent, stream, event, flags));
}

int cudaEventCreate(void **out)
{
	CALL(cudaEventCreate, CU(cuEventCreate, out, 0));
}

int cudaEventDestroy(void *event)
{
	CALL(cudaEventDestroy, CU(cuEventDestroy_v2, event));
}

int cudaEventRecord(void *event, void *stream)
{
	CALL(cudaEventRecord, CU(cuEventRecord, event, stream));
}

int cudaEventSynchronize(void *event)
{
	CALL(cudaEventSynchronize, CU(cuEventSynchronize, event));
}

int cudaEventQuery(void *event)
{
	CALL(cudaEventQuery, CU(cuEventQuery, event));
}

int cudaEventElapsedTime(float *ms, void *from, void *to)
{
	CALL(cudaEventElapsedTime, CU(cuEventElapsedTime, ms, from, to));
}
