/* query/lanes.h: what threads did when, for a picture that is so many pixels wide: a day costs what ten seconds cost.
 *
 *     lane      the samples that have the same values of the labels of `by`: a thread, unless somebody asks for other labels
 *     bucket    a pixel: how much time of a lane was on the CPU, blocked, waiting for a CPU, waiting for a GPU in it
 *     span      of a lane that is one thread, or one stream of a GPU: a stack from a moment to another, where that is wide enough to be seen by itself
 *
 * Where samples have times of their own and are few enough (LANES_MAX_ROWS), they are looked at one by one (exact). Else sums over windows are:
 * there are no spans then, and a store's windows know neither pid, tid nor cpu, which are left out of `by` (ids_missing).
 *
 * A wait counts where it was. A moment is worth a time (its period, or its value), and stands for so much time around it: evenly from half of it
 * before to half of it behind, but inside of the range; in windows it counts where it was. So buckets add up to what a tree of
 * the same question has, to the nanosecond.
 *
 * Beside `cpu` the waits of the same threads are there, too, where they were recorded: of types off-cpu and sched-wait, by the same
 * conditions on labels. Where a call waited for a GPU ([waiting for GPU] in `wall`, and all of `gpu-wait`) that is what is said, whether the thread ran meanwhile or
 * not. On a GPU (gpu-time) what runs is on, a synchronization that waits ([sync …]) is wait; each sample is a span of its own.
 * Filters count: focus and ignore say which samples, hide, no_kernel and no_user what may be called their leaf. */
#ifndef CRESSET_QUERY_LANES_H
#define CRESSET_QUERY_LANES_H

#include "query/plan.h"

enum {
	LANES_MAX_PX = 8192,
	LANES_MOMENT_MAX = 48,
	LANES_MAX = 500,          /* that are told apart; the rest is one */
	LANES_MAX_ROWS = 1 << 19, /* samples that are looked at one by one */
	LANES_MAX_SUMS = 1 << 21, /* before some are chosen; of more, rows are read twice */
	LANES_MAX_KEYS = QUERY_MAX_GROUPS,
	LANES_MAX_TYPES = 3,
	LANES_ASKERS = 3,
};

/* stack: SAMPLE_NO_ID where it is none of query_lanes.stacks. */
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
	const char **names; /* n_by; "" where there is none. Of the rest: NULL */
	uint32_t n;         /* lanes that it is: 1, of the rest more */
	int64_t total_ns[LANE_STATES];
	const int64_t *times_ns; /* [state * buckets + bucket] */
	const struct lane_span *spans;
	size_t n_spans;
};
struct lane_stack {
	const char *leaf; /* who was called last; of waits the frame that says what for */
	/* Of what ran on a GPU: the functions that asked for it, who called first, first. The last are a library's as a rule. */
	const char *askers[LANES_ASKERS];
	uint32_t n_askers; /* 0: not on one */
	char id[33];       /* profile/stack_id.h */
};
struct query_lanes {
	int64_t from_ns, to_ns; /* as asked; in windows from the first one's start */
	char from[LANES_MOMENT_MAX], to[LANES_MOMENT_MAX]; /* the same as moments (query/time.h) */
	int64_t bucket_ns;
	size_t buckets;
	bool is_exact, ids_missing;
	int64_t resolution_ns; /* of exact times 1, else how long the windows are that were added up */
	const char *by[QUERY_BY_MAX];
	uint32_t n_by;
	const char *types[LANES_MAX_TYPES];
	uint32_t n_types;
	struct lane *lanes; /* by time on the CPU, then off it */
	uint32_t n_lanes;
	struct lane rest; /* n = 0: there is none */
	struct lane_stack *stacks;
	uint32_t n_stacks;
	struct arena arena; /* all of it */
};

/* -EINVAL when values are no time, or samples have no times; else as query_range's. q->by: none means threads. */
int query_lanes(const struct query *q, const struct lanes_opts *opts, struct query_lanes *out,
		struct err *err);
void query_lanes_done(struct query_lanes *l);

#endif
