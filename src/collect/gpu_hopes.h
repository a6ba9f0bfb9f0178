/* collect/gpu_hopes.h: processes that have mapped the library (gpu/ring.h) and show no ring yet. Each is asked for it, at growing pauses, as long
 * as there is something to hope for: for GPU_TIME_FOUND_WITHIN_S, where this runs always for as long as another agent has the ring, and of one that was
 * given back (gpu/ring_look.h) until it is asked for again. */
#ifndef CRESSET_COLLECT_GPU_HOPES_H
#define CRESSET_COLLECT_GPU_HOPES_H

#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

#define GPU_HOPES_AGAIN_NS    2000000000ull /* a ring that another agent has */
#define GPU_HOPES_DETACHED_NS 1000000000ull /* one that was given back */

struct gpu_hope {
	uint32_t pid;
	uint64_t next_ns, pause_ns, until_ns;
	bool is_busy;     /* another agent has it */
	bool is_detached; /* it was given back */
};
struct gpu_hopes {
	bool is_always; /* this runs always */
	/* Tries to have the ring: 0, -ENOENT, -EPROTO and -EBUSY as ring_open has them, or why there never will be one. */
	int (*open)(void *ctx, uint32_t pid, uint64_t now_ns, struct err *err);
	void (*give_up)(void *ctx, uint32_t pid, const char *why); /* of what is worth telling */
	void *ctx;
	VEC(struct gpu_hope) all;
};
void gpu_hopes_done(struct gpu_hopes *h);

bool gpu_hopes_has(const struct gpu_hopes *h, uint32_t pid);
/* from_ns: when it is looked for first. */
void gpu_hopes_add(struct gpu_hopes *h, uint32_t pid, uint64_t from_ns);
void gpu_hopes_look(struct gpu_hopes *h, uint64_t now_ns);
/* What was hoped of it is over. */
void gpu_hopes_drop(struct gpu_hopes *h, uint32_t pid);
uint64_t gpu_hopes_next_ns(const struct gpu_hopes *h); /* UINT64_MAX: never */
/* There is nothing to hope for any more: gives up those that could have been had, and forgets all. */
void gpu_hopes_end(struct gpu_hopes *h);

#endif
