/* query/gpu_idle.h: when GPUs had nothing to do, what ended that each time, and what the processes that use them did meanwhile.
 *
 *     struct query q = { .source = s, .type = gpu_idle_type(catalog), .from_ns = …, .to_ns = … };
 *     gpu_idle_query(&q, &opts, &idle, &err);      a store, or a file
 *     gpu_idle_json(&idle, 30, &buf, &err);
 *     gpu_idle_done(&idle);
 *
 * What says when a GPU is busy, of each one:
 *
 *     records    a kernel, a copy or a set runs on it: samples of type gpu-time that cover time and have a label `gpu`; those of synchronizations ([sync …] at
 *                the leaf) are none. It is watched in the windows of samples of type gpu-window, in those that all of its owners have; where nobody says
 *                which they were, all of the recorded time, but what has sums of works only, for which no times are kept. What is watched and not busy is a gap, up to the nanosecond.
 *                A window with a label `gpu` is of that one, also where nothing ran; one without, of all
 *     readings   of hw_gpu_utilization{task="general"}, where records are of less than half of the time, or there are none: each reading is of the
 *                time since the one before. One that is below a threshold is idle. What ended a gap is not known, and each end of a gap is as far off as readings lie apart
 *
 * A GPU is the same where host and label `uuid` are, or, where one side has none, host and label `gpu`. Each is one device; where readings say
 * more than records of a part of the time, that part follows it.
 *
 * Owners of records are the processes that ran something on that GPU, or had a window of it: they have a context there. Of readings they are the processes that the
 * driver lists (process_gpu_memory_usage), by name; where it lists none on any GPU of a host, all of that host that called a GPU's library (gpu-launch, gpu-wait, gpu-copy, hbm-alloc, hbm-inuse).
 *
 * Their samples of one type (stacks on CPUs, waits) are divided by these times: what covers time is cut at the edges as every range of time cuts
 * it (profile/time_range.h). Both parts become types of a profile, so that they can be drawn and compared like any others. */
#ifndef CRESSET_QUERY_GPU_IDLE_H
#define CRESSET_QUERY_GPU_IDLE_H

#include "base/err.h"
#include "base/stretches.h"
#include "format/table.h"
#include "profile/diff.h"
#include "profile/profile.h"
#include "profile/tree.h"
#include "query/plan.h"
#include "store/metric.h"

#define GPU_IDLE_THRESHOLD 0.05 /* share of the time in which something ran; less is idle */
#define GPU_IDLE_MAX_GAP_NS \
	INT64_C(10000000000) /* nothing is known between readings that are further apart */
enum {
	GPU_IDLE_TYPE_NONE = UINT32_MAX, /* of samples of owners: none are looked at */
	GPU_IDLE_LONGEST = 50,           /* gaps that are shown one by one */
};

enum gpu_idle_source { GPU_IDLE_RECORDS, GPU_IDLE_READINGS };
enum gpu_idle_owned { GPU_OWNED_RAN, GPU_OWNED_LISTED, GPU_OWNED_CALLED, GPU_OWNED_NONE };
extern const char *const gpu_idle_source_names[]; /* "records", "readings" */
extern const char *const gpu_idle_owned_names[];  /* "ran", "listed", "called", "none" */

/* All strings are of gpu_idle.p. */
struct gpu_idle_owner {
	uint32_t pid;  /* SAMPLE_NO_ID: known by its name only */
	uint32_t name; /* label `process`, else `comm`; 0: not known */
};
/* Gaps by what ran when they were over. */
struct gpu_idle_class {
	uint32_t name; /* 0: not known, of readings, or they were not over */
	bool is_over;
	uint64_t gaps;
	int64_t total_ns, median_ns, longest_ns;
};
struct gpu_idle_gap {
	int64_t from_ns, to_ns; /* on the samples' clock */
	uint32_t class;
};
struct gpu_idle_device {
	uint32_t label; /* the value of `gpu`; of readings where there are some: its driver's */
	uint32_t host, uuid; /* 0: there is no such label */
	uint32_t model;      /* what its driver calls the kind; 0: not known */
	enum gpu_idle_source source;
	bool is_part; /* of the device before it, which is by readings: what records say of a part of the time */
	int64_t period_ns;    /* of readings: how far they lie apart, as a rule; of records 0 */
	int64_t uncertain_ns; /* idle and busy may be off by this, each way; of records 0 */
	struct stretches watched, busy, idle;
	enum gpu_idle_owned owned;
	VEC(struct gpu_idle_owner) owners;  /* by pid, then name */
	VEC(struct gpu_idle_class) classes; /* by total_ns, greatest first */
	VEC(struct gpu_idle_gap) longest;   /* at most GPU_IDLE_LONGEST, longest first */
	uint32_t idle_type,
		busy_type; /* types of p; GPU_IDLE_TYPE_NONE: no samples were looked at */
	uint64_t idle_samples, busy_samples; /* of these types */
};
struct gpu_idle {
	VEC(struct gpu_idle_device) devices; /* in the order of hosts, then labels */
	bool has_windows, has_hosts;         /* of several hosts */
	double threshold;                    /* of readings */
	struct profile *p;                   /* what all of it is of */
	struct profile *own;                 /* NULL: p is the caller's */
	struct tree_opts tree;               /* filters of the trees */
	/* Of a part of what was asked there are no exact times any more: it begins here. 0: all of it is exact, or it is about readings. */
	int64_t exact_from_ns;
};

/* What the driver says of one GPU, for gpu_idle_build; without points, what it is called. Strings are the profile's, times on its clock. */
struct gpu_idle_readings {
	uint32_t host, label, uuid, model; /* uuid, model 0: not known */
	struct metric_points points;       /* ascending */
	VEC(uint32_t) listed;              /* names of processes */
};
struct gpu_idle_opts {
	double threshold; /* 0: GPU_IDLE_THRESHOLD */
	const struct gpu_idle_readings *readings;
	size_t n_readings;
	bool of_hosts; /* of gpu_idle_query: q only chooses the hosts; owners' samples are of gpu_idle_type, all of them */
};

/* The type whose stacks say most of what threads did: wall, else cpu, else off-cpu. GPU_IDLE_TYPE_NONE: there is none. */
uint32_t gpu_idle_type(const struct profile *p);
/* Whether it is one of these. */
bool gpu_idle_is_of_threads(const struct profile *p, uint32_t type);

/* tree: type is that of the samples of owners, or GPU_IDLE_TYPE_NONE; the range of time counts, filters by frame are for the trees. p gets two types and their
 * samples for each device, and stays the caller's. -ENODATA with words when nothing says what ran on GPUs. out is to be done in any case. */
int gpu_idle_build(struct profile *p, const struct tree_opts *tree,
		   const struct gpu_idle_opts *opts, struct gpu_idle *out, struct err *err);

/* The same of a profile with what it read of GPUs' drivers (profile/readings.h). threshold: as of the options. */
int gpu_idle_of_file(struct profile *p, const struct tree_opts *tree, double threshold,
		     struct gpu_idle *out, struct err *err);

/* The same of a source. q->type is that of the owners' samples, or GPU_IDLE_TYPE_NONE; q->selector chooses among these, and with them the hosts: what runs on
 * GPUs is looked at whoever it is of. q->by and q->within do not count; opts->readings are found here. Errors as of query_profile, too. */
int gpu_idle_query(const struct query *q, const struct gpu_idle_opts *opts, struct gpu_idle *out,
		   struct err *err);
/* q->type, as q->selector has it; where that names none it is gpu_idle_type. -EINVAL as of query_ask_type (query/ask.h). */
int gpu_idle_ask_type(struct query *q, struct err *err);
void gpu_idle_done(struct gpu_idle *g);

/* What owners of a device did while it was idle (newer) against while it was busy (older): shares of each, with intervals of 95 %. */
struct gpu_idle_change {
	struct tree *idle, *busy;
	struct diff *diff;
};
/* -ENODATA with words when there is nothing to compare: no owners, no samples of theirs, or it was idle, or busy, all the time. c is to be done in any case. */
int gpu_idle_compare(const struct gpu_idle *g, const struct gpu_idle_device *d,
		     struct gpu_idle_change *c, struct err *err);
void gpu_idle_change_done(struct gpu_idle_change *c);

/* For people: a paragraph, what ended gaps and the difference of each. With top_n rows of each table, as opts has it. Errors as of gpu_idle_compare. */
int gpu_idle_text(const struct gpu_idle *g, const struct table_opts *opts, struct buf *b,
		  struct err *err);
/* Gaps by what ended them. */
void gpu_idle_csv(const struct gpu_idle *g, uint32_t top_n, struct buf *b);

/* As JSON, with a newline at the end; at most top_n (0: all) rows of each table. Keys are only ever added:
 *
 *     format "cresset.gpu-idle", version 1, windows (whether the program says when it was watched), threshold
 *     exact_from_ns   null, or from when on exact times are kept
 *     type            of the owners' samples; null: none
 *     devices         each GPU once: [{gpu, host, uuid, model (null: none), exact, source "records" | "readings", period_ns (null: exact)
 *                       watched_ns, busy_ns, idle_ns, uncertain_ns, gaps
 *                       owned "ran" | "listed" | "called" | "none", processes [pids], owners [{pid, process}] (null: not known)
 *                       ended_by [{name (null: not known, or not over), over, gaps, total_ns, median_ns, longest_ns}]
 *                       longest  [{from_ns, to_ns, name, over}]     Unix time; of a file that knows no clock since its start
 *                       change   {cresset.diff: idle as newer, busy as older (format/diff_table.h)}, null: nothing can be compared
 *                       no_change   why, in words; null: there is one
 *                       records     of readings: what records say of a part of the time, a device as these; null: nothing }] */
int gpu_idle_json(const struct gpu_idle *g, uint32_t top_n, struct buf *b, struct err *err);

#endif
