/* tests/doubles/cuda.h: what the doubles of NVIDIA's libraries tell each other, and nothing else in the project includes.
 *
 * libcuda (libcuda.c) plays the device. libcudart stands on it, and libcupti listens to it: double_cuda_subscribe has it called at every
 * call of the two interfaces, at its beginning and its end in the thread that calls, and once for each piece of work that the device has
 * done, from the double's own thread cuda-EvtHandlr or from a thread that waits for the device. Nested calls, the driver's under the
 * runtime's, have the same correlation id. Times are CLOCK_MONOTONIC ns. */
#ifndef CRESSET_DOUBLES_CUDA_H
#define CRESSET_DOUBLES_CUDA_H

#include <stddef.h>
#include <stdint.h>

enum double_cuda_kind {
	DOUBLE_CALL_ENTER = 1,
	DOUBLE_CALL_EXIT,
	DOUBLE_WORK,
	DOUBLE_CONTEXT_CREATED,
	DOUBLE_CONTEXT_DESTROYED,
	DOUBLE_MODULE_LOADED,
	DOUBLE_MODULE_UNLOADED,
};
enum double_cuda_domain { DOUBLE_DRIVER = 1, DOUBLE_RUNTIME = 2 };
enum double_cuda_work {
	DOUBLE_KERNEL = 1,
	DOUBLE_COPY,
	DOUBLE_MEMSET,
	DOUBLE_SYNC,
	DOUBLE_ALLOC,
	DOUBLE_FREE,
};

struct double_cuda_event {
	uint32_t kind;        /* enum double_cuda_kind */
	uint32_t domain;      /* of calls: enum double_cuda_domain */
	const char *name;     /* of the function called, of the kernel; stays */
	uint32_t correlation; /* of the call, or of the one that began the work */
	int32_t result;       /* of DOUBLE_CALL_EXIT */
	uint32_t work;        /* enum double_cuda_work */
	uint32_t device, context, stream, tid;
	uint32_t graph;      /* of the executable graph; 0: none */
	uint64_t graph_node; /* 0: none */
	uint64_t start_ns, end_ns;
	uint64_t bytes, address;
	uint32_t copy_kind; /* cudaMemcpyKind: 1 to the device, 2 from it, 3 on it */
	uint32_t grid[3], block[3], shared_bytes;
	void *handle; /* of the context, where the event is a call's or a context's */
	uint32_t module;
	const void *image; /* of a module, NULL: none */
	size_t image_bytes;
};
typedef void (*double_cuda_listener)(void *ctx, const struct double_cuda_event *event);

/* At most 4 listeners: 0, or -1. They may call into the double, but for unsubscribing themselves. */
int double_cuda_subscribe(double_cuda_listener listener, void *ctx);
void double_cuda_unsubscribe(double_cuda_listener listener, void *ctx);

/* A call of libcudart's: returns its correlation id. */
uint32_t double_cuda_runtime_enter(const char *name);
void double_cuda_runtime_exit(const char *name, int result);

/* Has everything that the device was given up to now, and that is done, told to the listeners before it returns; with force also what is
 * not done yet, as of its end. */
void double_cuda_flush(int force);

/* What a kernel's name takes on the device, as the script says; the default of a kernel that it does not name. */
uint64_t double_cuda_kernel_ns(const char *name);

/* The function handle of a kernel that libcudart registered: a name, and the image it is in. */
void *double_cuda_function(const char *name);
uint32_t double_cuda_module(const void *image, size_t bytes);

#endif
