/* store/codec/metric_samples.h: points of metric series that a batch brings into the store, and
 * their encoding in it.
 *
 * A metric series is a series of a profile (profile/series.h): its type is {name, "gauge" or
 * "counter", unit}, its labels are those of any series. So it is found, folded, listed and kept
 * like any other. Its points are stored outside the profile. */
#ifndef CRESSET_STORE_CODEC_METRIC_SAMPLES_H
#define CRESSET_STORE_CODEC_METRIC_SAMPLES_H

#include "base/buf.h"
#include "profile/series.h"
#include "store/codec/metric_steps.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct profile;
struct reading_key;

struct metric_sample {
	uint32_t series; /* in the batch's profile */
	int64_t time_ns; /* Unix time, whatever the profile's clock is */
	double value;
};
struct metric_samples {
	struct metric_sample *v; /* a VEC: base/vec.h */
	size_t n, cap;
};

/* Limit of a batch. */
enum { METRIC_MAX_BATCH_POINTS = 1 << 20 }; /* limit: points of metrics in a batch */

/* Returns the series of p, which is added if missing. unit: "" for none; labels: a label set of
 * p. */
uint32_t metric_series(struct profile *p, const char *name, const char *unit, enum metric_kind kind,
		       uint32_t labels);

uint32_t metric_series_of_reading(struct profile *p, const struct reading_key *key);

static inline enum metric_kind metric_kind_of(const struct type *t)
{
	return t->aggregation == AGG_COUNTER ? METRIC_COUNTER : METRIC_GAUGE;
}

/* -EINVAL: too many points, or a series that p does not have or that is not a metric. m may be
 * NULL. */
int metric_samples_check(const struct metric_samples *m, const struct profile *p, struct err *err);

/* m: in any order. Of several points of a series at one time the last one is retained. */
void metric_samples_encode(const struct metric_samples *m, struct buf *out);
/* Appends to out, with series ids as they were written. Returns false for anything that
 * metric_samples_encode cannot have written. */
bool metric_samples_decode(struct cur in, struct metric_samples *out);

struct reading_place { /* zeroed: before the first */
	size_t series, point;
};
/* Appends p's readings (profile/readings.h) from *at on, as many as a batch takes, and moves *at
 * past them. Times are in p's clock, or Unix time if it has no wall clock. Adds the series to p. */
void metric_samples_add_readings(struct profile *p, struct reading_place *at,
				 struct metric_samples *out);

/* Sorts points by time; of several at one time the last one stays. */
void metric_points_order(struct metric_points *points);

#endif
