/* store/codec/metric_steps.h: reduces a metric series to one number for each time step.
 *
 * For a gauge, average, minimum and maximum are of the points inside the step. For a counter they
 * are of its growth, which is linear between adjacent points. Where a counter falls, it was reset
 * to 0, so the later value is the growth. The rate in a step is the growth inside it divided by the
 * time that pairs of points cover of it, so rates times covered times add up to the whole growth
 * wherever steps lie. The average is the same. Minimum and maximum are of the pairs that overlap
 * the step, except a pair that ends with a reset to 0, whose growth is unknown. The rate of a gauge
 * is its slope, which may be negative. */
#ifndef CRESSET_STORE_CODEC_METRIC_STEPS_H
#define CRESSET_STORE_CODEC_METRIC_STEPS_H

#include "store/codec/metric.h"

#include <stdbool.h>

enum metric_kind { METRIC_GAUGE, METRIC_COUNTER };
enum metric_reduction { METRIC_AVG, METRIC_MIN, METRIC_MAX, METRIC_RATE };

struct metric_steps_opts {
	enum metric_kind kind;
	enum metric_reduction reduction;
	int64_t from_ns, step_ns; /* step_ns > 0; the last step ends within int64_t */
	size_t n;
	int64_t max_gap_ns; /* points further apart are not adjacent; 0: no limit */
};

struct metric_steps {
	struct metric_steps_opts opts;
	double *value, *weight; /* of each step: sum, minimum or maximum; number of points or ns */
	struct metric_point last; /* where the next pair starts */
	bool has_last;
};

void metric_steps_init(struct metric_steps *s, const struct metric_steps_opts *opts);
void metric_steps_done(struct metric_steps *s);

/* Adds points in time order, including some just before and after the steps, whose pairs overlap
 * them. Skips a point that is not later than the previous one, NaN and, for pairs, infinity. */
void metric_steps_add(struct metric_steps *s, const struct metric_point *points, size_t n);

/* Fills out[n]: per second for a rate; NaN for a step without data. */
void metric_steps_get(const struct metric_steps *s, double *out);

#endif
