/* collect/host_gpu_time.h: how much the collector sees of what runs on GPUs (collect/gpu_time.h), so that a store knows it of each host.
 *
 *     cresset_gpu_probed_files              gauge; libraries whose calls are seen
 *     cresset_gpu_time_programs{state}      gauge; watched: in windows; given_up: that cannot say what runs
 *     cresset_gpu_time_coverage             gauge; share of the time of the programs that windows were open, in the interval
 *     cresset_gpu_time{how}                 counter, s; by how its stack is known: exact, estimate, unknown
 *     cresset_gpu_attached{result}          counter; programs that got the library by themselves (agent/attaching.h), or did not
 *
 * Nothing of it is there before the first library, or program, is; the last one where programs are chosen. */
#ifndef CRESSET_COLLECT_HOST_GPU_TIME_H
#define CRESSET_COLLECT_HOST_GPU_TIME_H

#include "collect/collect.h"
#include "collect/host_points.h"

struct host_gpu_time {
	uint64_t watched_ns, window_ns; /* at the end of the last interval */
};
void host_gpu_time_put(struct host_gpu_time *h, const struct gpu_probes_stats *probes,
		       const struct gpu_time_stats *time, struct host_points *w);

/* Programs. left_out: for which there was no room. */
struct host_gpu_attach {
	uint64_t attached, refused, failed, left_out;
};
void host_gpu_attach_put(const struct host_gpu_attach *n, struct host_points *w);

#endif
