/* query/gpu/gpu_beside.h: GPU data in a page in one file (format/html/container.h), next to its
 * samples: driver readings over time, and idle times. */
#ifndef CRESSET_QUERY_GPU_GPU_BESIDE_H
#define CRESSET_QUERY_GPU_GPU_BESIDE_H

struct buf;
struct err;
struct format_write_opts;
struct profile;

enum {
	GPU_BESIDE_STEPS = 2000, /* limit: steps of a GPU metric in a report */
	GPU_BESIDE_ROWS = 100,   /* limit: rows of its tables of idle times */
};

/* For format_write_opts.next to. Appends nothing if the profile has no GPU data, otherwise one
 * object:
 *
 *     start_ns   Unix time of the recording's start, other times are Unix time as well; 0: other
 *     times
 *                are since the start
 *     part       a command for the idle times of a part of the time, with A and B for its ends, in
 *                seconds: part_ns plus the time since the start
 *     part_ns    see part
 *     metrics    [cresset.metric (query/answer_json.h)]: each gauge of a GPU, by host and all its
 *                labels
 *     idle       cresset.gpu-idle (query/gpu/gpu_idle.h); null: busy times are unknown */
int query_gpu_beside(struct profile *p, const struct format_write_opts *opts, struct buf *json,
		     struct err *err);
/* The same for a response of a source, which lacks the data for idle times: opts->beside_of is a
 * struct buf with these, or an empty one. */
int query_gpu_beside_answer(struct profile *p, const struct format_write_opts *opts,
			    struct buf *json, struct err *err);

/* --- gpu_tracks.c ---
 *
 * GPU data in a picture of threads over time: what ran on the GPUs of their hosts, and driver
 * readings. */

struct format_counters;
struct query;

/* Adds p's readings (profile/readings.h) to out as counters of a graph over time, by track and
 * name: the gauges of gpu/device/metric.h that change, a track for each GPU. Skips NaN. */
void gpu_counters_of_profile(const struct profile *p, struct format_counters *out);

/* Adds to p, the response to q as a profile with times, the samples of gpu-time and gpu-queue, and
 * as readings (profile/readings.h) those shown as counters in q's range. */
int query_gpu_tracks(const struct query *q, struct profile *p, struct err *err);

#endif
