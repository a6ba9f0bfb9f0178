/* format/trace_gpu.h: what ran on GPUs, as tracks of a trace: from samples of gpu-time that cover time and have a label `gpu`.
 *
 *     lane     a stream of a device, of one process (numbers of streams are a process's own). What overlaps, as kernels of a graph do, goes on to
 *              lanes of its own, up to TRACE_GPU_OVERLAPS; what has no place then is counted
 *     slice    a kernel, a copy, a set
 *     launch   the moment of a CPU thread at which a slice was asked for: a sample of gpu-queue of the same thread and labels that ends when the slice begins
 *
 * Where a lane has more than TRACE_LANE_BOXES slices, the shortest are merged with their neighbours, and have no arrow. Times are since the start of the profile. */
#ifndef CRESSET_FORMAT_TRACE_GPU_H
#define CRESSET_FORMAT_TRACE_GPU_H

#include "base/vec.h"
#include "format/flame_chart.h"
#include "format/trace_put.h"
#include "profile/tree.h"

enum {
	TRACE_GPU_OVERLAPS = 8,
	TRACE_GPU_PID = 10000000, /* of the first device: no process has such a number */
	TRACE_GPU_LAUNCH_NS =
		1000, /* a launch is shown so long, where nothing else of its thread is */
};

struct gpu_slice {
	int64_t from_ns, to_ns;
	uint32_t row;
	uint32_t set;     /* labels */
	uint32_t launch;  /* id of its arrow; 0: there is none */
	uint32_t overlap; /* which of the lanes of its stream */
};
struct gpu_lane {
	uint32_t device; /* in devices */
	uint32_t pid;
	uint32_t stream; /* string; 0: not known */
	uint32_t overlap, overlaps;
	size_t first, n; /* in slices */
	int64_t min_ns;  /* shorter ones are merged */
};
struct gpu_lanes_device {
	uint32_t host, label; /* strings; host may be 0 */
	bool is_shared;       /* by several processes */
};
struct gpu_launch {
	int64_t time_ns;
	uint32_t pid, tid, row;
	uint32_t id;
};
struct trace_gpu { /* zeroed = none */
	struct profile *p;
	VEC(struct gpu_slice) slices; /* by lane, then time; none of a lane overlap */
	VEC(struct gpu_lane) lanes;   /* by device, stream, process */
	VEC(struct gpu_lanes_device) devices;
	VEC(struct gpu_launch) launches; /* those that have a slice: by thread, then time */
	int64_t summed_ns;               /* of works that are known as sums, without times */
	uint64_t merged, hidden; /* slices that are not there by themselves; or not at all */
	VEC(uint32_t) frames;    /* of a stack, while it is written */
};

/* opts: filters and the range of time; its type does not count. -EINVAL with words of a bad filter. g is to be done in any case. */
int trace_gpu_build(struct profile *p, const struct tree_opts *opts, struct trace_gpu *g,
		    struct err *err);
void trace_gpu_done(struct trace_gpu *g);

/* Tracks of all devices. */
int trace_gpu_put(struct trace_gpu *g, struct trace_put *put, struct err *err);

/* A thread's track, and what is on it: lane NULL: nothing. */
struct trace_thread {
	struct trace_track track;
	const struct flame_chart *chart;
	const struct chart_lane *lane;
};
/* Launches of a thread before until_ns: *at is the next one, and trace_gpu_first its first. Each begins an arrow; where nothing is on the track it is a box
 * itself, else the arrow begins at what is there. */
size_t trace_gpu_first(const struct trace_gpu *g, uint32_t pid, uint32_t tid);
void trace_gpu_put_launches(struct trace_gpu *g, size_t *at, const struct trace_thread *thread,
			    int64_t until_ns, struct trace_put *put);

#endif
