/* collect/gpu_before.h: GPU memory that processes had before anybody counted: the driver's figure of a process, less what was counted.
 *
 * It is an estimate: the figure has what the driver itself needs for the process, too, and is of another moment. */
#ifndef CRESSET_COLLECT_GPU_BEFORE_H
#define CRESSET_COLLECT_GPU_BEFORE_H

#include "collect/collect.h"
#include "collect/resolve.h"
#include "gpu/backend.h"

#define GPU_BEFORE_PATIENCE_NS 2000000000ull
#define GPU_BEFORE_STANDS_NS   10000000000ull

/* Asks the driver, for at most GPU_BEFORE_PATIENCE_NS, and puts samples of hbm-inuse whose stack is [before attach]. Nothing of a command that was started to be
 * recorded: there is no before. */
void gpu_before_put(struct resolver *r, const struct collect_opts *opts, uint64_t now_ns);

/* Always on: the figures that somebody else reads (gpu/watch.h), of processes that began before this did. */
struct gpu_before {        /* zeroed = none */
	uint64_t began_ns; /* since boot */
	uint64_t told_ns;
	struct gpu_reading told;
};
void gpu_before_begin(struct gpu_before *b);
/* What was read since the last time; nothing at all: there was no reading, and what was told stands for GPU_BEFORE_STANDS_NS. */
void gpu_before_told(struct gpu_before *b, const struct gpu_reading *told, uint64_t now_ns);
/* With each snapshot, right after that, at its time. */
void gpu_before_snapshot(struct gpu_before *b, struct resolver *r, uint64_t now_ns);
void gpu_before_done(struct gpu_before *b);

#endif
