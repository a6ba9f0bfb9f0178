/* query/lanes/lanes.h: activity of threads over time, for a graph of a given width in pixels: a day
 * costs as much as ten seconds.
 *
 *     lane      samples with the same values of the labels in `by`: a thread, unless other labels
 *               are given
 *     bucket    a pixel: how much of a lane's time in it was on the CPU, blocked, waiting for a
 *               CPU, or waiting for a GPU
 *     span      a stack from one time to another, in a lane that is one thread or one GPU stream,
 *               if it is wide enough to be visible
 *
 * If samples have separate times and are few enough (LANES_MAX_ROWS), they are read one by one
 * (exact). Otherwise sums over windows are used: there are no spans then, and a store's windows
 * have no pid, tid and cpu, which are left out of `by` (ids_missing).
 *
 * A wait counts at its times. A sample at one time (a moment) stands for a time, its period or
 * value: half of it before and half after, clipped to the range; in windows it counts at its time.
 * So buckets add up to the tree of the same query, to the nanosecond.
 *
 * With `cpu`, the waits of the same threads are included if they were recorded: types off-cpu and
 * sched-wait, by the same conditions on labels. A call that waits for a GPU ([waiting for GPU] in
 * `wall`, and all of `gpu-wait`) is gpu_wait, whether or not the thread ran in the meantime. On a
 * GPU (gpu-time) running work is on and a waiting synchronization ([sync …]) is wait; each sample
 * is a separate span. Filters apply: focus and ignore to samples; hide, no_kernel and no_user to
 * the choice of the leaf. */
#ifndef CRESSET_QUERY_LANES_LANES_H
#define CRESSET_QUERY_LANES_LANES_H

#include "query/lanes/lanes_types.h"

struct buf;
struct err;
struct query;

/* -EINVAL: values are not times, or samples have no times; other errors as of query_range. q->by:
 * none means threads. */
int query_lanes(const struct query *q, const struct lanes_opts *opts, struct query_lanes *out,
		struct err *err);
void query_lanes_done(struct query_lanes *l);

/* --- lanes_json.c --- */

/* Appends lanes as JSON, small enough for a page, with a newline at the end. Keys may be added, but
 * never change:
 *
 *     format "cresset.lanes", version 2, types [names]
 *     by [labels], states ["on", "off", "wait", "gpu_wait"], from_ns, to_ns, bucket_ns, buckets
 *     from, to                                the same times as text for a query, to the nanosecond
 *     exact, resolution_ns, ids_missing       as in struct query_lanes
 *     part_ns                                 unit of times in density
 *     lanes      [{labels {name: value, …}, on_ns, off_ns, wait_ns, gpu_wait_ns, density […], spans
 *                […]}]
 *     others     the same for all without a separate lane, with count instead of labels; null:
 *                none
 *     stacks     [[leaf, id], …]
 *
 * density is a flat list of numbers. Each run of equal buckets has two numbers and one for each
 * state: number of empty buckets before it, number of buckets in it, and the time of each bucket in
 * each state, in part_ns. Sums are exact to one part_ns, whatever the number of buckets. spans is a
 * flat list as well, four numbers each: ns from the end of the previous span (the first: from
 * from_ns), length in ns, state (index in states), stack (index in stacks). */
void lanes_json(const struct query_lanes *l, struct buf *b);

#endif
