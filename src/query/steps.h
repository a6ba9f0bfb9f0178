/* query/steps.h: sums of values over steps of time that follow each other.
 *
 * A moment counts in the step that holds it; what covers time is split over the steps it covers (profile/time_range.h): they add up to
 * the part of it that is on the axis. */
#ifndef CRESSET_QUERY_STEPS_H
#define CRESSET_QUERY_STEPS_H

#include <stddef.h>
#include <stdint.h>

struct step_axis {
	int64_t from_ns, step_ns; /* step_ns > 0 */
	size_t n;
};

/* The end of the last step; at the end of what a number holds where it is beyond. */
int64_t step_axis_end_ns(const struct step_axis *a);

/* sums[n] += what is in each. */
void step_axis_add(const struct step_axis *a, int64_t time_ns, int64_t length_ns, int64_t value,
		   int64_t *sums);

#endif
