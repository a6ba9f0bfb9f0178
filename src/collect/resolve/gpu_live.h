/* collect/resolve/gpu_live.h: GPU memory that processes have allocated and not freed: one row per
 * allocation, with the stack that requested it. */
#ifndef CRESSET_COLLECT_RESOLVE_GPU_LIVE_H
#define CRESSET_COLLECT_RESOLVE_GPU_LIVE_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum { GPU_LIVE_MAX = 1 << 20 }; /* limit: GPU allocations in use, 48 bytes each */

struct gpu_allocation {
	uint64_t address, bytes, time_ns, context;
	uint32_t pid;
	uint32_t flags;  /* as in struct gpu_probe_row */
	uint32_t origin; /* who allocated it (collect/resolve/gpu_origins.h) */
	bool is_live;
};
struct gpu_live { /* zeroed = empty */
	struct map by_address;
	VEC(struct gpu_allocation) all;
	VEC(uint32_t) free_rows;
	uint32_t max;     /* rows; 0: GPU_LIVE_MAX */
	uint64_t refused; /* allocations without space */
	/* Called for allocations that end with their context or process; may be NULL. */
	void (*gone)(void *ctx, const struct gpu_allocation *a);
	void *ctx;
};

/* If the address is already there, its free was not seen: the row is replaced. */
void gpu_live_add(struct gpu_live *l, const struct gpu_allocation *a);
void gpu_live_free(struct gpu_live *l, uint32_t pid, uint64_t address, uint32_t flags);
/* Drops that row without calling gone. */
void gpu_live_drop(struct gpu_live *l, uint32_t row);
/* Drops all allocations of a context up to until_ns. */
void gpu_live_reset(struct gpu_live *l, uint32_t pid, uint64_t context, uint64_t until_ns);
/* Drops all allocations of a process that has ended. */
void gpu_live_end(struct gpu_live *l, uint32_t pid);
void gpu_live_done(struct gpu_live *l);

#endif
