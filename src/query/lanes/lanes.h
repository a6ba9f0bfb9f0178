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

#include "base/arena.h"
#include "query/query.h"

#include <stdbool.h>
#include <stdint.h>

struct err;

enum {
	LANES_MAX_PX = 8192, /* limit: width of lanes in pixels */
	LANES_MOMENT_MAX = 48,
	LANES_MAX = 500,          /* limit: lanes that are distinguished; the rest is one */
	LANES_MAX_ROWS = 1 << 19, /* limit: samples of lanes that are examined one by one */
	/* limit: sums of all lanes before some are chosen; of more, rows are read twice */
	LANES_MAX_SUMS = 1 << 21,
	LANES_MAX_KEYS = QUERY_MAX_GROUPS,
	LANES_MAX_TYPES = 3,
	LANES_ASKERS = 3,
};

/* stack: SAMPLE_NO_ID if it is not in query_lanes.stacks. */
enum lane_state { LANE_ON, LANE_OFF, LANE_WAIT, LANE_GPU_WAIT, LANE_STATES };
extern const char *const lane_state_names[LANE_STATES]; /* "on", "off", "wait", "gpu_wait" */

struct lanes_opts {
	uint32_t px;    /* 1 … LANES_MAX_PX */
	uint32_t lanes; /* 1 … LANES_MAX */
};
struct lane_span {
	int64_t from_ns, to_ns;
	uint32_t state, stack; /* of query_lanes.stacks */
};
struct lane {
	const char **names; /* n_by; "" for none. Of the rest: NULL */
	uint32_t n;         /* number of lanes: 1; of the rest more */
	int64_t total_ns[LANE_STATES];
	const int64_t *times_ns; /* [state * buckets + bucket] */
	const struct lane_span *spans;
	size_t n_spans;
};
struct lane_stack {
	const char *leaf; /* the innermost function; for waits the frame with the reason */
	/* For work on a GPU: the functions that launched it, outermost first. The last ones are
	 * usually a library's. */
	const char *askers[LANES_ASKERS];
	uint32_t n_askers; /* 0: not on a GPU */
	char id[33];       /* profile/stack_id.h */
};
struct query_lanes {
	int64_t from_ns, to_ns; /* as requested; for windows, from the first one's start */
	char from[LANES_MOMENT_MAX], to[LANES_MOMENT_MAX]; /* the same as text (query/time.h) */
	int64_t bucket_ns;
	size_t buckets;
	bool is_exact, ids_missing;
	/* for exact times 1, otherwise the length of the windows */
	int64_t resolution_ns;
	const char *by[QUERY_BY_MAX];
	uint32_t n_by;
	const char *types[LANES_MAX_TYPES];
	uint32_t n_types;
	struct lane *lanes; /* by time on the CPU, then off it */
	uint32_t n_lanes;
	struct lane rest; /* n = 0: none */
	struct lane_stack *stacks;
	uint32_t n_stacks;
	struct arena arena; /* all of it */
};

/* -EINVAL: values are not times, or samples have no times; other errors as of query_range. q->by:
 * none means threads. */
int query_lanes(const struct query *q, const struct lanes_opts *opts, struct query_lanes *out,
		struct err *err);
void query_lanes_done(struct query_lanes *l);

#endif
