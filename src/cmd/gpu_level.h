/* cmd/gpu_level.h: --gpu of record, up and agent: how much is recorded of what programs ask of GPUs.
 *
 *     level 0   calls of the libraries: launches, waits, copies, memory; nothing is in the program
 *     level 1   GPU time, of programs that have the library inside (gpu/ring.h)
 *     level 2   why instructions stall, of these */
#ifndef CRESSET_CMD_GPU_LEVEL_H
#define CRESSET_CMD_GPU_LEVEL_H

#include "base/err.h"

#include <stdint.h>

/* As gpu_level_words. */
enum gpu_level {
	GPU_LEVEL_AUTO,
	GPU_LEVEL_OFF,
	GPU_LEVEL_REQUIRE,
	GPU_LEVEL_0,
	GPU_LEVEL_1,
	GPU_LEVEL_2
};
extern const char *const gpu_level_words[];

/* The most of enum collect_event that it lets be recorded of GPUs. AUTO is REQUIRE without a check: level 1. */
uint32_t gpu_level_events(enum gpu_level level);

/* Of REQUIRE: 0, or why there is nothing to be had. */
int gpu_level_check(enum gpu_level level, struct err *err);

#endif
