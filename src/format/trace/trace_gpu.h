/* format/trace/trace_gpu.h: GPU work as tracks of a trace, from samples of gpu-time that have a
 * duration and a label `gpu`.
 *
 *     lane     a stream of a device and a process (stream numbers belong to a process). Overlapping
 *              slices, such as kernels of a graph, go to further lanes, up to TRACE_GPU_OVERLAPS;
 *              the ones that fit in none are counted
 *     slice    a kernel, a copy, a set
 *     launch   the time at which a CPU thread launched a slice: a sample of gpu-queue of the same
 *              thread and labels that ends when the slice starts
 *
 * A device is a process of the trace, "GPU 0" or "GPU 0 of db7", from TRACE_GPU_PID on, one for
 * each process that uses it; a lane is a thread of it. Work with an exact stack has a flow arrow
 * from its launch: from the CPU thread's box at that moment, else from a box of 1 us named after
 * the launching function, with args.stack. Other work has args.estimated_from.
 *
 * If a lane has more than TRACE_LANE_BOXES slices, the shortest are merged with their neighbours
 * and have no arrow. Times are relative to the start of the profile. */
#ifndef CRESSET_FORMAT_TRACE_TRACE_GPU_H
#define CRESSET_FORMAT_TRACE_TRACE_GPU_H

#include "base/buf.h"
#include "base/json/json.h"
#include "base/vec.h"

/* --- trace_put.c ---
 *
 * Writes events of a trace (format/trace/chrome_trace.h) as they come; memory is bounded. */

struct err;

struct trace_put {
	struct out *out;
	struct buf text; /* not yet passed to out */
	struct json json;
};
/* Unknown ids are SAMPLE_NO_ID. */
struct trace_track {
	uint32_t pid, tid;
	const char *name; /* in place of an unknown tid; NULL or "": none */
};

/* put must not be moved afterwards. */
void trace_put_init(struct trace_put *put, struct out *out);
void trace_put_done(struct trace_put *put);

/* Starts an object; json_end ends it. */
void trace_put_begin(struct trace_put *put, const char *phase, struct trace_track track);
/* Writes a time in ns as µs with decimals. */
void trace_put_time(struct trace_put *put, const char *key, int64_t ns);
/* Metadata events: process_name, thread_name ("" writes nothing), and the sort position. */
void trace_put_name(struct trace_put *put, struct trace_track track, const char *what,
		    const char *name);
void trace_put_order(struct trace_put *put, struct trace_track track, const char *what, int64_t n);

/* Writes out the collected text if it exceeds `keep` bytes; TRACE_FLUSH_ALL: any text. */
enum { TRACE_FLUSH_ALL = 0, TRACE_FLUSH_BYTES = 64 * 1024 };
int trace_put_flush(struct trace_put *put, size_t keep, struct err *err);

/* --- trace_gpu.c, trace_gpu_put.c --- */

struct tree_opts;

enum {
	TRACE_GPU_OVERLAPS = 8,   /* limit: tracks for simultaneous work of a GPU stream */
	TRACE_GPU_PID = 10000000, /* of the first device: larger than any pid */
	TRACE_GPU_LAUNCH_NS =
		1000, /* length of a launch's box, if nothing else of its thread is there */
};

struct gpu_slice {
	int64_t from_ns, to_ns;
	uint32_t row;
	uint32_t set;     /* labels */
	uint32_t launch;  /* id of its arrow; 0: none */
	uint32_t overlap; /* index of its lane within the stream */
};
struct gpu_lane {
	uint32_t device; /* index in devices */
	uint32_t pid;
	uint32_t stream; /* string; 0: unknown */
	uint32_t overlap, overlaps;
	size_t first, n; /* in slices */
	int64_t min_ns;  /* shorter slices are merged */
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
	VEC(struct gpu_slice) slices; /* by lane, then time; no overlap within a lane */
	VEC(struct gpu_lane) lanes;   /* by device, stream, process */
	VEC(struct gpu_lanes_device) devices;
	VEC(struct gpu_launch) launches; /* those with a slice, by thread, then time */
	int64_t summed_ns;               /* of work recorded as sums, without times */
	uint64_t merged, hidden;         /* slices not shown individually; not shown at all */
	VEC(uint32_t) frames;            /* of the stack being written */
};

/* opts: filters and the time range; its type is ignored. Returns -EINVAL with a message for an
 * invalid filter. Call trace_gpu_done in any case. */
int trace_gpu_build(struct profile *p, const struct tree_opts *opts, struct trace_gpu *g,
		    struct err *err);
void trace_gpu_done(struct trace_gpu *g);

/* Writes the tracks of all devices. */
int trace_gpu_put(struct trace_gpu *g, struct trace_put *put, struct err *err);

/* A thread's track and its content; lane NULL: none. */
struct trace_thread {
	struct trace_track track;
	const struct flame_chart *chart;
	const struct chart_lane *lane;
};
/* Writes launches of a thread before until_ns. *at is the next one; trace_gpu_first returns the
 * first. Each launch starts an arrow. If the track is empty there the launch is drawn as a box,
 * else the arrow starts at the existing box. */
size_t trace_gpu_first(const struct trace_gpu *g, uint32_t pid, uint32_t tid);
void trace_gpu_put_launches(struct trace_gpu *g, size_t *at, const struct trace_thread *thread,
			    int64_t until_ns, struct trace_put *put);

#endif
