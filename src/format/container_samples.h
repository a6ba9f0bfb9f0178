/* format/container_samples.h: the samples of a tree in order of time, as columns of varints.
 *
 * One row is a sample: {time since the row before, thread, node, value, length}; a row that has a length covers that much time. When there
 * are too many, those shorter than a window are added up: all of one thread and node in one window are one row that covers
 * it; what crosses the border of two windows is in both, each with the part that lies in it (profile/time_range.h). So every sum
 * over whole windows stays exact. */
#ifndef CRESSET_FORMAT_CONTAINER_SAMPLES_H
#define CRESSET_FORMAT_CONTAINER_SAMPLES_H

#include "base/buf.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct container_row {
	int64_t time_ns, length_ns, value; /* time: since the start of the profile */
	uint32_t thread, node;
};
struct container_rows {
	VEC(struct container_row) rows;
	int64_t window_ns; /* 0: they are as they were sampled */
};

/* Sorts them by time, and thins them out until there are at most so many, or no window is left to try: one of all time has a row for each
 * thread and node. */
void container_rows_settle(struct container_rows *r, size_t max);
/* The columns time, thread, node, value and, where any row has one, length: each its size in bytes, then its numbers. The first time is a
 * zigzag number. Returns whether there are lengths. */
bool container_rows_put(const struct container_rows *r, struct buf *b);

#endif
