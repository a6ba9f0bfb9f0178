/* collect/gpu/gpu_stall_runs.h: how long each kernel ran on each device, by the stacks that
 * launched it. Samples in a kernel are split by this. */
#ifndef CRESSET_COLLECT_GPU_GPU_STALL_RUNS_H
#define CRESSET_COLLECT_GPU_GPU_STALL_RUNS_H

#include "base/hash.h"
#include "base/vec.h"
#include "gpu/ring/join.h"

enum {
	/* {kernel, stack} of a process and device; further ones are ignored when samples are
	 * split. */
	GPU_STALL_RUNS = 1 << 18, /* limit: stacks of kernels that stalls are split among */
	GPU_STALL_ALL = 0,        /* instead of a kernel: all code that ran */
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

/* kernel: any number but GPU_STALL_ALL, which includes every kernel's time; or GPU_STALL_ALL itself
 * for work without a kernel. */
void gpu_stall_runs_add(struct gpu_stall_runs *r, const struct gpu_share *share, uint32_t gpu,
			uint32_t kernel);

/* Returns the stacks that launched a kernel; if none did, the stacks of everything that ran;
 * otherwise stack 0. To be freed; at least one. */
struct stall_stack *gpu_stall_runs_get(const struct gpu_stall_runs *r, uint32_t pid, uint32_t gpu,
				       uint32_t kernel, uint32_t *n);

#endif
