/* query/lanes/lanes_types.h: limits, options and result of query/lanes/lanes.h. */
#ifndef CRESSET_QUERY_LANES_LANES_TYPES_H
#define CRESSET_QUERY_LANES_LANES_TYPES_H

#include "base/arena.h"
#include "query/query.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LANES_MAX_PX = 8192, /* limit: lanes' width in pixels */
	LANES_MOMENT_MAX = 48,
	LANES_MAX = 500,          /* limit: lanes; the rest is one */
	LANES_MAX_ROWS = 1 << 19, /* limit: their samples examined one by one */
	/* limit: sums of all lanes; of more, rows are read twice */
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

#endif
