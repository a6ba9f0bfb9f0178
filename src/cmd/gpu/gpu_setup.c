/* Checks the options of --gpu, finds the library, and sets the events to record. */
#include "cmd/gpu/gpu_setup.h"

#include "attach/attach_library.h"
#include "base/err.h"
#include "cmd/cli/installed.h"
#include "collect/gpu/gpu_files.h"
#include "collect/kernel/sampler_opts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the library --- */

int gpu_library_inject(struct err *err)
{
	const char *there = getenv(CUDA_INJECTION_VARIABLE);
	char path[INSTALLED_PATH_MAX];

	if (there && *there)
		return 0;
	int rc = installed_library(cuda_attach_library.name, path, err);
	if (rc)
		return err_hint(err,
				"searched the directory of this program and ../lib/cresset from "
				"there\n" CUDA_INJECTION_VARIABLE " names another place");
	return setenv(CUDA_INJECTION_VARIABLE, path, 1)
		       ? err_set(err, errno, "cannot set a variable: %s", strerror(errno))
		       : 0;
}

const char *const gpu_level_words[] = { "auto", "off", "require", "0", "1", "2", NULL };

enum {
	EVENTS_0 = COLLECT_GPU_LAUNCH | COLLECT_GPU_WAIT | COLLECT_GPU_COPY | COLLECT_HBM_ALLOC |
		   COLLECT_HBM_INUSE | COLLECT_NCCL,
	EVENTS_1 = EVENTS_0 | COLLECT_GPU_TIME,
	EVENTS_2 = EVENTS_1 | COLLECT_GPU_STALL,
};

uint32_t gpu_level_events(enum gpu_level level)
{
	static const uint32_t events[] = {
		[GPU_LEVEL_AUTO] = EVENTS_1,    [GPU_LEVEL_OFF] = 0,
		[GPU_LEVEL_REQUIRE] = EVENTS_1, [GPU_LEVEL_0] = EVENTS_0,
		[GPU_LEVEL_1] = EVENTS_1,       [GPU_LEVEL_2] = EVENTS_2,
	};

	return events[level];
}

int gpu_level_check(enum gpu_level level, struct err *err)
{
	return level == GPU_LEVEL_REQUIRE ? gpu_files_check(err) : 0;
}
