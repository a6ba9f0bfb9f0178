/* format/otlp_metrics.h: OpenTelemetry metrics, both ways: ExportMetricsServiceRequest
 * (opentelemetry/proto/metrics/v1/metrics.proto; stable since 1.0).
 *
 * Kept are numbers over time: gauges, and sums. A sum that only grows is a counter; one that may fall is a gauge of its last value.
 * Attributes of the resource and of the point are labels (otlp_attr.h). Histograms, summaries, points without a value or a time and
 * differences of what may fall are refused, each counted by its reason. Descriptions, start times but those of increments, exemplars and flags are
 * not kept. */
#ifndef CRESSET_FORMAT_OTLP_METRICS_H
#define CRESSET_FORMAT_OTLP_METRICS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "profile/profile.h"

#include <stddef.h>
#include <stdint.h>

enum { OTLP_MAX_POINTS = 1 << 22 }; /* of one message */

enum otlp_metric_kind {
	OTLP_GAUGE,
	OTLP_COUNTER,    /* values count from some start */
	OTLP_INCREMENTS, /* values are what a counter grew by since start_ns (delta temporality) */
};

enum otlp_refusal {
	REFUSED_HISTOGRAM, /* of both kinds */
	REFUSED_SUMMARY,
	REFUSED_NO_VALUE,
	REFUSED_NO_TIME,
	REFUSED_FALLING,  /* differences of a sum that may fall, or of no known temporality */
	REFUSED_NO_START, /* increments that do not say since when */
	REFUSED_DAMAGED,
	OTLP_REFUSALS
};
extern const char *const otlp_refusal_names[OTLP_REFUSALS]; /* "histogram", … */

/* Strings and label sets are those of a profile. */
struct otlp_series {
	uint32_t name, unit; /* strings */
	uint32_t labels;     /* a label set; 0: none */
	enum otlp_metric_kind kind;
};
struct otlp_point {
	uint32_t series;
	int64_t time_ns; /* Unix time */
	double value;
	int64_t start_ns; /* of OTLP_INCREMENTS, before time_ns; else 0 */
};
struct otlp_metrics { /* zeroed = empty */
	VEC(struct otlp_series) series;
	VEC(struct otlp_point) points;
	struct map index;
	uint64_t refused[OTLP_REFUSALS];
	uint64_t skipped; /* attributes that are no labels */
};

void otlp_metrics_done(struct otlp_metrics *m);

/* The id of an equal series, added when new. */
uint32_t otlp_series_intern(struct otlp_metrics *m, const struct otlp_series *s);

uint64_t otlp_metrics_refused(const struct otlp_metrics *m); /* all reasons */

/* Appends a message, not packed, to m; its texts to p. -EBADMSG with words when it is damaged outside of a metric, or too large; m then has
 * a part of it. */
int otlp_metrics_decode(const void *data, size_t len, struct profile *p, struct otlp_metrics *m,
			struct err *err);

/* Appends the message to out. */
void otlp_metrics_encode(const struct otlp_metrics *m, struct profile *p, struct buf *out);

/* The answer to either request: ExportProfilesServiceResponse, ExportMetricsServiceResponse. Nothing is appended when nothing was rejected
 * and message is NULL or "": all is well then. */
void otlp_answer_encode(uint64_t rejected, const char *message, struct buf *out);

#endif
