/* query/metrics.h: metric series over time: each reduced to a number for each step (store/metric_steps.h), then summed up over the series of
 * a group.
 *
 * Points that are more than QUERY_METRIC_GAP_NS apart, or a step where that is longer, are no neighbours: nothing is known between them. */
#ifndef CRESSET_QUERY_METRICS_H
#define CRESSET_QUERY_METRICS_H

#include "query/plan.h"
#include "store/metric_steps.h"

#define QUERY_METRIC_GAP_NS INT64_C(300000000000)

struct query_metric {
	int64_t from_ns, step_ns;
	size_t steps;
	uint32_t groups, n_by;
	const char **names; /* [group * n_by + i]: the value of by[i], "" where there is none */
	double *values;     /* [group * steps + step]; NaN: there is nothing */
	uint32_t *order;    /* [n_shown]: the groups that have anything, by name */
	uint32_t n_shown;
	const char *name, *unit;
	struct arena arena; /* all of it */
};

/* q->type is a metric (type_is_metric). Filters do not count. step_ns > 0; the last step may reach beyond to_ns, for what is known. */
int query_metric(const struct query *q, enum metric_reduction reduction, int64_t step_ns,
		 struct query_metric *out, struct err *err);
/* Words for reductions, behind "auto": in the order of enum metric_reduction. */
extern const char *const query_reductions[];
/* word: an index of these. auto is the rate of a counter, since how fast it grows is what it says, and the average of a gauge. */
enum metric_reduction query_reduction(const struct query *q, int word);

void query_metric_done(struct query_metric *m);

#endif
