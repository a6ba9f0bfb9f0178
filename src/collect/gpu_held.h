/* collect/gpu_held.h: records of what ran on GPUs for which no stack came: they are kept, in order, until shares of their sum (gpu/join.h) take
 * them, so that each keeps its time. */
#ifndef CRESSET_COLLECT_GPU_HELD_H
#define CRESSET_COLLECT_GPU_HELD_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdint.h>

enum { GPU_HELD_MAX = 1 << 20 }; /* further ones are not kept */

struct held_record {
	uint64_t start_ns, ns; /* what is left of it */
	uint32_t next;
};
struct held_queue {
	uint32_t first, last;
};
struct gpu_held { /* zeroed = empty */
	VEC(struct held_record) records;
	VEC(struct held_queue) queues;
	struct map queue_of; /* process and work */
	uint32_t max;        /* records; 0: GPU_HELD_MAX */
};

void gpu_held_add(struct gpu_held *h, uint32_t pid, uint32_t work, uint64_t start_ns, uint64_t ns);
/* From the first record of that process and work that there is, at most max_ns: the rest of it stays. 0: there is none. */
uint64_t gpu_held_take(struct gpu_held *h, uint32_t pid, uint32_t work, uint64_t max_ns,
		       uint64_t *start_ns);
/* It is empty, and can be used again. */
void gpu_held_done(struct gpu_held *h);

#endif
