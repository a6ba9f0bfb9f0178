/* Draws, per thread, after how many bytes the next allocation is a sample: from an exponential
 * distribution, so that each byte has the same chance, whatever the sizes are. */
#include "mem/inject/library.h"

#include <time.h>

_Thread_local struct mem_thread mem_thread;

static uint64_t next_random(struct mem_thread *t)
{
	uint64_t z = t->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* -ln of a number in (0, 1]: by its exponent, and the series of artanh for the rest. */
static double minus_log(uint64_t random)
{
	const double ln2 = 0.69314718055994530942;
	uint64_t bits = (random >> 11) + 1; /* of 2^53 */
	int exponent = 64 - __builtin_clzll(bits);
	double m = (double)bits / (double)(1ull << exponent); /* from a half on, below 1 */
	double s = (m - 1) / (m + 1), square = s * s, sum = 0;

	for (int k = 25; k > 0; k -= 2)
		sum = sum * square + 1.0 / k;
	return (53 - exponent) * ln2 - 2 * s * sum;
}

/* 1 - e^-x, for x from 0 to 1. */
static double chance(double x)
{
	double sum = 1;

	for (int k = 16; k > 1; k--)
		sum = 1 - x / k * sum;
	return x * sum;
}

static void split(struct mem_thread *t, uint64_t bytes)
{
	t->left = bytes < t->mean ? bytes : t->mean;
	t->rest = bytes - t->left;
}

static void draw(struct mem_thread *t)
{
	struct timespec now;

	if (!t->random && mem_library.seed) {
		t->random = __atomic_add_fetch(&mem_library.seed, 0xd1b54a32d192ed03ull,
					       __ATOMIC_RELAXED);
	} else if (!t->random) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		t->random =
			(uint64_t)(uintptr_t)t ^ (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec;
	}
	t->mean = __atomic_load_n(&mem_library.mean, __ATOMIC_RELAXED);
	split(t, (uint64_t)(minus_log(next_random(t)) * (double)t->mean) + 1);
}

/* The distance from the end of a sample to the next is distributed as any other. A block of the
 * mean and above is always a sample, of weight 1, and leaves the distance unchanged. */
float sample_due(size_t size)
{
	struct mem_thread *t = &mem_thread;

	if (!t->mean)
		draw(t);
	if (size >= t->mean)
		return 1;
	uint64_t bytes = t->left + t->rest;
	if (size < bytes) {
		split(t, bytes - size);
		return 0;
	}
	float weight = size ? (float)(1 / chance((double)size / (double)t->mean)) : 0;
	draw(t);
	return weight;
}
