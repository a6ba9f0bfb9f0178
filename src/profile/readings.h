/* profile/readings.h: numbers over time recorded next to the samples, such as the utilization of a
 * GPU as its driver reports it: metrics (profile/series.h) of a recording.
 *
 * A series has a name, a unit and labels, and its points in order of arrival. Times are on the
 * samples' clock, so both share one axis. */
#ifndef CRESSET_PROFILE_READINGS_H
#define CRESSET_PROFILE_READINGS_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* Limits of a profile; more is counted as lost (LOSS_READINGS_FULL). */
/* limit READINGS_MAX_POINTS: points of GPU metrics in a recording */
/* limit READINGS_MAX_SERIES: series of GPU metrics in it */
enum { READINGS_MAX_SERIES = 1 << 14, READINGS_MAX_POINTS = 1 << 22 };

struct reading_point {
	int64_t time_ns;
	double value;
};
struct reading_key {
	uint32_t name, unit; /* strings */
	uint32_t labels;     /* a label set */
	bool is_counter;     /* else a gauge */
};
struct reading_series {
	struct reading_key key;
	VEC(struct reading_point) points;
};
struct readings { /* zeroed = empty */
	VEC(struct reading_series) all;
	struct map index;
	uint64_t n_points;
};

/* Adds points to a series. Returns the number of points for which there was no space. */
uint64_t readings_add(struct readings *r, const struct reading_key *key,
		      const struct reading_point *points, size_t n);
void readings_done(struct readings *r);

#endif
