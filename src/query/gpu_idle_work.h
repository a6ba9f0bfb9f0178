/* query/gpu_idle_work.h: what the files of query/gpu_idle.h share: gpu_idle.c puts devices together, gpu_idle_times.c says when each was busy,
 * gpu_idle_classes.c what ended its gaps, gpu_idle_owners.c whose it is and what they did, gpu_idle_read.c reads a source. */
#ifndef CRESSET_QUERY_GPU_IDLE_WORK_H
#define CRESSET_QUERY_GPU_IDLE_WORK_H

#include "base/hash.h"
#include "query/gpu_idle.h"

/* Something that ran. */
struct gpu_work {
	int64_t from_ns, to_ns;
	uint32_t name;
};
typedef VEC(struct gpu_work) gpu_works;

/* Works of at most so long, from the first one on, are one sum where there were too many to be kept one by one (collect/gpu_density.h): a second,
 * and what their records took to come. */
#define IDLE_SUM_NS INT64_C(1500000000)

/* What a series is to this question. */
enum idle_series { SERIES_OTHER, SERIES_TIME, SERIES_WINDOW, SERIES_CALL };
struct idle_facts {
	enum idle_series is;
	bool is_asked; /* of the owners' type */
	uint32_t host, gpu, uuid, name;
};
struct idle_hosts {
	VEC(uint32_t) all; /* strings of the profile */
	bool is_limited;   /* others do not count */
};
/* Which samples count. */
struct idle_scope {
	const struct idle_hosts *hosts; /* NULL: all */
	bool ids_say_exact;             /* what has no pid is a sum over a window of time */
};
struct idle_build {
	struct profile *p;
	const struct tree_opts *tree;
	const struct gpu_idle_opts *opts;
	const struct idle_scope *scope;
	struct gpu_idle *out;
	struct idle_facts *facts; /* by series */
	struct stretches asked;   /* the range of time that is looked at, on the samples' clock */
	VEC(uint32_t) windows;    /* samples that are windows */
	size_t n_samples;         /* without those that are added here */
	VEC(gpu_works) works;     /* by device */
};

static inline const struct idle_facts *idle_facts_of(const struct idle_build *b, size_t row)
{
	return &b->facts[b->p->samples.series[row]];
}

void gpu_idle_device_done(struct gpu_idle_device *d);
bool idle_is_exact(const struct idle_build *b, size_t row);
bool idle_host_counts(const struct idle_build *b, uint32_t host);

/* gpu_idle_times.c: devices, with watched, busy and idle, and the works of each. */
void idle_find_records(struct idle_build *b);
void idle_find_readings(struct idle_build *b);

/* gpu_idle_classes.c */
void idle_find_classes(struct gpu_idle_device *d, gpu_works *works);

/* gpu_idle_owners.c */
void idle_own(struct gpu_idle_device *d, uint32_t pid, uint32_t name);
void idle_find_owners(struct idle_build *b, struct gpu_idle_device *d);
void idle_divide_samples(struct idle_build *b, struct gpu_idle_device *d);

/* -ENODATA with words: there are no devices. */
int idle_nothing_known(const struct gpu_idle *g, struct err *err);

/* gpu_idle_build of what is in scope; scope may be NULL. */
int idle_build_in(struct profile *p, const struct tree_opts *tree, const struct gpu_idle_opts *opts,
		  const struct idle_scope *scope, struct gpu_idle *out, struct err *err);

#endif
