/* base/radix.h: many rows in order of one number: a radix sort, stable. */
#ifndef CRESSET_BASE_RADIX_H
#define CRESSET_BASE_RADIX_H

#include <stddef.h>
#include <stdint.h>

/* What a row is sorted by, and which one it is. */
struct radix_key {
	uint64_t key;
	uint32_t row;
};

/* room: 2 n of them, the first n filled in. Returns where the sorted n are, in room. */
struct radix_key *radix_sort(struct radix_key *room, size_t n);

#endif
