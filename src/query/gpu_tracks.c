#include "query/gpu_tracks.h"

#include "query/gpu_counters.h"
#include "query/gpu_gather.h"

#include <errno.h>

struct tracks {
	struct gpu_gather gather;
	struct format_counters *out;
	uint64_t points;
	struct err *err;
};

/* --- samples ------------------------------------------------------------------------------------- */

/* The range of the answer stays what it is. */
static int add_samples(struct gpu_gather *g, struct profile *p)
{
	static const char *const names[] = { "gpu-time", "gpu-queue" };
	int64_t start_wall_ns = p->meta.start_wall_ns, start_mono_ns = p->meta.start_mono_ns;
	int64_t duration_ns = p->meta.duration_ns;
	int rc = gpu_gather_types(g, names, sizeof names / sizeof *names, &p);
	p->meta.start_wall_ns = start_wall_ns;
	p->meta.start_mono_ns = start_mono_ns;
	p->meta.duration_ns = duration_ns;
	return rc;
}

/* --- metrics ------------------------------------------------------------------------------------- */

/* No two points of a moment are in a series, and no two series are of one GPU and row, but where labels of a host's changed meanwhile: each is a counter of
 * its own then. */
static int add_counter(struct tracks *t, uint32_t series, struct format_counter *c)
{
	struct metric_points points = { 0 };
	int rc = gpu_gather_points(&t->gather, series, 0, &points);
	for (size_t i = 0; i < points.n; i++)
		vec_push(&c->points,
			 (struct format_counter_point){ points.v[i].time_ns, points.v[i].value });
	vec_done(&points);
	t->points += c->points.n;
	return rc ? rc : guard_memory(&t->gather.guard, t->points * sizeof *c->points.v, t->err);
}

static int add_series(struct tracks *t, uint32_t series)
{
	const struct profile *p = t->gather.catalog;
	const struct series *s = &p->series.series.v[series];
	const char *metric = profile_str(p, p->series.types.v[s->type].name);
	struct format_counter c = { 0 };
	if (!gpu_gather_is_metric(&t->gather, series, metric) ||
	    !gpu_counter_name(p, metric, s->labels, &c))
		return 0;
	int rc = add_counter(t, series, &c);
	if (rc == 0 && c.points.n)
		vec_push(&t->out->all, c);
	else
		format_counter_done(&c);
	return rc;
}

static int add_counters(struct tracks *t)
{
	int rc = 0;
	if (!t->gather.q->source->ops->points)
		return 0;
	for (uint32_t i = 0; rc == 0 && i < t->gather.catalog->series.series.n; i++)
		rc = add_series(t, i);
	gpu_counters_order(t->out);
	return rc;
}

int query_gpu_tracks(const struct query *q, struct profile *p, struct format_counters *out,
		     struct err *err)
{
	struct tracks t = { .out = out, .err = err };
	*out = (struct format_counters){ 0 };
	int rc = gpu_gather_init(&t.gather, q, err);
	if (rc == 0)
		rc = add_samples(&t.gather, p);
	if (rc == 0)
		rc = add_counters(&t);
	gpu_gather_done(&t.gather);
	return rc == -ENODATA ? 0 : rc;
}
