/* gpu/ring_write.h: the writing side of a ring (gpu/ring.h): no allocation, no system call but where a thread takes
 * its lane.
 *
 * Needs nothing but libc: it is compiled into the library that runs inside other programs, and into tests. */
#ifndef CRESSET_GPU_RING_WRITE_H
#define CRESSET_GPU_RING_WRITE_H

#include "gpu/ring.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The size of a ring with such lanes, and its control page, lanes and names laid out in zeroed memory of that size.
 * Sizes are powers of two. magic is left for the caller, to be stored last. */
struct ring_shape {
	uint32_t buffer_lanes, buffer_size, call_lanes, call_size, names_size;
};
size_t ring_size(const struct ring_shape *shape);
void ring_lay_out(void *ring, const struct ring_shape *shape, uint32_t pid);

enum ring_lane_kind { RING_LANE_BUFFER, RING_LANE_CALL };

/* The lane of thread tid: its own, a free one, that of a thread that is gone, or the shared one (*shared) when there
 * is none. */
struct ring_lane *ring_lane_take(void *ring, enum ring_lane_kind kind, uint32_t tid, bool *shared);

/* words is filled in. False when it was dropped, which the lane counts. */
bool ring_write(void *ring, struct ring_lane *lane, bool shared, struct ring_record *record,
		size_t size);

/* Adds to one of the lane's counters. */
static inline void ring_lane_add(__u64 *counter, bool shared, uint64_t n)
{
	if (shared)
		__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
	else
		__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* Where each name stands in the ring. Memory is the caller's, zeroed; slots is a power of two. */
struct ring_name_slot {
	uint64_t hash;
	uint32_t at, reserved;
};
struct ring_names {
	void *ring;
	struct ring_name_slot *slots;
	uint32_t n_slots;
};

/* 0 when there is no room (counted) or no name. */
uint32_t ring_name(struct ring_names *names, const char *name);

#endif
