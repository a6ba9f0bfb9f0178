/* Reads the points of a metric series for a view: from blocks, then from heads. */
#include "store/codec/metric_samples.h"
#include "store/day/view_state.h"

#include "base/vec.h"

static void take_heads(struct store_view *v, const struct view_part *vp, uint32_t series,
		       struct metric_points *out)
{
	pthread_mutex_lock(&v->s->lock);
	const struct heads *heads = vp->kept ? &vp->kept->heads : &vp->sp->heads;
	for (int64_t t = vp->sp->day_ns; t < vp->sp->day_ns + STORE_DAY_NS; t += METRIC_SLOT_NS) {
		uint32_t i = metric_heads_find(&heads->metrics, series, t);
		if (i < vp->points.n) /* otherwise added later */
			vec_append(out, heads->metrics.all.v[i].points.v, vp->points.v[i]);
	}
	pthread_mutex_unlock(&v->s->lock);
}

static int take_part(struct store_view *v, struct view_part *vp, uint32_t series, int64_t from_ns,
		     int64_t to_ns, struct metric_points *out, struct err *err)
{
	struct part_reader *reader;
	int rc = view_reader(v, vp, &reader, err);

	if (rc)
		return view_leave_out(v, vp, rc, err) ? 0 : rc;
	rc = part_read_points(reader->part, series, from_ns, to_ns, out, err);
	if (rc == 0)
		take_heads(v, vp, series, out);
	return rc;
}

/* The pieces of a day may have points of the same hours. */
static bool ends_day(const struct store_view *v, size_t i)
{
	return i + 1 == v->parts.n || v->parts.v[i + 1].sp->day_ns != v->parts.v[i].sp->day_ns;
}

int store_points(struct store_view *v, uint32_t series, int64_t from_ns, int64_t to_ns,
		 int (*points)(void *ctx, const struct metric_point *points, size_t n), void *ctx,
		 struct err *err)
{
	struct metric_points day = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < v->parts.n; i++) {
		rc = view_check_stop(v, err);
		if (rc == 0 && view_part_touches(&v->parts.v[i], from_ns, to_ns))
			rc = take_part(v, &v->parts.v[i], series, from_ns, to_ns, &day, err);
		if (rc || !ends_day(v, i))
			continue;
		/* Sort and clip. */
		size_t kept = 0;
		metric_points_order(&day);
		for (size_t k = 0; k < day.n; k++)
			if (day.v[k].time_ns >= from_ns && day.v[k].time_ns < to_ns)
				day.v[kept++] = day.v[k];
		day.n = kept;
		rc = day.n ? points(ctx, day.v, day.n) : 0;
		vec_clear(&day);
	}
	vec_done(&day);
	return rc;
}
