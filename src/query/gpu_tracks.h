/* query/gpu_tracks.h: what a picture of threads over time has besides: what ran on GPUs of their hosts, and how these GPUs were, by their driver. */
#ifndef CRESSET_QUERY_GPU_TRACKS_H
#define CRESSET_QUERY_GPU_TRACKS_H

#include "query/plan.h"

/* p: the answer to q as a profile with times; gets the samples of gpu-time and gpu-queue, and as its readings (profile/readings.h) what is shown as counters
 * (query/gpu_counters.h) in q's range. */
int query_gpu_tracks(const struct query *q, struct profile *p, struct err *err);

#endif
