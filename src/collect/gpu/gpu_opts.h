/* collect/gpu/gpu_opts.h: options for GPUs, next to the events of collect/kernel/sampler_opts.h. */
#ifndef CRESSET_COLLECT_GPU_GPU_OPTS_H
#define CRESSET_COLLECT_GPU_GPU_OPTS_H

#include "gpu/ring/ring_read.h"

#include <stdint.h>

struct gpu_beats;
struct gpu_stall;
struct resolver;
struct sink;

/* Events of processes that have mapped the library of a GPU's driver. MAPPED is also sent for those
 * that mapped it earlier, and again for all after records were lost. */
enum gpu_program_news {
	GPU_PROGRAM_MAPPED,
	GPU_PROGRAM_FORKED, /* any process forks a child */
	GPU_PROGRAM_EXEC,   /* any process runs another program */
	GPU_PROGRAM_ENDED,  /* any process ends */
};

struct gpu_collect_opts {
	/* file that simulates GPUs (gpu/device/scripted.h); NULL: this machine's. The caller's */
	const char *script;
	/* For COLLECT_GPU_TIME, always on: what windows may cost each program, as a share of wall
	 * time. 0: all time is watched, with the limits of a recording. */
	double budget;
	/* For COLLECT_GPU_STACK: called with the stack, of the sink, of the launch with this
	 * correlation id; it stands for weight launches. May be NULL. */
	void (*stack)(void *ctx, uint32_t pid, uint32_t tid, uint32_t correlation, uint32_t stack,
		      uint32_t weight);
	void *stack_ctx;
	/* Called in the order of events, if the target is the machine; parent: for FORKED. May be
	 * NULL. */
	void (*program)(void *ctx, enum gpu_program_news what, uint32_t pid, uint32_t parent);
	void *program_ctx;
};

/* --- options and limits of collect/gpu/gpu_time.h --- */

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
