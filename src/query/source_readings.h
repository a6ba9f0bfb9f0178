/* query/source_readings.h: what a profile read beside its samples (profile/readings.h) as series of its catalog, so that questions about metrics find it as they find a store's. */
#ifndef CRESSET_QUERY_SOURCE_READINGS_H
#define CRESSET_QUERY_SOURCE_READINGS_H

#include "profile/profile.h"
#include "store/metric.h"

struct source_readings {
	struct metric_points *of; /* by series of the profile; without points: not read */
	uint32_t n;
};

/* p gets a type for each name, and a series for each that was read. Points are in order of time, moved by shift_ns, no two of the same moment. */
void source_readings_init(struct source_readings *r, struct profile *p, int64_t shift_ns);
/* Makes a range longer where there are some outside. */
void source_readings_reach(const struct source_readings *r, int64_t *from_ns, int64_t *to_ns);
void source_readings_done(struct source_readings *r);

/* Those in [from_ns, to_ns): n of them from the result on. */
const struct metric_point *source_readings_in(const struct source_readings *r, uint32_t series,
					      int64_t from_ns, int64_t to_ns, size_t *n);

#endif
