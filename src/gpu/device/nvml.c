/* Loads the library and its functions. */
#include "gpu/device/nvml.h"

#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int nvml_find(struct nvml_api *api, void *(*find)(void *ctx, const char *symbol), void *ctx,
	      struct err *err)
{
	void *found;

#define NVML_FIND(member, symbol, args) \
	found = find(ctx, symbol); \
	memcpy(&api->member, &found, sizeof found);
	NVML_CALLS(NVML_FIND)
#undef NVML_FIND
	if (!api->init || !api->shutdown || !api->device_count || !api->device_at)
		return err_set(err, ENOENT,
			       "it is too old: it lacks nvmlInit_v2, nvmlShutdown, "
			       "nvmlDeviceGetCount_v2 or nvmlDeviceGetHandleByIndex_v2");
	return 0;
}

const char *nvml_words(int result, char text[32])
{
	static const struct {
		int result;
		const char *words;
	} known[] = {
		{ NVML_NOT_SUPPORTED, "not supported" },
		{ NVML_NO_PERMISSION, "no permission" },
		{ NVML_DRIVER_NOT_LOADED, "the driver is not loaded" },
		{ NVML_LIBRARY_NOT_FOUND, "a library of the driver is missing" },
		{ NVML_FUNCTION_NOT_FOUND, "library and driver are of different versions" },
		{ NVML_GPU_IS_LOST, "the GPU is lost" },
		{ NVML_RESET_REQUIRED, "the GPU needs a reset" },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].result == result)
			return known[i].words;
	snprintf(text, 32, "error %d", result);
	return text;
}
