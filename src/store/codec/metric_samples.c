/* Sorts points by series, and encodes them. */
#include "store/codec/metric_samples.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/radix.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/strtab.h"
#include "profile/sum.h"

#include <errno.h>

/* --- series ----------------------------------------------------------------------------------- */

uint32_t metric_series(struct profile *p, const char *name, const char *unit, enum metric_kind kind,
		       uint32_t labels)
{
	bool is_counter = kind == METRIC_COUNTER;
	const struct type type = {
		.name = strtab_put(&p->strings, name),
		.sample_type = strtab_put(&p->strings, is_counter ? "counter" : "gauge"),
		.unit = strtab_put(&p->strings, unit),
		.aggregation = is_counter ? AGG_COUNTER : AGG_GAUGE,
	};
	const struct series series = { .type = type_intern(&p->series, &type), .labels = labels };

	return series_intern(&p->series, &series);
}

uint32_t metric_series_of_reading(struct profile *p, const struct reading_key *key)
{
	return metric_series(p, profile_str(p, key->name), profile_str(p, key->unit),
			     key->is_counter ? METRIC_COUNTER : METRIC_GAUGE, key->labels);
}

void metric_samples_add_readings(struct profile *p, struct reading_place *at,
				 struct metric_samples *out)
{
	const struct readings *all = &p->readings;
	int64_t shift_ns =
		p->meta.start_wall_ns ? sum_sub(p->meta.start_wall_ns, p->meta.start_mono_ns) : 0;

	while (at->series < all->all.n && out->n < METRIC_MAX_BATCH_POINTS) {
		const struct reading_series *r = &all->all.v[at->series];
		uint32_t series = metric_series_of_reading(p, &r->key);
		for (; at->point < r->points.n && out->n < METRIC_MAX_BATCH_POINTS; at->point++) {
			const struct reading_point *point = &r->points.v[at->point];
			vec_push(out,
				 (struct metric_sample){ series, sum_add(point->time_ns, shift_ns),
							 point->value });
		}
		if (at->point == r->points.n)
			*at = (struct reading_place){ .series = at->series + 1 };
	}
}

int metric_samples_check(const struct metric_samples *m, const struct profile *p, struct err *err)
{
	const struct series_table *t = &p->series;

	if (m && m->n > METRIC_MAX_BATCH_POINTS)
		return err_set(err, EINVAL, "more than %d points of metrics in one batch",
			       METRIC_MAX_BATCH_POINTS);
	for (size_t i = 0; m && i < m->n; i++) {
		uint32_t id = m->v[i].series;
		if (id >= t->series.n || !type_is_metric(&t->types.v[t->series.v[id].type]))
			return err_set(err, EINVAL,
				       "a metric point in a series that is not a metric");
	}
	return 0;
}

/* --- order ------------------------------------------------------------------------------------ */

static bool is_ordered(const struct metric_points *p)
{
	for (size_t i = 1; i < p->n; i++)
		if (p->v[i - 1].time_ns >= p->v[i].time_ns)
			return false;
	return true;
}

static uint64_t time_key(int64_t time_ns)
{
	return (uint64_t)time_ns ^ 1ull << 63;
}

void metric_points_order(struct metric_points *p)
{
	size_t kept = 0;

	if (is_ordered(p))
		return;
	struct radix_key *room = xreallocarray(NULL, p->n, 2 * sizeof *room);
	struct metric_point *sorted = xreallocarray(NULL, p->n, sizeof *sorted);
	for (size_t i = 0; i < p->n; i++)
		room[i] = (struct radix_key){ time_key(p->v[i].time_ns), i };
	const struct radix_key *keys = radix_sort(room, p->n);
	for (size_t i = 0; i < p->n; i++)
		if (i + 1 == p->n || keys[i].key != keys[i + 1].key)
			sorted[kept++] = p->v[keys[i].row];
	free(room);
	free(p->v);
	*p = (struct metric_points){ sorted, kept, p->n };
}

/* --- encoding --------------------------------------------------------------------------------- */

static void put_number(struct buf *out, uint64_t v)
{
	char bytes[VARINT_MAX_BYTES];

	buf_add(out, bytes, varint_write(bytes, v));
}

void metric_samples_encode(const struct metric_samples *m, struct buf *out)
{
	struct radix_key *room = xreallocarray(NULL, m->n + 1, 2 * sizeof *room);
	struct metric_points points = { 0 };
	struct buf block = { 0 };

	for (size_t i = 0; i < m->n; i++)
		room[i] = (struct radix_key){ m->v[i].series, i };
	const struct radix_key *keys = radix_sort(room, m->n);
	for (size_t i = 0; i < m->n;) {
		uint64_t series = keys[i].key;
		vec_clear(&points);
		for (; i < m->n && keys[i].key == series; i++) {
			const struct metric_sample *s = &m->v[keys[i].row];
			vec_push(&points, (struct metric_point){ s->time_ns, s->value });
		}
		metric_points_order(&points);
		buf_clear(&block);
		metric_encode(points.v, points.n, &block);
		put_number(out, (uint32_t)series);
		put_number(out, block.len);
		buf_add(out, block.data, block.len);
	}
	buf_done(&block);
	vec_done(&points);
	free(room);
}

static bool get_run(struct cur *in, struct metric_points *points, struct metric_samples *out)
{
	uint64_t series = cur_varint(in), len = cur_varint(in);
	const void *block = len <= cur_left(in) ? cur_take(in, len) : NULL;

	vec_clear(points);
	if (in->bad || !block || series >= UINT32_MAX || metric_decode(block, len, points, NULL))
		return false;
	if (out->n + points->n > METRIC_MAX_BATCH_POINTS)
		return false;
	for (size_t i = 0; i < points->n; i++)
		vec_push(out, (struct metric_sample){ (uint32_t)series, points->v[i].time_ns,
						      points->v[i].value });
	return true;
}

bool metric_samples_decode(struct cur in, struct metric_samples *out)
{
	struct metric_points points = { 0 };
	bool ok = true;

	while (ok && cur_left(&in))
		ok = get_run(&in, &points, out);
	vec_done(&points);
	return ok && !in.bad;
}
