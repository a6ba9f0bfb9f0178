/* Driver readings as counters of a trace. */
#include "query/gpu/gpu_beside.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "format/common/format.h"
#include "gpu/device/metric.h"
#include "profile/copy.h"
#include "profile/profile.h"
#include "profile/sum.h"
#include "query/gpu/gpu_gather.h"
#include "query/query.h"
#include "query/source.h"
#include "store/codec/metric_samples.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- counters: gauges of gpu/device/metric.h that change, a track for each GPU --- */

#define PREFIX "hw_gpu_"

/* --- names ------------------------------------------------------------------------------------ */

static const struct gpu_metric_row *find_row(const struct profile *p, const char *metric,
					     uint32_t labels)
{
	for (int i = 0; i < GPU_METRICS; i++) {
		const struct gpu_metric_row *row = &gpu_metrics[i];
		if (!row->is_counter && !row->is_slow && strcmp(row->name, metric) == 0 &&
		    (!row->key || strcmp(gpu_label_text(p, labels, row->key), row->value) == 0))
			return row;
	}
	return NULL;
}

static char *track_name(const struct profile *p, uint32_t labels)
{
	const char *host = gpu_label_text(p, labels, "host");
	struct buf b = { 0 };
	buf_addf(&b, "GPU %s", gpu_label_text(p, labels, "gpu"));
	if (*host)
		buf_addf(&b, " of %s", host);
	buf_adds(&b, " by its driver");
	char *name = xstrdup(buf_cstr(&b));
	buf_done(&b);
	return name;
}

static char *counter_name(const struct gpu_metric_row *row)
{
	struct buf b = { 0 };
	const char *name = row->name;
	name += strncmp(name, PREFIX, strlen(PREFIX)) == 0 ? strlen(PREFIX) : 0;
	for (; *name; name++)
		buf_addc(&b, *name == '_' ? ' ' : *name);
	if (row->key)
		buf_addf(&b, " %s", row->value);
	if (strcmp(row->unit, "1") != 0)
		buf_addf(&b, " (%s)", row->unit);
	char *text = xstrdup(buf_cstr(&b));
	buf_done(&b);
	return text;
}

/* --- order ------------------------------------------------------------------------------------ */

static int compare_counters(const void *a, const void *b)
{
	const struct format_counter *x = a, *y = b;
	int order = strverscmp(x->track, y->track);
	order = order ? order : strcmp(x->name, y->name);
	return order ? order
		     : (x->points.v[0].time_ns > y->points.v[0].time_ns) -
			       (x->points.v[0].time_ns < y->points.v[0].time_ns);
}

/* --- of a profile ----------------------------------------------------------------------------- */

static void add_points(const struct reading_series *from, int64_t shift_ns,
		       struct format_counter *to)
{
	struct metric_points points = { 0 };
	for (size_t i = 0; i < from->points.n; i++)
		if (!isnan(from->points.v[i].value))
			vec_push(&points, (struct metric_point){
						  sum_add(from->points.v[i].time_ns, shift_ns),
						  from->points.v[i].value });
	metric_points_order(&points);
	for (size_t i = 0; i < points.n; i++)
		vec_push(&to->points,
			 (struct format_counter_point){ points.v[i].time_ns, points.v[i].value });
	vec_done(&points);
}

/* A row has one point at a time, and a GPU and metric have one row, unless labels of the host have
 * changed: then each is a separate counter. */
void gpu_counters_of_profile(const struct profile *p, struct format_counters *out)
{
	int64_t shift_ns = sum_sub(p->meta.start_wall_ns, p->meta.start_mono_ns);
	for (size_t i = 0; i < p->readings.all.n; i++) {
		const struct reading_series *r = &p->readings.all.v[i];
		const struct gpu_metric_row *row =
			find_row(p, profile_str(p, r->key.name), r->key.labels);
		struct format_counter c = { 0 };
		if (row)
			add_points(r, shift_ns, &c);
		if (!c.points.n)
			continue;
		c.track = track_name(p, r->key.labels);
		c.name = counter_name(row);
		vec_push(&out->all, c);
	}
	if (out->all.n)
		qsort(out->all.v, out->all.n, sizeof *out->all.v, compare_counters);
}

struct tracks {
	struct gpu_gather gather;
	struct profile *p;
	struct profile_copy copy; /* of the catalog */
	struct err *err;
};

/* --- samples ---------------------------------------------------------------------------------- */

/* Adds samples without changing the range of the response. */
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

/* --- readings --------------------------------------------------------------------------------- */

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

/* Times of the response and of points are both the source's. */
static int add_readings(struct tracks *t, uint32_t series)
{
	const struct profile *from = t->gather.catalog;
	const struct series *s = &from->series.series.v[series];
	const char *metric = profile_str(from, from->series.types.v[s->type].name);
	struct metric_points points = { 0 };
	if (!gpu_gather_is_metric(&t->gather, series, metric) || !find_row(from, metric, s->labels))
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
