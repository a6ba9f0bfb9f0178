/* collect/side_ring.h: the bytes of a side-band ring: cutting records out of it, and what they mean
 * (perf_event_open(2)).
 *
 *     data      |---- record ----|-- record --|-- re      a record may wrap around the end
 *               ^ tail % size                 ^ head % size
 *
 * head and tail only grow; tail ≤ head ≤ tail + size. Only the kernel writes records, yet every
 * length is checked. */
#ifndef CRESSET_COLLECT_SIDE_RING_H
#define CRESSET_COLLECT_SIDE_RING_H

#include "base/buf.h"
#include "collect/side_band.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct side_ring {
	const uint8_t *data;
	uint64_t size; /* a power of two */
	uint64_t head, tail;
	struct buf wrapped; /* the last record that had to be put together */
};

/* The next record, tail moved behind it; false at the end. A record whose length cannot be right
 * ends the reading: everything up to head is dropped then. *rec lives until the next call, as long
 * as the kernel is not told of the new tail. */
bool side_ring_next(struct side_ring *r, const uint8_t **rec, size_t *len);
void side_ring_done(struct side_ring *r); /* data stays the caller's */

/* What perf calls sample_id, asked for with every record. */
#define SIDE_SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/* Decodes one record written with SIDE_SAMPLE_TYPE. False for kinds that are none of ours and for
 * malformed ones; out->name points into rec. */
bool side_record_decode(const uint8_t *rec, size_t len, struct side_record *out);

#endif
