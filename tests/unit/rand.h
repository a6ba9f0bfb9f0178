/* tests/unit/rand.h: numbers that look random and are the same in every run. */
#ifndef CRESSET_TESTS_RAND_H
#define CRESSET_TESTS_RAND_H

#include <stdint.h>

struct rng {
	uint64_t state; /* not 0 */
};

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016. */
static inline uint64_t rng_next(struct rng *r)
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return r->state * 0x2545f4914f6cdd1dull;
}

/* 0 … n - 1. */
static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
	return (rng_next(r) >> 11) % n;
}

#endif
