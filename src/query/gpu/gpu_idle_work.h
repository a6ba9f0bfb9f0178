/* query/gpu/gpu_idle_work.h: shared by the files of query/gpu/gpu_idle.h. gpu_idle.c builds devices
 * and finds what ended their gaps, gpu_idle_times.c finds when each was busy, gpu_idle_owners.c its
 * owners and what they did; gpu_idle_read.c reads a source. */
#ifndef CRESSET_QUERY_GPU_GPU_IDLE_WORK_H
#define CRESSET_QUERY_GPU_GPU_IDLE_WORK_H

#include "base/interval_set.h"
#include "base/vec.h"
#include "profile/profile.h"

struct err;
struct gpu_idle_device;

/* A piece of work that ran. */
struct gpu_work {
	int64_t from_ns, to_ns;
	uint32_t name;
};
typedef VEC(struct gpu_work) gpu_works;

/* The longest time of works in one sum, where there were too many to store one by one
 * (collect/gpu/gpu_time_ran.c): a second, and the delay of their records. */
#define IDLE_SUM_NS INT64_C(1500000000)

/* What a series is to this query. */
enum idle_series { SERIES_OTHER, SERIES_TIME, SERIES_WINDOW, SERIES_CALL };
struct idle_facts {
	enum idle_series is;
	bool is_asked; /* of the owners' type */
	uint32_t host, gpu, uuid, name;
};
struct idle_hosts {
	VEC(uint32_t) all; /* strings of the profile */
	bool is_limited;   /* other hosts do not count */
};
/* Which samples count. */
struct idle_scope {
	const struct idle_hosts *hosts; /* NULL: all */
	bool ids_say_exact;             /* samples without pid are sums over a window */
};
struct idle_build {
	struct profile *p;
	const struct tree_opts *tree;
	const struct gpu_idle_opts *opts;
	const struct idle_scope *scope;
	struct gpu_idle *out;
	struct idle_facts *facts;  /* by series */
	struct interval_set asked; /* the range of time, on the samples' clock */
	VEC(uint32_t) windows;     /* rows of samples that are windows */
	size_t n_samples;          /* without those added here */
	VEC(gpu_works) works;      /* by device */
};

static inline const struct idle_facts *idle_facts_of(const struct idle_build *b, size_t row)
{
	return &b->facts[b->p->samples.series[row]];
}

void gpu_idle_device_done(struct gpu_idle_device *d);
bool idle_is_exact(const struct idle_build *b, size_t row);
bool idle_host_counts(const struct idle_build *b, uint32_t host);

/* gpu_idle_times.c: find devices with watched, busy and idle, and the works of each. */
void idle_find_records(struct idle_build *b);
void idle_find_readings(struct idle_build *b);

/* gpu_idle_owners.c */
void idle_own(struct gpu_idle_device *d, uint32_t pid, uint32_t name);
void idle_find_owners(struct idle_build *b, struct gpu_idle_device *d);
void idle_divide_samples(struct idle_build *b, struct gpu_idle_device *d);

/* Returns -ENODATA: there are no devices. */
int idle_nothing_known(const struct gpu_idle *g, struct err *err);

/* Like gpu_idle_build, for samples in scope; scope may be NULL. */
int idle_build_in(struct profile *p, const struct tree_opts *tree, const struct gpu_idle_opts *opts,
		  const struct idle_scope *scope, struct gpu_idle *out, struct err *err);

#endif
