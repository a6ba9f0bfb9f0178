/* base/radix.h: a stable radix sort of many rows by one number. */
#ifndef CRESSET_BASE_RADIX_H
#define CRESSET_BASE_RADIX_H

#include <stddef.h>
#include <stdint.h>

/* The sort key of a row, and its index. */
struct radix_key {
	uint64_t key;
	uint32_t row;
};

/* room: 2 * n elements, the first n filled in. Returns the position of the n sorted ones in
 * room. */
struct radix_key *radix_sort(struct radix_key *room, size_t n);

#endif
