/* cmd/gpu_env.h: CRESSET_GPU_SCRIPT names a file that plays GPUs in place of those of this machine (gpu/scripted.h). */
#ifndef CRESSET_CMD_GPU_ENV_H
#define CRESSET_CMD_GPU_ENV_H

#include "gpu/backend.h"

#include <stdlib.h>

static inline struct gpu_source gpu_env(void)
{
	const char *script = getenv("CRESSET_GPU_SCRIPT");

	return (struct gpu_source){ .script = script && *script ? script : NULL };
}

#endif
