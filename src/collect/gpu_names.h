/* collect/gpu_names.h: what GPUs are called in labels: each by what it is, whatever number a program has for it.
 *
 *     gpu_names_told   which GPUs the driver of this machine has: its numbers of them are those of the readings (collect/host_gpu.h)
 *     gpu_names_put    one of a program's, by what the library in it says (gpu/ring.h)
 *     gpu_names_get    label `gpu`, and `uuid`
 *
 * One that the driver lists is called as there: found by its UUID, else, of a whole one, by its place on the bus. Of others the program's number is
 * the label, unless another GPU is called so: then it is the beginning of its UUID. One of which the library does not say what it is
 * has the number, and no UUID. */
#ifndef CRESSET_COLLECT_GPU_NAMES_H
#define CRESSET_COLLECT_GPU_NAMES_H

#include "base/vec.h"
#include "gpu/backend.h"
#include "gpu/ring.h"

#include <stdbool.h>
#include <stdint.h>

enum { GPU_NAMES_MAX = 1024 }; /* programs may say what they like */

struct gpu_name {
	char label[24], uuid[64];
	struct ring_device is; /* flags 0: not known */
	uint32_t number;       /* the program's */
};
struct gpu_names { /* zeroed = none */
	VEC(struct gpu_name) all;
	VEC(struct gpu_device) told;
	uint32_t since; /* those of before have names that the driver did not know of */
	bool is_told;   /* what there is, which may be nothing */
};

void gpu_names_done(struct gpu_names *n);
void gpu_names_told(struct gpu_names *n, const struct gpu_machine *m);
/* is: NULL, not known. Its place in all, plus 1, which stays; 0: no room. */
uint32_t gpu_names_put(struct gpu_names *n, uint32_t number, const struct ring_device *is);
/* gpu: plus 1. NULL: of 0. */
const struct gpu_name *gpu_names_get(const struct gpu_names *n, uint32_t gpu);

#endif
