/* query/metrics.h: metric series over time: each is reduced to one number per step
 * (store/codec/metric_steps.h), then the series of a group are summed.
 *
 * Points further apart than QUERY_METRIC_GAP_NS, or than a step if that is longer, are not
 * adjacent: the time between them is unknown. */
#ifndef CRESSET_QUERY_METRICS_H
#define CRESSET_QUERY_METRICS_H

#include "base/arena.h"
#include "store/codec/metric_steps.h"

struct err;
struct query;

#define QUERY_METRIC_GAP_NS INT64_C(300000000000)

struct query_metric {
	int64_t from_ns, step_ns;
	size_t steps;
	uint32_t groups, n_by;
	const char **names; /* [group * n_by + i]: the value of by[i], "" for none */
	double *values;     /* [group * steps + step]; NaN: no data */
	uint32_t *order;    /* [n_shown]: groups with data, by name */
	uint32_t n_shown;
	const char *name, *unit;
	struct arena arena; /* all of it */
};

/* q->type is a metric (type_is_metric). Filters are ignored. step_ns > 0; the last step may extend
 * past to_ns, as far as data are known. */
int query_metric(const struct query *q, enum metric_reduction reduction, int64_t step_ns,
		 struct query_metric *out, struct err *err);
/* Names of reductions: "auto", then in the order of enum metric_reduction. */
extern const char *const query_reductions[];
/* word: an index of these. auto is the rate of a counter and the average of a gauge. */
enum metric_reduction query_reduction(const struct query *q, int word);

void query_metric_done(struct query_metric *m);

#endif
