/* store/codec/metric.h: encodes the points of one metric series in one time slot, usually an
 * hour.
 *
 * Times are differences of differences, values are XORed with the previous one (Pelkonen et al.,
 * "Gorilla: A Fast, Scalable, In-Memory Time Series Database", VLDB 2015): a constant gauge, read
 * at regular times, takes two bits a point. Times are ns; a block counts them in the largest power
 * of ten that divides all differences, so whole seconds are as small as in the paper.
 * docs/formats.md has every bit. Values are restored bit by bit, NaN included. */
#ifndef CRESSET_STORE_CODEC_METRIC_H
#define CRESSET_STORE_CODEC_METRIC_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Limit of a reader. */
enum { METRIC_MAX_POINTS = 1 << 20 }; /* limit: points in a block of a metric series */

struct metric_point {
	int64_t time_ns;
	double value;
};
struct metric_points {
	struct metric_point *v; /* a VEC: base/vec.h */
	size_t n, cap;
};

/* Appends to out. points: ascending by time, no duplicates, at most METRIC_MAX_POINTS. */
void metric_encode(const struct metric_point *points, size_t n, struct buf *out);

/* Appends to points. Adds at most four points a byte. -EBADMSG for anything that metric_encode
 * cannot have written; nothing is added then. */
int metric_decode(const void *data, size_t len, struct metric_points *points, struct err *err);

#endif
