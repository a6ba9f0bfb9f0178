/* store/codec/metric.h: encodes the points of one metric series in one time slot, usually an
 * hour.
 *
 * Times are differences of differences, values are XORed with the previous one (Pelkonen et al.,
 * "Gorilla: A Fast, Scalable, In-Memory Time Series Database", VLDB 2015): a constant gauge, read
 * at regular times, takes two bits a point. Times are ns; a block counts them in the largest power
 * of ten that divides all differences, so whole seconds are as small as in the paper.
 * Values are restored bit by bit, NaN included.
 *
 *     u8 1; u8 digits, 0 to 9: times count in ticks of 10^digits ns from the first one
 *     points (LEB128)
 *     bits, the highest of a byte first, zeros up to the last byte's end: the first time in ns and
 *     value (IEEE 754), 64 bits each; for each other point its time and value:
 *
 *     time     the step in ticks since the previous point, less the previous step (at first 0),
 *              modulo 2^64, zigzag: "0" for 0; "10" and 7 bits; "110" and 14; "1110" and 20;
 *              "11110" and 26; "11111" and 64
 *     value    XOR with the bits of the previous one: "0" for 0; "10" and the bits in the range
 *              given last, others are 0; "11", 5 bits: leading zeros (31: or more), 6 bits: length
 *              - 1, that many bits; the bits after them are 0
 *
 * Times ascend: a step of 0, or one beyond 2^63 - 1 ns, is an error. */
#ifndef CRESSET_STORE_CODEC_METRIC_H
#define CRESSET_STORE_CODEC_METRIC_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

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
