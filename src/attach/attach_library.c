/* Describes the libraries for attaching. */
#include "attach/attach_library.h"

/* Threads of the driver that are mostly waiting in poll. */
static const char *const pollers[] = { "cuda-EvtHandlr", "cuda", NULL };

const struct gpu_attach_library cuda_attach_library = {
	.name = "libcresset-cuda.so",
	.needs = "libcuda.so",
	.pollers = pollers,
};

const struct gpu_attach_library mem_attach_library = { .name = "libcresset-mem.so" };
