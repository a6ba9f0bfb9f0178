/* Converts OTLP data points to points of the model. */
#include "base/mem.h"
#include "base/vec.h"
#include "format/otlp/otlp_metrics.h"
#include "profile/profile.h"
#include "store/codec/metric_samples.h"

#include <stdint.h>

void otlp_metrics_points(const struct otlp_metrics *m, struct profile *p,
			 struct metric_samples *out)
{
	uint32_t *ids = xcalloc(m->series.n + 1, sizeof *ids); /* by series of m */
	for (size_t i = 0; i < m->series.n; i++) {
		const struct otlp_series *s = &m->series.v[i];
		enum metric_kind kind = s->kind == OTLP_GAUGE ? METRIC_GAUGE : METRIC_COUNTER;
		ids[i] = metric_series(p, profile_str(p, s->name), profile_str(p, s->unit), kind,
				       s->labels);
	}
	for (size_t i = 0; i < m->points.n; i++) {
		const struct otlp_point *point = &m->points.v[i];
		uint32_t series = ids[point->series];
		if (point->start_ns && point->start_ns + 1 < point->time_ns)
			vec_push(out, (struct metric_sample){ series, point->start_ns + 1, 0 });
		vec_push(out, (struct metric_sample){ series, point->time_ns, point->value });
	}
	free(ids);
}
