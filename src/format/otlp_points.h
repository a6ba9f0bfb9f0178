/* format/otlp_points.h: OTLP metrics as points of a store's series (store/metric_samples.h).
 *
 * Increments become points of a counter that begins again with each: 0 a nanosecond after the increment's start, and the increment at its end. So
 * rates are right whatever is missing, comes late or comes twice, and nothing has to be remembered from one message to the next. */
#ifndef CRESSET_FORMAT_OTLP_POINTS_H
#define CRESSET_FORMAT_OTLP_POINTS_H

#include "format/otlp_metrics.h"
#include "store/metric_samples.h"

/* m was read into p. Appends to out, whose series are p's. */
void otlp_metrics_points(const struct otlp_metrics *m, struct profile *p,
			 struct metric_samples *out);

#endif
