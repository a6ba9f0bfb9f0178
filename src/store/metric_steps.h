/* store/metric_steps.h: a metric series, reduced to one number for each step of time.
 *
 * A gauge is its points: average, least and greatest of those inside the step. A counter is its growth: between each two neighbouring points it
 * grows evenly, and where it falls it was started again from 0, so the later value is what it grew by. Its rate in a step is the growth that falls
 * into it by the time that these pairs cover of it, so that rates by covered times give back all growth however steps lie; average is the same;
 * least and greatest are of the pairs that touch the step, but not of one that ends with a start from 0: what it grew by is not known. The rate of a gauge is its slope: it may fall. */
#ifndef CRESSET_STORE_METRIC_STEPS_H
#define CRESSET_STORE_METRIC_STEPS_H

#include "store/metric.h"

#include <stdbool.h>

enum metric_kind { METRIC_GAUGE, METRIC_COUNTER };
enum metric_reduction { METRIC_AVG, METRIC_MIN, METRIC_MAX, METRIC_RATE };

struct metric_steps_opts {
	enum metric_kind kind;
	enum metric_reduction reduction;
	int64_t from_ns, step_ns; /* step_ns > 0; the last step ends within int64_t */
	size_t n;
	int64_t max_gap_ns; /* points further apart are no neighbours: nobody looked; 0: all are */
};

struct metric_steps {
	struct metric_steps_opts opts;
	double *value,
		*weight; /* of each step: the sum, least or greatest; points or ns it is from */
	struct metric_point last; /* where the pair begins */
	bool has_last;
};

void metric_steps_init(struct metric_steps *s, const struct metric_steps_opts *opts);
void metric_steps_done(struct metric_steps *s);

/* In order of time, those a bit before and behind the steps as well: pairs reach in. A point that is not later than the one before is passed over;
 * so are NaN and, in pairs, infinite ones. */
void metric_steps_add(struct metric_steps *s, const struct metric_point *points, size_t n);

/* out[n]: per second where it is a rate; NaN where there was nothing. */
void metric_steps_get(const struct metric_steps *s, double *out);

#endif
