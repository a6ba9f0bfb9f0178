// tier: test
#include "unit.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "rand.h"
#include "store/codec/metric.h"
#include "store/codec/metric_steps.h"

#include <errno.h>
#include <math.h>

static void check_same(const struct metric_point *a, const struct metric_point *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		ck_assert_int_eq(a[i].time_ns, b[i].time_ns);
		ck_assert_mem_eq(&a[i].value, &b[i].value, sizeof(double)); /* NaN, too */
	}
}

/* Returns the number of bytes used. */
static size_t check_points(const struct metric_point *points, size_t n)
{
	struct buf b = { 0 };
	struct metric_points back = { 0 };
	struct err err = { 0 };
	vec_push(&back, (struct metric_point){ 1, 2 }); /* it appends */
	metric_encode(points, n, &b);
	ck_assert_int_eq(metric_decode(b.data, b.len, &back, &err), 0);
	ck_assert_uint_eq(back.n, n + 1);
	check_same(back.v + 1, points, n);
	size_t len = b.len;
	buf_done(&b);
	vec_done(&back);
	return len;
}

static double random_value(struct rng *r, double before)
{
	static const double odd[] = {
		0, -0.0, INFINITY, -INFINITY, NAN, 5e-324, 1.7976931348623157e308
	};
	uint64_t bits = rng_next(r);
	double any;
	memcpy(&any, &bits, sizeof any);
	switch (rng_below(r, 6)) {
	case 0:
		return odd[rng_below(r, sizeof odd / sizeof *odd)];
	case 1:
		return any;
	case 2:
		return before;
	case 3:
		return before + 1;
	default:
		return rng_below(r, 10000) / 100.0;
	}
}

START_TEST(points_come_back)
{
	static const int64_t units[] = { 1, 10, 1000, 1000000, 1000000000, 60000000000 };
	struct metric_point points[600];
	struct rng r = { 7 };
	for (int round = 0; round < 2000; round++) {
		size_t n = rng_below(&r, round % 10 ? 20 : 600);
		int64_t unit = units[rng_below(&r, 6)],
			t = (int64_t)(rng_next(&r) >> 2) * (round % 2 ? 1 : -1);
		uint64_t jitter = 1ull << rng_below(&r, 20);
		double v = 0;
		for (size_t i = 0; i < n; i++) {
			points[i] = (struct metric_point){ t, v = random_value(&r, v) };
			t += unit * (int64_t)(1 + rng_below(&r, jitter));
		}
		check_points(points, n);
	}
}
END_TEST

START_TEST(times_at_both_ends_come_back)
{
	const struct metric_point ends[] = {
		{ INT64_MIN, 1 }, { -1, 2 }, { 0, 3 }, { INT64_MAX - 1, 4 }, { INT64_MAX, 5 }
	};
	const struct metric_point far[] = { { INT64_MIN, 1 }, { INT64_MAX, 1 } };
	const struct metric_point seconds[] = { { -5000000001, 1 },
						{ -4000000001, 1 },
						{ 7999999999, 1 } };
	check_points(ends, 5);
	check_points(far, 2);
	check_points(seconds, 3);
}
END_TEST

START_TEST(even_and_still_is_two_bits)
{
	struct metric_point points[3600];
	for (int i = 0; i < 3600; i++)
		points[i] = (struct metric_point){ 1700000000123456789 + i * 1000000000ll, 42.5 };
	/* shape, digits, two bytes of count, a point; 2 + 7 + 1 bits for the step of 1 s; 3598 of two bits */
	ck_assert_uint_eq(check_points(points, 3600), 2 + 2 + 16 + (10 + 3598 * 2 + 7) / 8);
}
END_TEST

/* Written by hand from src/store/codec/metric.h. */
START_TEST(known_bytes)
{
	const struct metric_point points[] = { { 2000, 1.0 }, { 5000, 1.0 }, { 9000, 2.0 } };
	/* 2000; 1.0; a step of 3: 10 0000110, no XOR: 0; a step of 1 more: 10 0000010, the XOR 0x7ff0…: 11 00001 001010 11111111111 */
	const uint8_t want[] = { 1, 3, 3, 0, 0, 0, 0,    0,    0,    7,    0xd0, 0x3f, 0xf0,
				 0, 0, 0, 0, 0, 0, 0x83, 0x20, 0x58, 0x4a, 0xff, 0xe0 };
	struct buf b = { 0 };
	metric_encode(points, 3, &b);
	ck_assert_uint_eq(b.len, sizeof want);
	ck_assert_mem_eq(b.data, want, sizeof want);
	buf_done(&b);
}
END_TEST

/* A copy of exactly its size, so that a sanitizer sees an overread. */
static int decode_copy(const char *data, size_t len, struct metric_points *out)
{
	char *copy = malloc(len + !len);
	memcpy(copy, data, len);
	int rc = metric_decode(copy, len, out, NULL);
	free(copy);
	return rc;
}

static void check_order(const struct metric_points *p)
{
	for (size_t i = 1; i < p->n; i++)
		ck_assert_int_lt(p->v[i - 1].time_ns, p->v[i].time_ns);
}

START_TEST(damage_is_seen_or_bounded)
{
	struct metric_point points[50];
	struct buf b = { 0 };
	struct rng r = { 3 };
	int64_t t = 12345;
	for (int i = 0; i < 50; i++, t += 1 + rng_below(&r, 100000))
		points[i] = (struct metric_point){ t, random_value(&r, i) };
	metric_encode(points, 50, &b);
	for (size_t len = 0; len < b.len; len++) {
		struct metric_points out = { 0 };
		ck_assert_int_eq(decode_copy(b.data, len, &out), -EBADMSG);
		ck_assert_uint_eq(out.n, 0);
		vec_done(&out);
	}
	buf_addc(&b, 0);
	struct metric_points more = { 0 };
	ck_assert_int_eq(decode_copy(b.data, b.len, &more), -EBADMSG);
	b.len--;
	for (size_t i = 0; i < 8 * b.len; i++) {
		struct metric_points out = { 0 };
		b.data[i / 8] ^= 1 << i % 8;
		int rc = decode_copy(b.data, b.len, &out);
		ck_assert(rc == -EBADMSG || (rc == 0 && out.n <= 4 * b.len));
		check_order(&out);
		b.data[i / 8] ^= 1 << i % 8;
		vec_done(&out);
	}
	vec_done(&more);
	buf_done(&b);
}
END_TEST

/* --- steps --------------------------------------------------------------------------------------- */

enum { STEPS = 12 };

static void reduce(const struct metric_steps_opts *o, const struct metric_point *points, size_t n,
		   double *out)
{
	struct metric_steps s;
	metric_steps_init(&s, o);
	metric_steps_add(&s, points, n / 2); /* as if from two blocks */
	metric_steps_add(&s, points + n / 2, n - n / 2);
	metric_steps_get(&s, out);
	metric_steps_done(&s);
}

struct naive {
	double sum, least, greatest, weight;
};

static void naive_add(struct naive *a, double v)
{
	a->least = a->weight == 0 || v < a->least ? v : a->least;
	a->greatest = a->weight == 0 || v > a->greatest ? v : a->greatest;
	a->sum += v;
	a->weight += 1;
}

static double naive_get(const struct naive *a, enum metric_reduction how)
{
	if (a->weight == 0)
		return NAN;
	return how == METRIC_MIN ? a->least : how == METRIC_MAX ? a->greatest : a->sum / a->weight;
}

/* The increase in this one nanosecond; NaN: it is in none of the pairs. */
static double naive_slope(const struct metric_steps_opts *o, const struct metric_point *p, size_t n,
			  int64_t t)
{
	for (size_t i = 1; i < n; i++) {
		int64_t length = p[i].time_ns - p[i - 1].time_ns;
		if (t < p[i - 1].time_ns || t >= p[i].time_ns ||
		    (o->max_gap_ns && length > o->max_gap_ns))
			continue;
		double grown = p[i].value - p[i - 1].value;
		bool extreme = o->reduction == METRIC_MIN || o->reduction == METRIC_MAX;
		if (o->kind == METRIC_COUNTER && grown < 0 && p[i].value == 0 && extreme)
			continue;
		if (o->kind == METRIC_COUNTER && grown < 0)
			grown = p[i].value;
		return grown / length;
	}
	return NAN;
}

/* Nanosecond by nanosecond. */
static double naive_step(const struct metric_steps_opts *o, const struct metric_point *p, size_t n,
			 size_t step)
{
	struct naive a = { 0 };
	int64_t from = o->from_ns + (int64_t)step * o->step_ns;
	if (o->kind == METRIC_GAUGE && o->reduction != METRIC_RATE) {
		for (size_t i = 0; i < n; i++)
			if (p[i].time_ns >= from && p[i].time_ns < from + o->step_ns)
				naive_add(&a, p[i].value);
		return naive_get(&a, o->reduction);
	}
	for (int64_t t = from; t < from + o->step_ns; t++) {
		double slope = naive_slope(o, p, n, t);
		if (!isnan(slope))
			naive_add(&a, slope);
	}
	return naive_get(&a, o->reduction) * 1e9;
}

static void check_steps(const struct metric_steps_opts *o, const struct metric_point *points,
			size_t n)
{
	double got[STEPS];
	reduce(o, points, n, got);
	for (size_t i = 0; i < STEPS; i++) {
		double want = naive_step(o, points, n, i);
		ck_assert(isnan(got[i]) == isnan(want));
		if (!isnan(want))
			ck_assert_double_le(fabs(got[i] - want), 1e-9 * fabs(want) + 1e-3);
	}
}

START_TEST(steps_equal_a_slow_implementation)
{
	struct rng r = { 11 };
	for (int round = 0; round < 400; round++) {
		struct metric_point points[40];
		size_t n = rng_below(&r, 40);
		int64_t t = rng_below(&r, 60);
		for (size_t i = 0; i < n; i++, t += 1 + rng_below(&r, 20))
			points[i] = (struct metric_point){ t, rng_below(&r, 1000) };
		struct metric_steps_opts o = { .from_ns = 40,
					       .step_ns = 1 + rng_below(&r, 30),
					       .n = STEPS };
		o.max_gap_ns = round % 3 ? 0 : 12;
		for (int kind = 0; kind < 2; kind++)
			for (int how = 0; how < 4; how++) {
				o.kind = kind;
				o.reduction = how;
				check_steps(&o, points, n);
			}
	}
}
END_TEST

START_TEST(a_counter_that_starts_again_loses_nothing)
{
	/* 10 in 1 s, then a reset and 4 in 2 s, nothing for 1 s */
	const struct metric_point p[] = {
		{ 0, 100 }, { 1000000000, 110 }, { 3000000000, 4 }, { 4000000000, 4 }
	};
	const struct metric_steps_opts o = { METRIC_COUNTER, METRIC_RATE, 0, 1000000000, 5, 0 };
	double got[5];
	reduce(&o, p, 4, got);
	ck_assert_double_eq_tol(got[0], 10, 1e-9);
	ck_assert_double_eq_tol(got[1], 2, 1e-9);
	ck_assert_double_eq_tol(got[2], 2, 1e-9);
	ck_assert_double_eq(got[3], 0);
	ck_assert(isnan(got[4]));
}
END_TEST

START_TEST(invalid_or_earlier_points_are_skipped)
{
	const struct metric_point p[] = { { 0, 1 },     { 10, NAN }, { 20, 3 },
					  { 20, 1000 }, { 5, 1000 }, { 30, 5 } };
	struct metric_steps_opts o = { METRIC_GAUGE, METRIC_AVG, 0, 40, 1, 0 };
	double got;
	reduce(&o, p, 6, &got);
	ck_assert_double_eq(got, 3);
	o.reduction = METRIC_RATE;
	reduce(&o, p, 6, &got);
	ck_assert_double_eq_tol(got, 4.0 / 30 * 1e9, 1e-3);
}
END_TEST

UNIT_MAIN("metric", points_come_back, times_at_both_ends_come_back, even_and_still_is_two_bits,
	  known_bytes, damage_is_seen_or_bounded, steps_equal_a_slow_implementation,
	  a_counter_that_starts_again_loses_nothing, invalid_or_earlier_points_are_skipped)
