/* collect/resolve/gpu_names.h: labels of GPUs: each identified by its hardware, whatever number a
 * program has for it.
 *
 *     gpu_names_update   sets which GPUs the driver of this machine lists; its numbers are those
 *                        of the readings (collect/host/host_sources.h)
 *     gpu_names_put      adds a program's GPU, as its library identifies it (gpu/ring/ring.h)
 *     gpu_names_get      returns label `gpu`, and `uuid`
 *
 * A GPU that the driver lists has the driver's label. It is found by its UUID, or, if it is a whole
 * GPU, by its bus address. Other GPUs have the program's number as the label; if another GPU has
 * that label, the start of their UUID. A GPU that the library does not identify has the number,
 * and no UUID. */
#ifndef CRESSET_COLLECT_RESOLVE_GPU_NAMES_H
#define CRESSET_COLLECT_RESOLVE_GPU_NAMES_H

#include "base/vec.h"
#include "gpu/ring/ring.h"

#include <stdbool.h>
#include <stdint.h>

struct gpu_machine;

enum { GPU_NAMES_MAX = 1024 }; /* limit: names of GPUs; others have no label */

struct gpu_name {
	char label[24], uuid[64];
	struct ring_device is; /* flags 0: unknown */
	uint32_t number;       /* the program's */
};
struct gpu_names { /* zeroed = none */
	VEC(struct gpu_name) all;
	VEC(struct gpu_device) told;
	uint32_t since; /* names before this index were made before the driver's current list */
	bool is_told;   /* the driver's list is known; it may be empty */
};

void gpu_names_done(struct gpu_names *n);
void gpu_names_update(struct gpu_names *n, const struct gpu_machine *m);
/* is: NULL: unknown. Returns its index in all, plus 1, which does not change; 0: no space. */
uint32_t gpu_names_put(struct gpu_names *n, uint32_t number, const struct ring_device *is);
/* gpu: index plus 1. Returns NULL for 0. */
const struct gpu_name *gpu_names_get(const struct gpu_names *n, uint32_t gpu);

#endif
