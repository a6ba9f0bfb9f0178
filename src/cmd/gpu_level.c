#include "cmd/gpu_level.h"

#include "collect/collect.h"
#include "collect/gpu_files.h"

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
