/* gpu/ring/sampler.h: selects the launches of a thread that get a stack: all of them up to a rate,
 * beyond it one in N, with a new N drawn each time, so that each launch has the same chance and no
 * rhythm of the program is missed. Each selected launch stands for itself and those skipped since
 * the last one: this is its weight, and weights add up to the number of launches.
 *
 * Needs only libc, no system call and no clock of its own. A zeroed sampler is ready. */
#ifndef CRESSET_GPU_RING_SAMPLER_H
#define CRESSET_GPU_RING_SAMPLER_H

#include <stdint.h>

struct launch_sampler {
	uint64_t random;    /* state; seeded when 0 */
	uint64_t period_ns; /* when the current counting period started */
	uint32_t launches;  /* in it */
	uint32_t mean;      /* launches per selected one; 0 and 1: every launch */
	uint32_t skip;      /* still to be skipped */
	uint32_t skipped;   /* since the last hit */
};

/* Returns 0 for no stack, else the weight of this launch. per_s 0: every launch. seed differs per
 * thread; now_ns may be coarse. */
uint32_t launch_sample(struct launch_sampler *s, uint32_t per_s, uint32_t seed, uint64_t now_ns);

#endif
