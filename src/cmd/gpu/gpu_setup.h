/* cmd/gpu/gpu_setup.h: --gpu of record, up and agent: how much is recorded of programs' use of
 * GPUs.
 *
 *     level 0   calls of the libraries: launches, waits, copies, memory; nothing is in the program
 *     level 1   GPU time, of programs that have the library inside (gpu/ring/ring.h)
 *     level 2   why instructions stall, of the same programs */
#ifndef CRESSET_CMD_GPU_GPU_SETUP_H
#define CRESSET_CMD_GPU_GPU_SETUP_H

#include "gpu/device/backend.h"
#include "gpu/device/watch.h"

#include <stdint.h>
#include <stdlib.h>

struct buf;
struct err;

/* In the order of gpu_level_words. */
enum gpu_level {
	GPU_LEVEL_AUTO,
	GPU_LEVEL_OFF,
	GPU_LEVEL_REQUIRE,
	GPU_LEVEL_0,
	GPU_LEVEL_1,
	GPU_LEVEL_2
};
extern const char *const gpu_level_words[];

/* Returns the GPU events (enum collect_event) that a level allows at most. AUTO is REQUIRE without
 * the check: level 1. */
uint32_t gpu_level_events(enum gpu_level level);

/* For REQUIRE: returns 0, or why nothing can be recorded. */
int gpu_level_check(enum gpu_level level, struct err *err);

/* Sets the variable that makes programs started from here on load the library of levels 1 and 2,
 * unless it is set already. */
int gpu_library_inject(struct err *err);

/* CRESSET_GPU_SCRIPT names a file that simulates GPUs in place of those of this machine
 * (gpu/device/scripted.h). */
static inline struct gpu_source gpu_env(void)
{
	const char *script = getenv("CRESSET_GPU_SCRIPT");

	return (struct gpu_source){ .script = script && *script ? script : NULL };
}

/* --- gpu_now.c: the current state of this machine's GPUs, for commands that read it once or at
 * intervals. A hanging driver does not block them. */

struct gpu_now { /* zeroed = nothing known */
	struct gpu_machine machine;
	struct gpu_reading reading; /* the newest one */
	struct gpu_status status;
};
/* Asks the driver, and waits up to two seconds for it. */
void gpu_now_read(struct gpu_now *now);
/* Takes what the watch has read in the meantime; if there is nothing new, nothing changes. */
void gpu_now_take(struct gpu_now *now, struct gpu_watch *w);
void gpu_now_done(struct gpu_now *now);

/* Sets *value to the newest value. Returns false if it is unknown. */
bool gpu_now_value(const struct gpu_now *now, uint32_t device, enum gpu_metric metric,
		   double *value);
/* "37 %, 1.00 of 85.0 GB, 350 W", with the known parts. */
void gpu_now_words(const struct gpu_now *now, uint32_t device, struct buf *b);

#endif
