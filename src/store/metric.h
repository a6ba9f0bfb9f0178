/* store/metric.h: the points of one metric series in one slot of time (an hour, as a rule), as bytes.
 *
 * Times as differences of differences, values by XOR with the one before (Pelkonen et al., "Gorilla: A Fast, Scalable, In-Memory Time Series
 * Database", VLDB 2015): a gauge that stands still, read at even times, takes two bits a point. Times are ns; those of a block count in the
 * largest power of ten that divides all their distances, so that whole seconds are as small as in the paper. Every bit is in docs/formats.md. A
 * value comes back bit by bit, NaN as well. */
#ifndef CRESSET_STORE_METRIC_H
#define CRESSET_STORE_METRIC_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* What a reader takes. */
enum { METRIC_MAX_POINTS = 1 << 20 };

struct metric_point {
	int64_t time_ns;
	double value;
};
struct metric_points {
	struct metric_point *v; /* a VEC: base/vec.h */
	size_t n, cap;
};

/* points: ascending by time, no two of the same, at most METRIC_MAX_POINTS. Appends to out. */
void metric_encode(const struct metric_point *points, size_t n, struct buf *out);

/* Appends to points. -EBADMSG with words for anything that metric_encode cannot have written; points then have nothing added, and never
 * more than four a byte. */
int metric_decode(const void *data, size_t len, struct metric_points *points, struct err *err);

#endif
