#include "gpu/cuda_attach.h"

/* Threads of the driver that wait in poll most of their life. */
static const char *const pollers[] = { "cuda-EvtHandlr", "cuda", NULL };

const struct gpu_attach_library cuda_attach_library = {
	.name = "libcresset-cuda.so",
	.needs = "libcuda.so",
	.pollers = pollers,
};
