/* gpu/ring/ring_write.h: the writing side of a ring (gpu/ring/ring.h): no allocation, and system
 * calls only when a thread takes its lane.
 *
 * Needs only libc: it is compiled into the library that runs inside other programs, and into
 * tests. */
#ifndef CRESSET_GPU_RING_RING_WRITE_H
#define CRESSET_GPU_RING_RING_WRITE_H

#include "gpu/ring/ring.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ring_size returns the size of a ring with such lanes. ring_lay_out fills control page, lanes and
 * names into zeroed memory of that size. Sizes are powers of two. magic is left for the caller, who
 * stores it last. */
struct ring_shape {
	uint32_t buffer_lanes, buffer_size, call_lanes, call_size, names_size;
};
size_t ring_size(const struct ring_shape *shape);
void ring_lay_out(void *ring, const struct ring_shape *shape, uint32_t pid);

enum ring_lane_kind { RING_LANE_BUFFER, RING_LANE_CALL };

/* Returns the lane of thread tid: its own, a free one, that of an ended thread, or else the shared
 * one (then *shared is set). */
struct ring_lane *ring_lane_take(void *ring, enum ring_lane_kind kind, uint32_t tid, bool *shared);

/* Sets record->words. Returns false if the record was dropped, which the lane counts. */
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

/* The place of each name in the ring. The memory is the caller's, zeroed; n_slots is a power of
 * two. */
struct ring_name_slot {
	uint64_t hash;
	uint32_t at, reserved;
};
struct ring_names {
	void *ring;
	struct ring_name_slot *slots;
	uint32_t n_slots;
};

/* Returns the place of a name, 0 if there is no space (counted) or no name. */
uint32_t ring_name(struct ring_names *names, const char *name);

#endif
