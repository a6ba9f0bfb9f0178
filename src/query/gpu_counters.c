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

bool gpu_counter_name(const struct profile *p, const char *metric, uint32_t labels,
		      struct format_counter *c)
{
	const struct gpu_metric_row *row = find_row(p, metric, labels);
	if (!row)
		return false;
	c->track = track_name(p, labels);
	c->name = counter_name(row);
	return true;
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

void gpu_counters_order(struct format_counters *c)
{
	if (c->all.n)
		qsort(c->all.v, c->all.n, sizeof *c->all.v, compare_counters);
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

void gpu_counters_of_profile(const struct profile *p, struct format_counters *out)
{
	int64_t shift_ns = sum_sub(p->meta.start_wall_ns, p->meta.start_mono_ns);
	for (size_t i = 0; i < p->readings.all.n; i++) {
		const struct reading_series *r = &p->readings.all.v[i];
		struct format_counter c = { 0 };
		add_points(r, shift_ns, &c);
		if (c.points.n &&
		    gpu_counter_name(p, profile_str(p, r->key.name), r->key.labels, &c))
			vec_push(&out->all, c);
		else
			vec_done(&c.points);
	}
	gpu_counters_order(out);
}
