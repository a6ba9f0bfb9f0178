/* collect/resolve/gpu_origins.h: launchers of work on GPUs: a CPU stack, a thread and its labels;
 * each combination has one number. */
#ifndef CRESSET_COLLECT_RESOLVE_GPU_ORIGINS_H
#define CRESSET_COLLECT_RESOLVE_GPU_ORIGINS_H

#include "base/hash.h"
#include "base/vec.h"
#include "collect/resolve/series_cache.h"

#include <stdint.h>

enum { GPU_ORIGINS_MAX = 1 << 20 }; /* limit: stacks of GPU launches, by thread */

/* Returns the new number of an origin. */
typedef uint32_t gpu_origin_move(void *ctx, uint32_t id);

struct gpu_origin {
	struct series_key key;    /* type, gpu and stream are ignored */
	uint32_t stack, pid, tid; /* stack: id in the sink */
	uint32_t reserved;        /* 0 */
};
struct gpu_origins { /* zeroed = empty */
	VEC(struct gpu_origin) all;
	struct map index;
	uint32_t max; /* 0: GPU_ORIGINS_MAX */
};

/* Returns a number from 1 on; 0: no space. */
uint32_t gpu_origins_put(struct gpu_origins *o, const struct gpu_origin *origin);
const struct gpu_origin *gpu_origins_get(const struct gpu_origins *o, uint32_t id);
void gpu_origins_done(struct gpu_origins *o);

#endif
