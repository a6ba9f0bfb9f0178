#include "query/gpu_counters.h"

#include "base/buf.h"
#include "gpu/metric.h"
#include "profile/sum.h"
#include "query/gpu_gather.h"
#include "store/metric_samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "hw_gpu_"

/* --- names --------------------------------------------------------------------------------------- */

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

bool gpu_counter_shows(const struct profile *p, const char *metric, uint32_t labels)
{
	return find_row(p, metric, labels) != NULL;
}

/* --- order --------------------------------------------------------------------------------------- */

static int compare_counters(const void *a, const void *b)
{
	const struct format_counter *x = a, *y = b;
	int order = strverscmp(x->track, y->track);
	order = order ? order : strcmp(x->name, y->name);
	return order ? order
		     : (x->points.v[0].time_ns > y->points.v[0].time_ns) -
			       (x->points.v[0].time_ns < y->points.v[0].time_ns);
}

/* --- of a profile -------------------------------------------------------------------------------- */

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

/* No two points of a moment are in a row, and no two rows are of one GPU and metric, but where labels of a host's changed meanwhile: each is a counter of its own
 * then. */
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
