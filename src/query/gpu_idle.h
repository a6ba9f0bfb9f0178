/* query/gpu_idle.h: when GPUs had nothing to do, what ended that each time, and what the processes that use them did meanwhile.
 *
 * A GPU is busy while a kernel, a copy or a set runs on it: samples of type gpu-time that cover time and have a label `gpu`; those of
 * synchronizations ([sync …] at the leaf) are none. It is watched in the windows of samples of type gpu-window, in those that all of its owners have; where
 * nobody says which they were, all of the recorded time. What is watched and not busy is a gap, up to the nanosecond.
 *
 * Owners are the processes that ran something on it. Their samples of one type (stacks on CPUs, waits) are divided by these times: what
 * covers time is cut at the edges as every range of time cuts it (profile/time_range.h). Both parts become types of the profile, so that they can be drawn and
 * compared like any others. */
#ifndef CRESSET_QUERY_GPU_IDLE_H
#define CRESSET_QUERY_GPU_IDLE_H

#include "base/err.h"
#include "base/stretches.h"
#include "profile/profile.h"
#include "profile/tree.h"

/* Gaps by what ran when they were over. */
struct gpu_idle_class {
	uint32_t name; /* string of the profile; 0: they were not over */
	uint64_t gaps;
	int64_t total_ns, median_ns, longest_ns;
};
struct gpu_idle_device {
	uint32_t label; /* string of the profile: the value of `gpu` */
	struct stretches watched, busy, idle;
	VEC(uint32_t) pids;                 /* of owners, in order */
	VEC(struct gpu_idle_class) classes; /* by total_ns, greatest first */
	uint32_t idle_type, busy_type;
};
struct gpu_idle {
	VEC(struct gpu_idle_device) devices; /* in the order of their labels */
	bool has_windows;
};

/* opts: type is that of the samples of owners; the range of time counts, filters by frame are for the trees. p gets two types and their samples for each
 * device. -ENODATA with words when nothing says what ran on GPUs. out is to be done in any case. */
int gpu_idle_build(struct profile *p, const struct tree_opts *opts, struct gpu_idle *out,
		   struct err *err);
void gpu_idle_done(struct gpu_idle *g);

#endif
