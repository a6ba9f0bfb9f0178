/* tests/unit/store_numbered.h: checks that a store has the points and the exact samples that follow from the numbers of batches, each once, and no
 * others. */
#ifndef CRESSET_TESTS_STORE_NUMBERED_H
#define CRESSET_TESTS_STORE_NUMBERED_H

#include "store_witness.h"
#include "store_world.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "store/codec/metric_samples.h"

struct numbered_batches {
	struct profile *(*batch)(uint64_t number);
	void (*points)(struct profile *batch, uint64_t number, struct metric_samples *out);
	uint64_t reach; /* at least this many earlier batches have samples in hot hours */
};

/* --- points ----------------------------------------------------------------------------------- */

/* Points of one series and moment: all batches with it agree except in the value, and the last one counts. */
static inline void put_point(struct tally *t, uint64_t series, int64_t time_ns, double value)
{
	uint64_t key = row_key(series, 0, time_ns);

	tally_add(t, key, (int64_t)(value * 2) - tally_get(t, key));
}

static inline void tally_points_of(struct tally *t, const struct numbered_batches *b,
				   uint64_t number, int64_t kept_ns)
{
	struct profile *p = b->batch(number);
	struct metric_samples points = { 0 };

	b->points(p, number, &points);
	for (size_t i = 0; i < points.n; i++)
		if (points.v[i].time_ns >= kept_ns)
			put_point(t, series_text_hash(p, points.v[i].series), points.v[i].time_ns,
				  points.v[i].value);
	vec_done(&points);
	profile_free(p);
}

struct points_of {
	struct tally *t;
	uint64_t series;
	int64_t last_ns;
};

static inline int take_points(void *ctx, const struct metric_point *points, size_t n)
{
	struct points_of *of = ctx;

	for (size_t i = 0; i < n; i++) {
		ck_assert_int_gt(points[i].time_ns, of->last_ns); /* none twice */
		of->last_ns = points[i].time_ns;
		put_point(of->t, of->series, points[i].time_ns, points[i].value);
	}
	return 0;
}

static inline void check_points(struct store_view *v, const struct numbered_batches *b,
				uint64_t last, int64_t kept_ns)
{
	const struct profile *p = store_view_catalog(v);
	struct tally want = { 0 }, have = { 0 };
	struct err err = { 0 };

	for (uint64_t i = 1; i <= last; i++)
		tally_points_of(&want, b, i, kept_ns);
	for (uint32_t id = 0; id < p->series.series.n; id++) {
		struct points_of of = { &have, series_text_hash(p, id), INT64_MIN };
		ck_assert_msg(store_points(v, id, kept_ns, INT64_MAX, take_points, &of, &err) == 0,
			      "%s", err.text);
	}
	ck_assert_uint_eq(tally_diff(&want, &have), 0);
	tally_done(&want);
	tally_done(&have);
}

/* --- exact samples ---------------------------------------------------------------------------- */

struct exact {
	const struct profile *catalog;
	struct tally rows;
	struct map hours; /* that have any */
};

static inline int take_exact(void *ctx, const struct store_row *row)
{
	struct exact *e = ctx;
	uint64_t series = series_text_hash(e->catalog, row->series);

	if (row->is_window)
		return 0;
	map_put(&e->hours, (uint64_t)(row->time_ns / HOUR_NS), 1);
	tally_add(&e->rows, row_key(series, stack_text_hash(row->dict, row->stack), row->time_ns),
		  row->value);
	return 0;
}

static inline void tally_exact(struct tally *t, const struct numbered_batches *b,
			       const struct map *hours, uint64_t number)
{
	struct profile *p = b->batch(number);
	const struct sample_columns *c = &p->samples;

	for (size_t i = 0; i < c->n; i++)
		if (map_get(hours, (uint64_t)(c->time_ns[i] / HOUR_NS)))
			tally_add(t,
				  row_key(series_text_hash(p, c->series[i]),
					  stack_text_hash(p, c->stack[i]), c->time_ns[i]),
				  c->value[i]);
	profile_free(p);
}

/* Any hour that is there is complete, and hour_ns's hour is there; 0: none needs to be. */
static inline void check_exact(struct store_view *v, const struct numbered_batches *b,
			       uint64_t last, int64_t hour_ns)
{
	struct exact have = { .catalog = store_view_catalog(v) };
	struct tally want = { 0 };
	struct err err = { 0 };

	ck_assert_msg(store_whole_rows(v, NULL, 0, INT64_MAX, take_exact, &have, &err) == 0, "%s",
		      err.text);
	ck_assert(!hour_ns || map_get(&have.hours, (uint64_t)(hour_ns / HOUR_NS)));
	for (uint64_t i = last > b->reach ? last - b->reach : 1; i <= last; i++)
		tally_exact(&want, b, &have.hours, i);
	ck_assert_uint_eq(tally_diff(&want, &have.rows), 0);
	tally_done(&want);
	tally_done(&have.rows);
	map_done(&have.hours);
}

/* Checks points and exact samples of all batches up to `last`. */
static inline void check_numbered(struct store *s, const struct numbered_batches *b, uint64_t last,
				  int64_t hour_ns)
{
	struct store_view *v;

	ck_assert_int_eq(store_view_open(s, &v, NULL), 0);
	check_points(v, b, last, s->kept_from_ns);
	check_exact(v, b, last, hour_ns);
	store_view_close(v);
}

#endif
