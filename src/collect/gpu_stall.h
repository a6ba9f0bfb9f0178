/* collect/gpu_stall.h: where kernels stalled, and for whom: samples of instructions and reasons out of a program's ring (gpu/ring.h), with the source that
 * the device code tells of (gpu/device_code.h), below the CPU stacks that launched the kernel.
 *
 *     gpu_stall_record   what the ring says: reasons, contexts, images, samples
 *     gpu_stall_read     after each reading of a ring: images that are needed are copied while it is there
 *     gpu_stall_ran      how long a kernel ran for a stack (gpu/join.h)
 *     gpu_stall_flush    the samples; after the last of those
 *
 * A sample does not say which launch it was in. Those of a kernel are split among the stacks that launched it on that device, by the time that it ran for
 * each (gpu/stall_split.h); of a function that is no kernel with records of its own (a graph's, a device function's) by all kernels'.
 * With one stack that is exact; with several an estimate, which has the label of one (profile/estimate.h): the samples that it is of, fewer where the
 * time is an estimate itself.
 *
 * Samples of gpu-stall have the period of the device that took them, in cycles; those of gpu-stall-not-issued are the ones among them in cycles in which no other
 * warp of the scheduler went on, either. Records are the word of a program of any user: rows and images are bounded. */
#ifndef CRESSET_COLLECT_GPU_STALL_H
#define CRESSET_COLLECT_GPU_STALL_H

#include "collect/collect.h"
#include "collect/resolve.h"
#include "gpu/join.h"
#include "gpu/ring_read.h"

enum {
	GPU_STALL_ROWS = 1 << 20, /* {function, offset, reason} of a process and device */
	GPU_STALL_CONTEXTS = 1 << 14,
	GPU_STALL_REASONS = 1 << 18, /* of all contexts */
};

struct gpu_stall;

struct gpu_stall_opts {
	struct sink *sink;
	struct resolver *resolver; /* the caller's, as the sink */
	uint32_t type, not_issued_type;
	bool is_always; /* nobody waits for files that are looked through */
};
struct gpu_stall *gpu_stall_new(const struct gpu_stall_opts *opts);
void gpu_stall_free(struct gpu_stall *s); /* NULL is fine */

/* A record of that process's ring, handed on at now_ns. */
struct gpu_stall_told {
	uint32_t pid;
	uint32_t gpu; /* of RING_STALL_CONFIG: its device, as struct gpu_ran has it */
	uint64_t now_ns;
	const union ring_any *record;
	const char *name; /* as ring_record_fn */
};
/* Records of other types are passed over. */
void gpu_stall_record(struct gpu_stall *s, const struct gpu_stall_told *told);
void gpu_stall_read(struct gpu_stall *s, uint32_t pid, struct ring_reader *ring);
/* kernel: its name as the ring has it; NULL: several at once. gpu: as struct gpu_ran has it. */
void gpu_stall_ran(struct gpu_stall *s, const struct gpu_share *share, uint32_t gpu,
		   const char *kernel);
/* What a program says that it lost, since before. */
void gpu_stall_lost(struct gpu_stall *s, const struct ring_state_now *now,
		    const struct ring_state_now *before);
void gpu_stall_flush(struct gpu_stall *s);
/* After a flush: ids are another sink's from here on. */
void gpu_stall_set_sink(struct gpu_stall *s, struct sink *sink, const struct gpu_types *types);
void gpu_stall_get_stats(const struct gpu_stall *s, struct gpu_stall_stats *out);

#endif
