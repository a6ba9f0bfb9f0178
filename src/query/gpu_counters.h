/* query/gpu_counters.h: how GPUs were, by their driver, as counters of a picture over time: gauges of gpu/metric.h that change, each GPU a track. */
#ifndef CRESSET_QUERY_GPU_COUNTERS_H
#define CRESSET_QUERY_GPU_COUNTERS_H

#include "format/counter.h"
#include "profile/profile.h"

/* Whether a metric with these labels (a set of p) is shown as one. */
bool gpu_counter_shows(const struct profile *p, const char *metric, uint32_t labels);

/* What p read beside its samples (profile/readings.h), but for what is no number, added to out: by track and name. */
void gpu_counters_of_profile(const struct profile *p, struct format_counters *out);

#endif
