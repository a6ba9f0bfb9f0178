/* query/gpu/gpu_idle.h: when GPUs were idle, what ended each gap, and what the processes that use
 * them did in the meantime.
 *
 *     struct query q = { .source = s, .type = gpu_idle_type(catalog), .from_ns = …, .to_ns = … };
 *     gpu_idle_query(&q, &opts, &idle, &err);      a store, or a file
 *     gpu_idle_json(&idle, 30, &buf, &err);
 *     gpu_idle_done(&idle);
 *
 * There are two sources for when a GPU is busy:
 *
 *     records    A kernel, a copy or a set runs: samples of type gpu-time that cover time and have
 *                a label `gpu`, except synchronizations ([sync …] at the leaf). The GPU is watched
 *                in the windows (samples of type gpu-window) that all of its owners have; without
 *                windows, in all of the recorded time, except if there are only sums of work
 *                without times. Watched time that is not busy is a gap, exact to the nanosecond. A
 *                window with a label `gpu` is of that GPU, even if nothing ran; one without, of all
 *     readings   of hw_gpu_utilization{task="general"}, where records cover less than half of the
 *                time, or there are none. A reading is of the time since the previous one; below a
 *                threshold the GPU is idle. What ended a gap is unknown, and each end of a gap may
 *                be off by the interval of readings
 *
 * A GPU is identified by host and label `uuid`, or, if one side has no uuid, by host and label
 * `gpu`. Each is one device. If it is by readings, and records cover a part of the time, a device
 * for that part follows it.
 *
 * With records, owners are the processes that ran something on the GPU or had a window of it: they
 * have a context there. With readings, they are the processes that the driver lists
 * (process_gpu_memory_usage), by name; if it lists none on any GPU of a host, all processes of the
 * host that called a GPU library (gpu-launch, gpu-wait, gpu-copy, hbm-alloc, hbm-inuse).
 *
 * Owners' samples of one type (stacks on CPUs, waits) are divided by these times. Samples that
 * cover time are split at the edges as for any range of time (profile/tree/time_range.h). Both
 * parts become types of a profile, so they can be drawn and compared like any others. */
#ifndef CRESSET_QUERY_GPU_GPU_IDLE_H
#define CRESSET_QUERY_GPU_GPU_IDLE_H

#include "base/interval_set.h"
#include "base/vec.h"
#include "profile/tree/tree.h"
#include "store/codec/metric.h"

struct buf;
struct err;
struct query;
struct table_opts;

#define GPU_IDLE_THRESHOLD 0.05 /* share of the time in which something ran; less means idle */
#define GPU_IDLE_MAX_GAP_NS \
	INT64_C(10000000000) /* the time between readings further apart is unknown */
enum {
	GPU_IDLE_TYPE_NONE = UINT32_MAX, /* of owners' samples: none are used */
	GPU_IDLE_LONGEST = 50,           /* limit: gaps of a GPU shown one by one */
};

enum gpu_idle_source { GPU_IDLE_RECORDS, GPU_IDLE_READINGS };
enum gpu_idle_owned { GPU_OWNED_RAN, GPU_OWNED_LISTED, GPU_OWNED_CALLED, GPU_OWNED_NONE };
extern const char *const gpu_idle_source_names[]; /* "records", "readings" */
extern const char *const gpu_idle_owned_names[];  /* "ran", "listed", "called", "none" */

/* All strings are in gpu_idle.p. */
struct gpu_idle_owner {
	uint32_t pid;  /* SAMPLE_NO_ID: known by name only */
	uint32_t name; /* label `process`, otherwise `comm`; 0: unknown */
};
/* Gaps by what ran when they ended. */
struct gpu_idle_class {
	uint32_t name; /* 0: unknown, of readings, or they did not end */
	bool is_over;
	uint64_t gaps;
	int64_t total_ns, median_ns, longest_ns;
};
struct gpu_idle_gap {
	int64_t from_ns, to_ns; /* on the samples' clock */
	uint32_t class;
};
struct gpu_idle_device {
	uint32_t label;      /* the value of `gpu`; the driver's if there are readings */
	uint32_t host, uuid; /* 0: no such label */
	uint32_t model;      /* the driver's name of the model; 0: unknown */
	enum gpu_idle_source source;
	/* a part of the time by records, of the previous device, which is by readings */
	bool is_part;
	int64_t period_ns;    /* of readings: their usual interval; of records 0 */
	int64_t uncertain_ns; /* error of idle and busy, either way; of records 0 */
	struct interval_set watched, busy, idle;
	enum gpu_idle_owned owned;
	VEC(struct gpu_idle_owner) owners;  /* by pid, then name */
	VEC(struct gpu_idle_class) classes; /* by total_ns, greatest first */
	VEC(struct gpu_idle_gap) longest;   /* at most GPU_IDLE_LONGEST, longest first */
	uint32_t idle_type, busy_type; /* types of p; GPU_IDLE_TYPE_NONE: no samples were used */
	uint64_t idle_samples, busy_samples; /* of these types */
};
struct gpu_idle {
	VEC(struct gpu_idle_device) devices; /* in the order of hosts, then labels */
	bool has_windows, has_hosts;         /* has_hosts: there are several */
	double threshold;                    /* of readings */
	struct profile *p;                   /* has all strings, types and samples */
	struct profile *own;                 /* NULL: p is the caller's */
	struct tree_opts tree;               /* filters of the trees */
	/* Exact times are retained only from here on: a store has them for its hot hours only. 0:
	 * all are exact, or from readings. */
	int64_t exact_from_ns;
};

/* Driver readings of one GPU, for gpu_idle_build; without points, only its name. Strings are the
 * profile's, times on its clock. */
struct gpu_idle_readings {
	uint32_t host, label, uuid, model; /* uuid, model 0: unknown */
	struct metric_points points;       /* ascending */
	VEC(uint32_t) listed;              /* names of processes */
};
struct gpu_idle_opts {
	double threshold; /* 0: GPU_IDLE_THRESHOLD */
	const struct gpu_idle_readings *readings;
	size_t n_readings;
	/* for gpu_idle_query: q only selects the hosts; owners' samples are all of gpu_idle_type */
	bool of_hosts;
};

/* Returns the type that states most about what threads did: wall, otherwise cpu, otherwise off-cpu.
 * GPU_IDLE_TYPE_NONE: none. */
uint32_t gpu_idle_type(const struct profile *p);
/* The same among the types k with types[k]. */
uint32_t gpu_idle_type_among(const struct profile *p, const bool *types);
/* Returns whether it is one of these. */
bool gpu_idle_is_of_threads(const struct profile *p, uint32_t type);

/* tree: type is that of the owners' samples, or GPU_IDLE_TYPE_NONE; the range of time is used,
 * frame filters are for the trees. Adds two types with samples for each device to p, which stays
 * the caller's. -ENODATA: no data on what ran on GPUs. gpu_idle_done has to be called in any
 * case. */
int gpu_idle_build(struct profile *p, const struct tree_opts *tree,
		   const struct gpu_idle_opts *opts, struct gpu_idle *out, struct err *err);

/* The same for a profile with driver readings (profile/readings.h). threshold: as in
 * gpu_idle_opts. */
int gpu_idle_of_file(struct profile *p, const struct tree_opts *tree, double threshold,
		     struct gpu_idle *out, struct err *err);

/* The same for a source. q->type is that of the owners' samples; q->selector selects among these,
 * and thereby the hosts. GPU_IDLE_TYPE_NONE: no owners' samples, and series of any type select
 * hosts. Work on GPUs counts for any process. q->by and q->within are ignored; opts->readings are
 * read here. Errors as of query_profile as well. */
int gpu_idle_query(const struct query *q, const struct gpu_idle_opts *opts, struct gpu_idle *out,
		   struct err *err);
/* Sets q->type to gpu_idle_type among the series that q->selector selects; otherwise to the type
 * that it names; otherwise to GPU_IDLE_TYPE_NONE, as for a host that has readings only. -EINVAL as
 * of query_parse_type (query/query_parse.h). */
int gpu_idle_ask_type(struct query *q, struct err *err);
void gpu_idle_done(struct gpu_idle *g);

/* What a device's owners did while it was idle (newer) compared with while it was busy (older):
 * shares of each, with intervals of 95 %. */
struct gpu_idle_change {
	struct tree *idle, *busy;
	struct diff *diff;
};
/* -ENODATA: nothing to compare, as there are no owners or none of their samples, or the device was
 * idle or busy all the time. gpu_idle_change_done has to be called in any case. */
int gpu_idle_compare(const struct gpu_idle *g, const struct gpu_idle_device *d,
		     struct gpu_idle_change *c, struct err *err);
void gpu_idle_change_done(struct gpu_idle_change *c);

/* Writes text: for each device a paragraph, what ended gaps, and the difference. At most
 * opts->top_n rows of each table. Errors as of gpu_idle_compare. */
int gpu_idle_text(const struct gpu_idle *g, const struct table_opts *opts, struct buf *b,
		  struct err *err);
/* Writes gaps by what ended them, as CSV. */
void gpu_idle_csv(const struct gpu_idle *g, uint32_t top_n, struct buf *b);

/* Writes JSON, with a newline at the end; at most top_n (0: all) rows of each table. Keys may be
 * added, but never change:
 *
 *     format "cresset.gpu-idle", version 1, threshold
 *     windows         whether the program states when it was watched
 *     exact_from_ns   since when exact times are retained, or null
 *     type            of the owners' samples; null: none
 *     devices         each GPU once, [{
 *         gpu, host, uuid, model      null: none
 *         exact, source "records" | "readings", period_ns (null: exact)
 *         watched_ns, busy_ns, idle_ns, uncertain_ns, gaps
 *         owned "ran" | "listed" | "called" | "none"
 *         processes [pids], owners [{pid, process}] (null: unknown)
 *         ended_by    [{name (null: unknown, or not over), over, gaps, total_ns, median_ns,
 *                     longest_ns}]
 *         longest     [{from_ns, to_ns, name, over}], Unix time; since the start for a file
 *                     without a clock
 *         change      {cresset.diff: idle as newer, busy as older (format/table/table.h)};
 *                     null: nothing to compare
 *         no_change   the reason; null: there is a change
 *         records     for readings: the device by records for a part of the time; null: none
 *     }] */
int gpu_idle_json(const struct gpu_idle *g, uint32_t top_n, struct buf *b, struct err *err);

#endif
