/* collect/gpu_stall_runs.h: how long each kernel ran on each device, by the stacks that launched it: what samples in it are split by. */
#ifndef CRESSET_COLLECT_GPU_STALL_RUNS_H
#define CRESSET_COLLECT_GPU_STALL_RUNS_H

#include "base/hash.h"
#include "base/vec.h"
#include "gpu/join.h"
#include "gpu/stall_split.h"

enum {
	/* {kernel, stack} of a process and device; samples are split without further ones. */
	GPU_STALL_RUNS = 1 << 18,
	GPU_STALL_ALL = 0, /* in place of a kernel: whatever ran code */
};

struct gpu_stall_group {
	uint32_t pid, gpu, kernel, first;
};
struct gpu_stall_run {
	uint32_t stack, next;
	double ns, variance;
};
struct gpu_stall_runs { /* zeroed = empty */
	VEC(struct gpu_stall_group) groups;
	VEC(struct gpu_stall_run) runs;
	struct map group_of, run_of;
	bool is_full; /* some were left out */
};
void gpu_stall_runs_clear(struct gpu_stall_runs *r);
void gpu_stall_runs_done(struct gpu_stall_runs *r);

/* kernel: any number but GPU_STALL_ALL, which every kernel's time counts in, too; that alone for what has none. */
void gpu_stall_runs_add(struct gpu_stall_runs *r, const struct gpu_share *share, uint32_t gpu,
			uint32_t kernel);

/* The stacks that launched a kernel; where nobody did, those of all that ran; else stack 0. To be freed; at least one. */
struct stall_stack *gpu_stall_runs_get(const struct gpu_stall_runs *r, uint32_t pid, uint32_t gpu,
				       uint32_t kernel, uint32_t *n);

#endif
