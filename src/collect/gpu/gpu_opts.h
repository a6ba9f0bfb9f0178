/* collect/gpu/gpu_opts.h: options for GPUs, next to the events of collect/kernel/sampler_opts.h. */
#ifndef CRESSET_COLLECT_GPU_GPU_OPTS_H
#define CRESSET_COLLECT_GPU_GPU_OPTS_H

#include <stdint.h>

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

#endif
