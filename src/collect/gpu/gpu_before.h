/* collect/gpu/gpu_before.h: GPU memory that processes had before it was counted: the driver's
 * figure for a process, less what was counted.
 *
 * It is an estimate: the figure includes what the driver itself needs for the process, and is from
 * another moment. */
#ifndef CRESSET_COLLECT_GPU_GPU_BEFORE_H
#define CRESSET_COLLECT_GPU_GPU_BEFORE_H

#include "collect/kernel/sampler_opts.h"
#include "collect/resolve/resolve.h"
#include "gpu/device/backend.h"

#define GPU_BEFORE_PATIENCE_NS 2000000000ull
#define GPU_BEFORE_STANDS_NS   10000000000ull

/* Asks the driver, for at most GPU_BEFORE_PATIENCE_NS, and puts samples of hbm-inuse with the stack
 * [before attach]. Does nothing for a command that was started to be recorded: it had no memory
 * before. */
void gpu_before_put(struct resolver *r, const struct sampler_opts *opts, const char *script,
		    uint64_t now_ns);

/* Always on: figures that another thread reads (gpu/device/watch.h), for processes that started
 * before this one. */
struct gpu_before {        /* zeroed = none */
	uint64_t began_ns; /* since boot */
	uint64_t told_ns;
	struct gpu_reading told;
};
void gpu_before_begin(struct gpu_before *b);
/* Takes what was read since the last call. Empty: there was no reading; the previous figures are
 * valid for GPU_BEFORE_STANDS_NS. */
void gpu_before_update(struct gpu_before *b, const struct gpu_reading *told, uint64_t now_ns);
/* Call it right after each snapshot, with the same time. */
void gpu_before_snapshot(struct gpu_before *b, struct resolver *r, uint64_t now_ns);
void gpu_before_done(struct gpu_before *b);

#endif
