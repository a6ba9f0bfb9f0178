/* format/otlp/otlp_metrics.h: reads and writes OpenTelemetry metrics: ExportMetricsServiceRequest
 * (opentelemetry/proto/metrics/v1/metrics.proto; stable since 1.0).
 *
 * Numbers over time are retained: gauges and sums. A monotonic sum is a counter; one that may fall
 * is a gauge of its last value. Attributes of the resource and of the point become labels
 * (otlp_attr.h). Histograms, summaries, points without a value or a time, and deltas of sums that
 * may fall are rejected and counted by reason. Descriptions, exemplars, flags, and start times
 * except of increments are not retained. */
#ifndef CRESSET_FORMAT_OTLP_OTLP_METRICS_H
#define CRESSET_FORMAT_OTLP_OTLP_METRICS_H

#include "base/hash.h"
#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct profile;

enum { OTLP_MAX_POINTS = 1 << 22 }; /* limit: points of a message of metrics */

enum otlp_metric_kind {
	OTLP_GAUGE,
	OTLP_COUNTER,    /* cumulative values */
	OTLP_INCREMENTS, /* values are a counter's growth since start_ns (delta temporality) */
};

enum otlp_refusal {
	REFUSED_HISTOGRAM, /* of both kinds */
	REFUSED_SUMMARY,
	REFUSED_NO_VALUE,
	REFUSED_NO_TIME,
	REFUSED_FALLING,  /* deltas of a sum that may fall, or unknown temporality */
	REFUSED_NO_START, /* increments without a start time */
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
	int64_t start_ns; /* for OTLP_INCREMENTS, before time_ns; else 0 */
};
struct otlp_metrics { /* zeroed = empty */
	VEC(struct otlp_series) series;
	VEC(struct otlp_point) points;
	struct map index;
	uint64_t refused[OTLP_REFUSALS];
	uint64_t skipped; /* attributes that cannot be labels */
};

void otlp_metrics_done(struct otlp_metrics *m);

/* Returns the id of an equal series, adding it if new. */
uint32_t otlp_series_intern(struct otlp_metrics *m, const struct otlp_series *s);

uint64_t otlp_metrics_refused(const struct otlp_metrics *m); /* of all reasons */

/* Appends an uncompressed message to m and its texts to p. Returns -EBADMSG with a message if it is
 * damaged outside a metric or too large; m then has a part of it. */
int otlp_metrics_decode(const void *data, size_t len, struct profile *p, struct otlp_metrics *m,
			struct err *err);

/* Appends the message to out. */
void otlp_metrics_encode(const struct otlp_metrics *m, struct profile *p, struct buf *out);

/* Appends the response to either request: ExportProfilesServiceResponse,
 * ExportMetricsServiceResponse. A full success, with nothing rejected and message NULL or "", is
 * empty. */
void otlp_answer_encode(uint64_t rejected, const char *message, struct buf *out);

/* --- otlp_points.c ---
 *
 * Converts OTLP metrics to points of a store's series (store/codec/metric_samples.h).
 *
 * Increments become points of a counter that restarts with each: 0 one nanosecond after the
 * increment's start, and the increment at its end. Rates are therefore correct even if messages are
 * lost, late or duplicated, and no state is kept between messages. */

struct metric_samples;

/* m's strings must be in p. Appends to out, whose series are p's. */
void otlp_metrics_points(const struct otlp_metrics *m, struct profile *p,
			 struct metric_samples *out);

#endif
