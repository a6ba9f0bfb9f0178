/* query/gpu_tracks.h: what a picture of threads over time has besides: what ran on GPUs of their hosts, and how these GPUs were, by their driver. */
#ifndef CRESSET_QUERY_GPU_TRACKS_H
#define CRESSET_QUERY_GPU_TRACKS_H

#include "format/counter.h"
#include "query/plan.h"

/* p: the answer to q as a profile with times; gets the samples of gpu-time and gpu-queue. out: gauges of gpu/metric.h in q's range, as they were read; to be done in any
 * case. */
int query_gpu_tracks(const struct query *q, struct profile *p, struct format_counters *out,
		     struct err *err);

#endif
