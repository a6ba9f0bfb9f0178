/* agent/halve.h: a message that is too large for a server becomes two, each with half of the samples, or points, and what they need
 * of the dictionary. */
#ifndef CRESSET_AGENT_HALVE_H
#define CRESSET_AGENT_HALVE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

struct half {
	struct buf message;
	uint64_t samples; /* or points */
};

/* Of a message of profiles. -E2BIG: it has less than two samples. */
int otlp_halve(const void *data, size_t len, struct half out[2], struct err *err);

/* Of a message of metrics. -E2BIG: it has less than two points. */
int otlp_halve_metrics(const void *data, size_t len, struct half out[2], struct err *err);

#endif
