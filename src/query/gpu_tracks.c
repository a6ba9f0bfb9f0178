#include "query/gpu_tracks.h"

#include "profile/copy.h"
#include "query/gpu_counters.h"
#include "query/gpu_gather.h"

#include <errno.h>

struct tracks {
	struct gpu_gather gather;
	struct profile *p;
	struct profile_copy copy; /* of the catalog */
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

/* --- readings ------------------------------------------------------------------------------------ */

static int put_points(struct tracks *t, uint32_t series, const struct metric_points *points)
{
	const struct profile *from = t->gather.catalog;
	const struct series *s = &from->series.series.v[series];
	const struct type *type = &from->series.types.v[s->type];
	struct sink *sink = profile_sink(t->p);
	const struct reading_key key = { profile_copy_string(&t->copy, type->name),
					 profile_copy_string(&t->copy, type->unit),
					 profile_copy_labels(&t->copy, s->labels), false };
	for (size_t i = 0; i < points->n; i++) {
		const struct reading_point point = { points->v[i].time_ns, points->v[i].value };
		sink->ops->readings(sink, &key, &point, 1);
	}
	return guard_memory(&t->gather.guard, sink->ops->kept_bytes(sink), t->err);
}

/* Times of an answer are its source's, and so are those of points. */
static int add_readings(struct tracks *t, uint32_t series)
{
	const struct profile *from = t->gather.catalog;
	const struct series *s = &from->series.series.v[series];
	const char *metric = profile_str(from, from->series.types.v[s->type].name);
	struct metric_points points = { 0 };
	if (!gpu_gather_is_metric(&t->gather, series, metric) ||
	    !gpu_counter_shows(from, metric, s->labels))
		return 0;
	int rc = gpu_gather_points(&t->gather, series, 0, &points);
	if (rc == 0 && points.n)
		rc = put_points(t, series, &points);
	vec_done(&points);
	return rc;
}

static int add_all_readings(struct tracks *t)
{
	int rc = 0;
	if (!t->gather.q->source->ops->points)
		return 0;
	profile_copy_init(&t->copy, t->gather.catalog, t->p);
	for (uint32_t i = 0; rc == 0 && i < t->gather.catalog->series.series.n; i++)
		rc = add_readings(t, i);
	profile_copy_done(&t->copy);
	return rc;
}

int query_gpu_tracks(const struct query *q, struct profile *p, struct err *err)
{
	struct tracks t = { .p = p, .err = err };
	int rc = gpu_gather_init(&t.gather, q, err);
	if (rc == 0)
		rc = add_samples(&t.gather, p);
	if (rc == 0)
		rc = add_all_readings(&t);
	gpu_gather_done(&t.gather);
	return rc == -ENODATA ? 0 : rc;
}
