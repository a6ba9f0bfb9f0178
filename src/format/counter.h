/* format/counter.h: numbers over time beside the samples of a profile, for formats that can show them: metrics. */
#ifndef CRESSET_FORMAT_COUNTER_H
#define CRESSET_FORMAT_COUNTER_H

#include "base/vec.h"

#include <stdint.h>

struct format_counter_point {
	int64_t time_ns; /* Unix time */
	double value;
};
struct format_counter {
	char *track;                             /* what it is of: "GPU 0 by its driver" */
	char *name;                              /* "power (W)" */
	VEC(struct format_counter_point) points; /* ascending, no two of the same moment */
};
struct format_counters { /* by track */
	VEC(struct format_counter) all;
};
void format_counters_done(struct format_counters *c);

#endif
