#include "query/gpu_tracks.h"

#include "base/buf.h"
#include "gpu/metric.h"
#include "query/gpu_gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "hw_gpu_"

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

static bool is_of_row(const struct tracks *t, uint32_t series, const struct gpu_metric_row *row)
{
	return !row->is_counter && !row->is_slow &&
	       gpu_gather_is_metric(&t->gather, series, row->name) &&
	       (!row->key ||
		strcmp(gpu_gather_label(&t->gather, series, row->key), row->value) == 0);
}

static char *track_name(const struct tracks *t, uint32_t series)
{
	const char *host = gpu_gather_label(&t->gather, series, "host");
	struct buf b = { 0 };
	buf_addf(&b, "GPU %s", gpu_gather_label(&t->gather, series, "gpu"));
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

/* No two points of a moment are in a series, and no two series are of one GPU and row, but where labels of a host's changed meanwhile: each is a counter of
 * its own then. */
static int add_counter(struct tracks *t, uint32_t series, const struct gpu_metric_row *row)
{
	struct format_counter c = { 0 };
	struct metric_points points = { 0 };
	int rc = gpu_gather_points(&t->gather, series, 0, &points);
	for (size_t i = 0; i < points.n; i++)
		vec_push(&c.points,
			 (struct format_counter_point){ points.v[i].time_ns, points.v[i].value });
	vec_done(&points);
	t->points += c.points.n;
	rc = rc ? rc : guard_memory(&t->gather.guard, t->points * sizeof *c.points.v, t->err);
	if (rc || !c.points.n) {
		vec_done(&c.points);
		return rc;
	}
	c.track = track_name(t, series);
	c.name = counter_name(row);
	vec_push(&t->out->all, c);
	return 0;
}

static int compare_counters(const void *a, const void *b)
{
	const struct format_counter *x = a, *y = b;
	int order = strverscmp(x->track, y->track);
	order = order ? order : strcmp(x->name, y->name);
	return order ? order
		     : (x->points.v[0].time_ns > y->points.v[0].time_ns) -
			       (x->points.v[0].time_ns < y->points.v[0].time_ns);
}

static int add_counters(struct tracks *t)
{
	int rc = 0;
	if (!t->gather.q->source->ops->points)
		return 0;
	for (uint32_t i = 0; i < t->gather.catalog->series.series.n; i++)
		for (int k = 0; rc == 0 && k < GPU_METRICS; k++)
			if (is_of_row(t, i, &gpu_metrics[k]))
				rc = add_counter(t, i, &gpu_metrics[k]);
	if (t->out->all.n)
		qsort(t->out->all.v, t->out->all.n, sizeof *t->out->all.v, compare_counters);
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
