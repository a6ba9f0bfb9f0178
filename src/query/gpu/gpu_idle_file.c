/* Idle times of GPUs in a loaded profile, with its driver readings. */
#include "base/vec.h"
#include "profile/profile.h"
#include "query/gpu/gpu_idle.h"
#include "store/codec/metric_samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct file_readings {
	struct profile *p;
	VEC(struct gpu_idle_readings) all;
};

static uint32_t label_of(const struct profile *p, const struct reading_series *s, const char *key)
{
	uint32_t id = strtab_find(&p->strings, key);
	const struct label *l = id == UINT32_MAX ? NULL : label_find(&p->series, s->key.labels, id);
	return l && !l->is_num ? l->str : 0;
}

static bool is_of(const struct profile *p, const struct reading_series *s, const char *name)
{
	return strcmp(profile_str(p, s->key.name), name) == 0;
}

static void add_readings(struct file_readings *r, const struct reading_series *s)
{
	struct gpu_idle_readings out = { .host = label_of(r->p, s, "host"),
					 .label = label_of(r->p, s, "gpu") };
	for (size_t i = 0; i < s->points.n; i++)
		if (!isnan(s->points.v[i].value))
			vec_push(&out.points, (struct metric_point){ s->points.v[i].time_ns,
								     s->points.v[i].value });
	metric_points_order(&out.points);
	vec_push(&r->all, out);
}

/* Adds a process that the driver has listed at some time. */
static void add_listed(struct file_readings *r, const struct reading_series *s)
{
	for (size_t i = 0; i < r->all.n; i++)
		if (r->all.v[i].host == label_of(r->p, s, "host") &&
		    r->all.v[i].label == label_of(r->p, s, "gpu"))
			vec_push(&r->all.v[i].listed, label_of(r->p, s, "process"));
}

static void find_readings(struct file_readings *r)
{
	const struct readings *all = &r->p->readings;
	for (size_t i = 0; i < all->all.n; i++) {
		const struct reading_series *s = &all->all.v[i];
		const char *task = profile_str(r->p, label_of(r->p, s, "task"));
		if (is_of(r->p, s, "hw_gpu_utilization") && strcmp(task, "general") == 0)
			add_readings(r, s);
	}
	for (size_t i = 0; i < all->all.n; i++)
		if (is_of(r->p, &all->all.v[i], "process_gpu_memory_usage"))
			add_listed(r, &all->all.v[i]);
}

int gpu_idle_of_file(struct profile *p, const struct tree_opts *tree, double threshold,
		     struct gpu_idle *out, struct err *err)
{
	struct file_readings r = { .p = p };
	find_readings(&r);
	const struct gpu_idle_opts opts = { .threshold = threshold,
					    .readings = r.all.v,
					    .n_readings = r.all.n };
	int rc = gpu_idle_build(p, tree, &opts, out, err);
	for (size_t i = 0; i < r.all.n; i++) {
		vec_done(&r.all.v[i].points);
		vec_done(&r.all.v[i].listed);
	}
	vec_done(&r.all);
	return rc;
}
