/* collect/gpu/gpu_time_opts.h: options and limits of collect/gpu/gpu_time.h. */
#ifndef CRESSET_COLLECT_GPU_GPU_TIME_OPTS_H
#define CRESSET_COLLECT_GPU_GPU_TIME_OPTS_H

#include "gpu/ring/ring_read.h"

#include <stdint.h>

struct gpu_beats;
struct gpu_stall;
struct resolver;
struct sink;

enum {
	/* limit: programs with GPU time, some 8 MiB each, a share per user */
	GPU_TIME_PROGRAMS = 256,
	/* limit: time to find a mapped library's ring */
	GPU_TIME_FOUND_WITHIN_S = 20, /* the library makes its ring soon after mapping */
	/* limit: GPU records kept apart in an interval, always on; others are summed */
	GPU_TIME_EXACT = 1 << 14,
};

struct gpu_time_opts {
	struct sink *sink;
	struct resolver *resolver;                   /* the caller's, as is the sink */
	uint32_t time_type, window_type, queue_type; /* TYPE_NONE: not requested */
	uint32_t stacks_per_s;                       /* per thread; 0: every launch */
	/* What windows may cost each program, as a share of wall time. 0: one window for the whole
	 * recording, as with 1 and more. If not 0, limits are those of an always-on collector. */
	double budget;
	struct gpu_stall *stall;  /* receives stall records; NULL: not requested. The caller's */
	struct ring_finder rings; /* finds programs' rings; zeros: this process does */
	struct gpu_beats *beats;  /* beats between calls of gpu_time_run, or NULL. The caller's */
};

#endif
