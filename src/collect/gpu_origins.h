/* collect/gpu_origins.h: who launches what runs on GPUs: a CPU stack, a thread and its labels, each combination with one number. */
#ifndef CRESSET_COLLECT_GPU_ORIGINS_H
#define CRESSET_COLLECT_GPU_ORIGINS_H

#include "base/hash.h"
#include "base/vec.h"
#include "collect/series_cache.h"

#include <stdint.h>

enum { GPU_ORIGINS_MAX = 1 << 20 };

/* The number that one has from now on. */
typedef uint32_t gpu_origin_move(void *ctx, uint32_t id);

struct gpu_origin {
	struct series_key key;    /* type, gpu and stream are of no account */
	uint32_t stack, pid, tid; /* stack: of the sink */
	uint32_t reserved;        /* 0 */
};
struct gpu_origins { /* zeroed = empty */
	VEC(struct gpu_origin) all;
	struct map index;
	uint32_t max; /* 0: GPU_ORIGINS_MAX */
};

/* From 1 on; 0: there is no room. */
uint32_t gpu_origins_put(struct gpu_origins *o, const struct gpu_origin *origin);
const struct gpu_origin *gpu_origins_get(const struct gpu_origins *o, uint32_t id);
void gpu_origins_done(struct gpu_origins *o);

#endif
