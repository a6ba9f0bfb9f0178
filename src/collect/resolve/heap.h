/* collect/resolve/heap.h: sampled allocations of programs that have the library (mem/live/live.h):
 * the stack of each, by process and number, until it is known to be freed; and sums of those in
 * use, by stack.
 *
 * A block of s bytes is sampled with a known probability and stands for w blocks. So a sum has the
 * variance Σ w·(w - 1)·s² (of bytes; without s of blocks). That is the sum of the values w·s, each
 * times (w - 1)·s: this is the period of the sample's series, by which profile/change/estimate.h
 * knows it. It is rounded up to three binary digits, so that there are few series. A block that is
 * always sampled has the period 0. */
#ifndef CRESSET_COLLECT_RESOLVE_HEAP_H
#define CRESSET_COLLECT_RESOLVE_HEAP_H

#include "base/hash.h"
#include "base/vec.h"
#include "collect/resolve/gpu_origins.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	/* limit: sampled allocations with a known stack, 24 bytes each */
	HEAP_SAMPLES_MAX = 1 << 22,
	/* limit: sampled allocations with a known stack, always on */
	HEAP_SAMPLES_ALWAYS = 1 << 19,
	/* Then freed ones are dropped before a cut, and again at twice the rest. */
	HEAP_SAMPLES_MANY = 1 << 18,
	/* limit: stacks and threads of sampled allocations, always on */
	HEAP_ORIGINS_ALWAYS = 1 << 17,
};

struct heap_sample {
	uint64_t number;
	uint32_t pid, origin;
	uint32_t round; /* in which it was last seen in use */
	uint32_t reserved;
};
struct heap_sum {
	uint32_t origin, age; /* age: enum age, plus 1; 0: unknown */
	int64_t bytes_period, objects_period;
	double bytes, objects;
};
struct heap_sums { /* zeroed = empty */
	struct map index;
	VEC(struct heap_sum) all;
};
struct heap { /* zeroed = empty */
	struct map by_number;
	VEC(struct heap_sample) all;
	struct gpu_origins origins;
	struct map read; /* processes with rows read since heap_forget, ended ones as well */
	struct heap_sums now, ended;
	struct heap_sums allocated; /* by Go's own profile, since the last cut */
	uint32_t round;
	size_t max, many; /* samples; 0: HEAP_SAMPLES_MAX, HEAP_SAMPLES_MANY */
	uint64_t refused; /* samples without space, or that cannot be */
};

void heap_put(struct heap *h, uint32_t pid, uint64_t number, uint32_t origin);
/* Returns the number of the origin; 0: unknown. The sample is in use in this round. */
uint32_t heap_find(struct heap *h, uint32_t pid, uint64_t number);
struct heap_blocks {
	uint32_t origin, age; /* as in heap_sum */
	uint64_t size, n;     /* of each; that were sampled */
	double weight;        /* that each stands for */
};
void heap_add(struct heap_sums *s, const struct heap_blocks *b);
/* Returns the age of a block, plus 1; times are of CLOCK_MONOTONIC. */
uint32_t heap_age(uint64_t now_s, uint64_t born_s);
void heap_clear(struct heap_sums *s);
/* Drops samples that were not found in this round, if their process was read, or is_there (may be
 * NULL) denies it. Then no process is read. */
void heap_forget(struct heap *h, bool (*is_there)(void *ctx, uint32_t pid), void *ctx);
void heap_done(struct heap *h);

/* Returns the period of a series. beyond: (w - 1)·s, or w - 1. */
int64_t heap_period(double beyond);
/* Rounds up or down, so that sums are right on average. key: distinguishes values. */
int64_t heap_whole(double value, uint64_t key);

#endif
