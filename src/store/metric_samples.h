/* store/metric_samples.h: points of metric series on their way into the store, and as bytes in a batch.
 *
 * A metric series is a series of a profile (profile/series.h): its type is {name, "gauge" or "counter", unit}, its labels are those of any
 * series. So it is found, folded, listed and kept like the others. Its points are beside the profile. */
#ifndef CRESSET_STORE_METRIC_SAMPLES_H
#define CRESSET_STORE_METRIC_SAMPLES_H

#include "base/buf.h"
#include "base/err.h"
#include "profile/profile.h"
#include "store/metric.h"
#include "store/metric_steps.h"

#include <stdbool.h>
#include <stdint.h>

struct metric_sample {
	uint32_t series; /* of the batch's profile */
	int64_t time_ns; /* Unix time, whatever the profile's clock is */
	double value;
};
struct metric_samples {
	struct metric_sample *v; /* a VEC: base/vec.h */
	size_t n, cap;
};

/* What a batch takes. */
enum { METRIC_MAX_BATCH_POINTS = 1 << 20 };

/* The series of p. unit: "" for none; labels: a set of p. */
uint32_t metric_series(struct profile *p, const char *name, const char *unit, enum metric_kind kind,
		       uint32_t labels);

uint32_t metric_series_of_reading(struct profile *p, const struct reading_key *key);

static inline enum metric_kind metric_kind_of(const struct type *t)
{
	return t->aggregation == AGG_COUNTER ? METRIC_COUNTER : METRIC_GAUGE;
}

/* -EINVAL with words: too many, or a series that p does not have or that is no metric. m: NULL is fine. */
int metric_samples_check(const struct metric_samples *m, const struct profile *p, struct err *err);

/* In any order. Of several points of a series and a moment the last one is kept. */
void metric_samples_encode(const struct metric_samples *m, struct buf *out);
/* Appends to out, ids of series as they were written. False for anything metric_samples_encode cannot have written. */
bool metric_samples_decode(struct cur in, struct metric_samples *out);

struct reading_place { /* zeroed: the first one */
	size_t series, point;
};
/* Appends what p read beside its samples (profile/readings.h), from *at on as many as a batch takes; *at is then behind them. Times are p's, Unix time where it
 * knows no wall clock. p gets the series. */
void metric_samples_add_readings(struct profile *p, struct reading_place *at,
				 struct metric_samples *out);

/* Points as they came: in order of time afterwards, the last one of each moment. */
void metric_points_order(struct metric_points *points);

#endif
