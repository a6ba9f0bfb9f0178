/* store/metric_head.h: points of metrics that are not in a partition yet, by series and hour, in the order they came. */
#ifndef CRESSET_STORE_METRIC_HEAD_H
#define CRESSET_STORE_METRIC_HEAD_H

#include "base/hash.h"
#include "base/vec.h"
#include "store/metric.h"

#include <stdint.h>

struct metric_head {
	uint32_t series;
	struct metric_points points;
};
#define METRIC_SLOT_NS 3600000000000ll

struct metric_heads { /* zeroed = empty */
	VEC(struct metric_head) all;
	struct map index; /* (hour, series) → all */
};
void metric_heads_done(struct metric_heads *h);

void metric_heads_add(struct metric_heads *h, uint32_t series, const struct metric_point *point);
/* The place in all of a series' head of the hour that has time_ns; UINT32_MAX: there is none. */
uint32_t metric_heads_find(const struct metric_heads *h, uint32_t series, int64_t time_ns);
uint64_t metric_heads_size_bytes(const struct metric_heads *h);

#endif
