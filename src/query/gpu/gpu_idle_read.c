/* Reads the samples and readings that the query needs from a source, as one profile. */
#include "query/gpu/gpu_idle_work.h"

#include "base/mem.h"
#include "base/vec.h"
#include "profile/tree/tree.h"
#include "query/gpu/gpu_gather.h"
#include "query/gpu/gpu_idle.h"
#include "query/query.h"
#include "query/query_parse.h"
#include "query/selector.h"
#include "query/source.h"
#include "store/codec/metric.h"

#include <stdlib.h>
#include <string.h>

struct idle_read {
	struct gpu_gather gather;
	struct query owners; /* the query if q only selects the hosts */
	const struct gpu_idle_opts *opts;
	struct profile *p;
	uint32_t type; /* of the owners' samples, in p */
	VEC(struct gpu_idle_readings) readings;
};

/* --- samples ---------------------------------------------------------------------------------- */

/* Returns whether the hosts that count have data on GPUs being busy, at any time. */
static bool may_be_known(const struct idle_read *r)
{
	static const char *const names[] = { "gpu-time", "gpu-window", "hw_gpu_utilization" };
	for (uint32_t i = 0; i < r->gather.catalog->series.series.n; i++)
		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			if (gpu_gather_is_of(&r->gather, i, names[k]))
				return true;
	return false;
}

/* Reads the owners' type first, so that it is type 0 of the profile. */
static int read_samples(struct idle_read *r)
{
	static const char *const names[] = { "gpu-time", "gpu-window" };
	int rc = 0;
	r->type = GPU_IDLE_TYPE_NONE;
	if (r->gather.q->type != GPU_IDLE_TYPE_NONE) {
		rc = gpu_gather_type(&r->gather, r->gather.q->type, r->gather.q->selector, &r->p);
		r->type = 0;
	}
	return rc ? rc : gpu_gather_types(&r->gather, names, sizeof names / sizeof *names, &r->p);
}

static int read_callers(struct idle_read *r)
{
	static const char *const names[] = { "gpu-launch", "gpu-wait", "gpu-copy", "hbm-alloc",
					     "hbm-inuse" };
	for (size_t i = 0; i < r->readings.n; i++)
		if (r->readings.v[i].points.n && !r->readings.v[i].listed.n)
			return gpu_gather_types(&r->gather, names, sizeof names / sizeof *names,
						&r->p);
	return 0;
}

/* --- readings --------------------------------------------------------------------------------- */

/* Adjacent points outside are needed as well. */
static int read_points(struct idle_read *r, uint32_t series, struct metric_points *to)
{
	return gpu_gather_points(&r->gather, series, GPU_IDLE_MAX_GAP_NS, to);
}

static int compare_points(const void *a, const void *b)
{
	const struct metric_point *x = a, *y = b;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Finds the GPU's readings of another series: other labels of the host may change. */
static struct gpu_idle_readings *same_gpu(struct idle_read *r, const struct gpu_idle_readings *one)
{
	for (size_t i = 0; i < r->readings.n; i++) {
		struct gpu_idle_readings *have = &r->readings.v[i];
		bool is_same = have->uuid && one->uuid ? have->uuid == one->uuid
						       : have->label == one->label;
		if (have->host == one->host && is_same)
			return have;
	}
	return NULL;
}

static struct gpu_idle_readings *readings_of(struct idle_read *r, uint32_t series)
{
	struct sink *s = profile_sink(r->p);
	struct gpu_idle_readings one = {
		.host = sink_string(s, gpu_gather_label(&r->gather, series, "host")),
		.label = sink_string(s, gpu_gather_label(&r->gather, series, "gpu")),
		.uuid = sink_string(s, gpu_gather_label(&r->gather, series, "uuid")),
	};
	struct gpu_idle_readings *same = same_gpu(r, &one);
	if (same)
		return same;
	vec_push(&r->readings, one);
	return &r->readings.v[r->readings.n - 1];
}

static int add_readings(struct idle_read *r, uint32_t series)
{
	struct metric_points *points = &readings_of(r, series)->points;
	size_t before = points->n;
	int rc = read_points(r, series, points);
	if (before && points->n > before)
		qsort(points->v, points->n, sizeof *points->v, compare_points);
	return rc;
}

/* Adds a process that the driver has listed at some time in the range. */
static int add_listed(struct idle_read *r, uint32_t series)
{
	uint32_t host = strtab_find(&r->p->strings, gpu_gather_label(&r->gather, series, "host"));
	uint32_t label = strtab_find(&r->p->strings, gpu_gather_label(&r->gather, series, "gpu"));
	struct metric_points points = { 0 };
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < r->readings.n; i++) {
		struct gpu_idle_readings *to = &r->readings.v[i];
		if (to->host != host || to->label != label)
			continue;
		rc = read_points(r, series, &points);
		if (points.n)
			vec_push(&to->listed,
				 sink_string(profile_sink(r->p),
					     gpu_gather_label(&r->gather, series, "process")));
		vec_clear(&points);
	}
	vec_done(&points);
	return rc;
}

static int read_readings(struct idle_read *r)
{
	uint32_t n = r->gather.catalog->series.series.n;
	int rc = 0;
	if (!r->gather.q->source->ops->points)
		return 0;
	if (!r->p)
		r->p = profile_new();
	/* The driver's name of the model, from any time. */
	for (uint32_t i = 0; i < n; i++) {
		if (!gpu_gather_is_metric(&r->gather, i, "hw_gpu_info"))
			continue;
		const char *model = gpu_gather_label(&r->gather, i, "model");
		readings_of(r, i)->model = sink_string(profile_sink(r->p), model);
	}
	for (uint32_t i = 0; rc == 0 && i < n; i++)
		if (gpu_gather_is_metric(&r->gather, i, "hw_gpu_utilization") &&
		    strcmp(gpu_gather_label(&r->gather, i, "task"), "general") == 0)
			rc = add_readings(r, i);
	for (uint32_t i = 0; rc == 0 && i < n; i++)
		if (gpu_gather_is_metric(&r->gather, i, "process_gpu_memory_usage"))
			rc = add_listed(r, i);
	return rc ? rc : read_callers(r);
}

/* --- all together ----------------------------------------------------------------------------- */

/* Sets the range to its part with data; parts of the profile may have less. */
static void settle_range(struct idle_read *r)
{
	struct profile_meta *m = &r->p->meta;
	int64_t first_ns, end_ns;
	r->gather.q->source->ops->range(r->gather.q->source, &first_ns, &end_ns);
	first_ns = r->gather.q->from_ns > first_ns ? r->gather.q->from_ns : first_ns;
	end_ns = r->gather.q->to_ns < end_ns ? r->gather.q->to_ns : end_ns;
	m->start_mono_ns = first_ns;
	m->duration_ns = end_ns > first_ns ? end_ns - first_ns : 0;
}

static int build(struct idle_read *r, struct gpu_idle *out)
{
	struct idle_hosts hosts = { .is_limited = r->gather.is_limited };
	struct idle_scope scope = { &hosts, r->gather.q->source->window_ns != 0 };
	struct gpu_idle_opts opts = { .threshold = r->opts->threshold,
				      .readings = r->readings.v,
				      .n_readings = r->readings.n };
	struct tree_opts tree = r->gather.q->tree;
	if (!r->p)
		r->p = profile_new();
	settle_range(r);
	tree.type = r->type;
	tree.time_from_ns = tree.time_to_ns = 0;
	for (size_t i = 0; i < r->gather.chosen.n; i++)
		vec_push(&hosts.all,
			 sink_string(profile_sink(r->p),
				     strtab_get(&r->gather.hosts, r->gather.chosen.v[i])));
	int rc = idle_build_in(r->p, &tree, &opts, &scope, out, r->gather.err);
	out->own = r->p;
	r->p = NULL;
	vec_done(&hosts.all);
	return rc;
}

/* Returns gpu_idle_type among the selected series. */
static uint32_t type_of_threads(const struct profile *catalog, const struct selector *selector)
{
	if (!selector)
		return gpu_idle_type(catalog);
	bool *selected = xcalloc(catalog->series.types.n, sizeof *selected);
	gpu_gather_selected_types(catalog, selector, selected);
	uint32_t type = gpu_idle_type_among(catalog, selected);
	free(selected);
	return type;
}

int gpu_idle_query(const struct query *q, const struct gpu_idle_opts *opts, struct gpu_idle *out,
		   struct err *err)
{
	struct idle_read r = { .opts = opts };
	*out = (struct gpu_idle){ 0 };
	int rc = gpu_gather_init(&r.gather, q, err);
	if (rc == 0 && !may_be_known(&r))
		rc = idle_nothing_known(out, err);
	if (rc == 0 && opts->of_hosts) {
		r.owners = *r.gather.q;
		r.owners.type = type_of_threads(r.gather.catalog, r.gather.host);
		r.owners.selector = r.gather.host;
		r.gather.q = &r.owners;
	}
	rc = rc ? rc : read_samples(&r);
	rc = rc ? rc : read_readings(&r);
	rc = rc ? rc : build(&r, out);
	gpu_gather_done(&r.gather);
	for (size_t i = 0; i < r.readings.n; i++) {
		vec_done(&r.readings.v[i].points);
		vec_done(&r.readings.v[i].listed);
	}
	vec_done(&r.readings);
	profile_free(r.p);
	return rc;
}

/* Returns whether the selector excludes types, by name. */
static bool names_type(const struct selector *s, const struct profile *catalog)
{
	bool takes_all = !selector_type_text(s);
	for (uint32_t i = 0; i < catalog->series.types.n; i++)
		takes_all &= selector_takes_type(s, catalog, i);
	return !takes_all;
}

int gpu_idle_ask_type(struct query *q, struct err *err)
{
	const struct profile *catalog = q->source->ops->catalog(q->source);
	uint32_t others;
	q->type = type_of_threads(catalog, q->selector);
	if (q->type != GPU_IDLE_TYPE_NONE || !q->selector || !names_type(q->selector, catalog))
		return 0;
	return query_parse_type(q, &others, err);
}
