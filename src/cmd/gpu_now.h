/* cmd/gpu_now.h: the GPUs of this machine as they are now, for commands that look once, or now and then. A driver that hangs holds none of them up. */
#ifndef CRESSET_CMD_GPU_NOW_H
#define CRESSET_CMD_GPU_NOW_H

#include "base/buf.h"
#include "gpu/watch.h"

struct gpu_now { /* zeroed = nothing is known */
	struct gpu_machine machine;
	struct gpu_reading reading; /* the last one */
	struct gpu_status status;
};
/* Asks the driver, and waits for it for two seconds. */
void gpu_now_read(struct gpu_now *now);
/* What the watch has meanwhile; without anything new all stays. */
void gpu_now_take(struct gpu_now *now, struct gpu_watch *w);
void gpu_now_done(struct gpu_now *now);

/* The newest value. False: not known. */
bool gpu_now_value(const struct gpu_now *now, uint32_t device, enum gpu_metric metric,
		   double *value);
/* "37 %, 1.00 of 85.0 GB, 350 W", of what is known. */
void gpu_now_words(const struct gpu_now *now, uint32_t device, struct buf *b);

#endif
