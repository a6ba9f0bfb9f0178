/* The table of vendors. */
#include "gpu/device/backend.h"
#include "gpu/device/nvidia.h"
#include "gpu/device/scripted.h"

#include <string.h>

/* A script replaces the machine's devices, so it is first: gpu/device/watch.h takes the first
 * backend that opens. */
const struct gpu_backend *const gpu_backends[] = { &gpu_scripted, &gpu_nvidia, NULL };

const struct gpu_backend *gpu_backend_of(const char *name)
{
	for (int i = 0; name && gpu_backends[i]; i++)
		if (strcmp(gpu_backends[i]->name, name) == 0)
			return gpu_backends[i];
	return NULL;
}
