/* profile/readings.h: numbers over time that were read beside the samples, such as how busy a GPU was by its driver: metrics (profile/series.h) of a recording.
 *
 * A series is a name, a unit and labels, with its points as they came. Times are on the samples' clock, so that both are on one axis. */
#ifndef CRESSET_PROFILE_READINGS_H
#define CRESSET_PROFILE_READINGS_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* What a profile keeps; more is counted (LOSS_READINGS_FULL). */
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

/* Adds points of a series. Returns how many there was no room for. */
uint64_t readings_put(struct readings *r, const struct reading_key *key,
		      const struct reading_point *points, size_t n);
void readings_done(struct readings *r);

#endif
