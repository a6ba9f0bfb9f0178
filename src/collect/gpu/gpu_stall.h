/* collect/gpu/gpu_stall.h: where kernels stalled, and on whose behalf: samples of instructions and
 * reasons from a program's ring (gpu/ring/ring.h), with the source from the device code
 * (gpu/code/device_code.h), below the CPU stacks that launched the kernel.
 *
 *     gpu_stall_record   takes a record of the ring: reasons, contexts, images, samples
 *     gpu_stall_read     after each reading of a ring: copies the images that are needed while the
 *                        ring is there
 *     gpu_stall_ran      takes how long a kernel ran for a stack (gpu/ring/join.h)
 *     gpu_stall_flush    puts the samples; after the last of the above
 *
 * A sample does not say which launch it was in. The samples of a kernel are split among the stacks
 * that launched it on that device, by the time that it ran for each (gpu/code/stall_split.h). Those
 * of a function that is no kernel with records of its own (a graph's, a device function's) are
 * split by the time of all kernels. With one stack the result is exact. With several it is an
 * estimate and has the label of one (profile/change/estimate.h): the number of samples that it is
 * based on, fewer if the time is itself an estimate.
 *
 * Samples of gpu-stall have the period of the device that took them, in cycles. Samples of
 * gpu-stall-not-issued are those among them in cycles in which no other warp of the scheduler
 * proceeded either. Any user's program can write records, so rows and images are bounded. */
#ifndef CRESSET_COLLECT_GPU_GPU_STALL_H
#define CRESSET_COLLECT_GPU_GPU_STALL_H

#include "collect/kernel/gpu_stats.h"
#include "collect/kernel/sampler_opts.h"
#include "collect/resolve/resolve.h"
#include "gpu/ring/join.h"
#include "gpu/ring/ring_read.h"

enum {
	/* limit: places of GPU stalls (instruction, reason) */
	GPU_STALL_ROWS = 1 << 20,
	/* limit: GPU contexts whose stalls are sampled */
	GPU_STALL_CONTEXTS = 1 << 14,
	GPU_STALL_REASONS = 1 << 18, /* limit: reasons of stalls, of all contexts */
};

struct gpu_stall;

struct gpu_stall_opts {
	struct sink *sink;
	struct resolver *resolver; /* the caller's, as is the sink */
	uint32_t type, not_issued_type;
	bool is_always; /* no request waits for files to be searched */
};
struct gpu_stall *gpu_stall_new(const struct gpu_stall_opts *opts);
void gpu_stall_free(struct gpu_stall *s); /* NULL is fine */

/* A record of a process's ring, passed on at now_ns. */
struct gpu_stall_told {
	uint32_t pid;
	uint32_t gpu; /* for RING_STALL_CONFIG: its device, as in struct gpu_ran */
	uint64_t now_ns;
	const union ring_any *record;
	const char *name; /* as in ring_record_fn */
};
/* Ignores records of other types. */
void gpu_stall_record(struct gpu_stall *s, const struct gpu_stall_told *told);
void gpu_stall_read(struct gpu_stall *s, uint32_t pid, struct ring_reader *ring);
/* kernel: its name in the ring; NULL: several at the same time. gpu: as in struct gpu_ran. */
void gpu_stall_ran(struct gpu_stall *s, const struct gpu_share *share, uint32_t gpu,
		   const char *kernel);
/* Adds the losses that a program reported since before. */
void gpu_stall_lost(struct gpu_stall *s, const struct ring_state_now *now,
		    const struct ring_state_now *before);
void gpu_stall_flush(struct gpu_stall *s);
/* After a flush: ids are those of another sink from here on. */
void gpu_stall_set_sink(struct gpu_stall *s, struct sink *sink, const struct gpu_types *types);
void gpu_stall_get_stats(const struct gpu_stall *s, struct gpu_stall_stats *out);

#endif
