/* gpu/sampler.h: which of a thread's launches get a stack: all of them up to a rate, above it one of N with N drawn
 * anew for each, so that each launch has the same chance and no rhythm of the program can hide behind it. Each hit
 * stands for itself and those skipped since the last one, its weight: weights add up to the launches.
 *
 * Needs nothing but libc, no system call and no clock of its own. A zeroed sampler is ready. */
#ifndef CRESSET_GPU_SAMPLER_H
#define CRESSET_GPU_SAMPLER_H

#include <stdint.h>

struct launch_sampler {
	uint64_t random;    /* state; seeded when 0 */
	uint64_t period_ns; /* when the period began that is being counted */
	uint32_t launches;  /* in it */
	uint32_t mean;      /* launches for each hit; 0 and 1: every one */
	uint32_t skip;      /* still to be skipped */
	uint32_t skipped;   /* since the last hit */
};

/* 0: no stack for this launch, else its weight. per_s 0: every launch. seed tells threads apart; now_ns may be
 * coarse. */
uint32_t launch_sample(struct launch_sampler *s, uint32_t per_s, uint32_t seed, uint64_t now_ns);

#endif
