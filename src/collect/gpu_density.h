/* collect/gpu_density.h: what ran on GPUs, summed up by who asked for it and what it was, where there is more of it than can be kept one by one. */
#ifndef CRESSET_COLLECT_GPU_DENSITY_H
#define CRESSET_COLLECT_GPU_DENSITY_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdint.h>

enum { GPU_DENSITY_ROWS = 8192 }; /* more make room for themselves */

struct gpu_dense {
	uint32_t pid, origin, work;
	uint32_t samples;      /* that its stack was estimated of; 0: it was not */
	uint64_t start_ns, ns; /* of the first one; of all */
};
struct gpu_density { /* zeroed = empty */
	VEC(struct gpu_dense) rows;
	struct map index;
	/* Takes a sum. */
	void (*give)(void *ctx, const struct gpu_dense *d);
	void *ctx;
};

void gpu_density_add(struct gpu_density *d, const struct gpu_dense *ran);
/* All sums are given away. */
void gpu_density_flush(struct gpu_density *d);
void gpu_density_done(struct gpu_density *d);

#endif
