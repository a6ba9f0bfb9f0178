/* symbol/ranges.h: address ranges that overwrite each other over time, like the code of JIT
 * compilers.
 *
 * Ranges are numbered in the order they were added: a later one hides earlier ones where it
 * overlaps them. The address space is cut at every start and end, and each piece records the last
 * few ranges that cover it, newest first. So a lookup is one binary search and a short walk,
 * however much they overlap. */
#ifndef CRESSET_SYMBOL_RANGES_H
#define CRESSET_SYMBOL_RANGES_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum { RANGE_NONE = UINT32_MAX };

struct range {
	uint64_t start;
	uint32_t size; /* > 0; start + size does not overflow */
	uint32_t name; /* meaning defined by the owner */
};

struct range_layer {
	uint32_t range, below; /* below: the next older layer of the same piece, or RANGE_NONE */
};

struct ranges { /* zeroed = empty */
	VEC(struct range) v;
	uint64_t *cuts; /* n_cuts addresses; piece i is [cuts[i], cuts[i + 1]) */
	uint32_t *top;  /* newest layer of each piece, or RANGE_NONE */
	size_t n_cuts;
	VEC(struct range_layer) layers;
};

void ranges_done(struct ranges *r);

/* Adds the next range. Returns false and adds nothing if it is empty, wraps around or is 4 GiB or
 * larger. */
bool ranges_add(struct ranges *r, uint64_t start, uint64_t size, uint32_t name);

/* Call once, after the last ranges_add. Retains the newest `depth` ranges of each piece. At most
 * 2^31
 * - 1 ranges. */
void ranges_build(struct ranges *r, unsigned depth);

/* Returns the newest range that covers addr among the first n, or NULL. */
const struct range *ranges_find(const struct ranges *r, uint64_t addr, size_t n);

#endif
