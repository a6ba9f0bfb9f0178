// tier: test
/* Matrices of time compared with sums and with --time, which cuts the same samples another way. */
#include "random_profile.h"
#include "unit.h"

#include "base/buf.h"
#include "base/err.h"
#include "profile/profile.h"
#include "profile/tree/heatmap.h"
#include "profile/tree/time_range.h"
#include "profile/tree/tree.h"

#include <errno.h>

#define SECOND (1000000000ll)
#define MS     (1000000ll)
static const struct random_shape WAITS = { .n_stacks = 60, .n_samples = 400, .waits = true };

/* The random profile's microsecond becomes most of a minute; its clock still starts at 5000. */
static struct random_profile stretched(uint64_t seed, int64_t factor)
{
	struct random_profile r = random_profile(seed, WAITS);
	for (size_t i = 0; i < r.p->samples.n; i++) {
		struct sample_columns *c = &r.p->samples;
		c->time_ns[i] = 5000 + (c->time_ns[i] - 5200) * factor;
		c->length_ns[i] *= factor;
	}
	return r;
}

static struct heatmap built(struct profile *p, const struct tree_opts *o, uint32_t columns)
{
	struct heatmap h;
	struct err err = { 0 };
	ck_assert_msg(heatmap_build(p, o, columns, &h, &err) == 0, "%s", err.text);
	ck_assert_uint_le(h.columns, columns);
	ck_assert_uint_gt(h.columns, 0);
	ck_assert_int_eq(h.column_ns, h.row_ns * HEATMAP_ROWS);
	ck_assert_int_le(h.start_ns, h.from_ns);
	return h;
}

static int64_t sum_of(const struct heatmap *h)
{
	int64_t sum = h->outside;
	for (size_t i = 0; i < (size_t)h->columns * HEATMAP_ROWS; i++)
		sum += h->cells[i];
	return sum;
}

/* Of a type in a range. */
static int64_t total_in(struct profile *p, struct tree_opts o, int64_t from, int64_t to)
{
	struct tree *t = NULL;
	struct err err = { 0 };
	o.time_from_ns = from;
	o.time_to_ns = to;
	ck_assert_int_eq(tree_build(p, &o, &t, &err), 0);
	int64_t total = t->nodes.v[TREE_ROOT].total;
	tree_free(t);
	return total;
}

START_TEST(all_cells_are_the_total)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct random_profile r = stretched(seed, seed % 3 ? 40000000 : 977);
		struct tree_opts o = { .type = seed % 2 ? r.cpu : r.alloc };
		uint32_t columns = 2 + rng_below(&r.rng, seed % 5 ? 30 : 1000);
		if (seed % 4 == 0)
			o.focus = "fn_0";
		if (seed % 3 == 0)
			o.time_from_ns = rng_below(&r.rng, 20) * SECOND / 3;
		if (seed % 7 == 0)
			o.time_to_ns = o.time_from_ns + 1 + rng_below(&r.rng, 20 * SECOND);
		struct heatmap h = built(r.p, &o, columns);
		ck_assert_int_eq(sum_of(&h), h.tree->nodes.v[TREE_ROOT].total);
		for (size_t i = 0; i < (size_t)h.columns * HEATMAP_ROWS; i++)
			ck_assert_int_le(h.cells[i], h.max);
		heatmap_done(&h);
		profile_free(r.p);
	}
}
END_TEST

/* A cell equals the result of --time with its text, except for rounding: at most one per sample. */
START_TEST(a_cell_is_its_time_range)
{
	struct random_profile r = stretched(5, 3000000);
	struct tree_opts o = { .type = r.cpu };
	struct heatmap h = built(r.p, &o, 20);
	ck_assert_int_eq(h.column_ns, SECOND);
	for (uint32_t column = 0; column < h.columns; column++)
		for (uint32_t row = 0; row < HEATMAP_ROWS; row++) {
			int64_t from, to;
			if (!heatmap_cell_range(&h, column, row, &from, &to)) {
				ck_assert_int_eq(heatmap_cell(&h, column, row), 0);
				continue;
			}
			ck_assert_int_ge(from, column * SECOND + row * 20 * MS);
			ck_assert_int_le(to, column * SECOND + (row + 1) * 20 * MS);
			if (!from) /* 0 includes samples before the start */
				continue;
			int64_t want = total_in(r.p, o, from, to);
			int64_t got = heatmap_cell(&h, column, row);
			ck_assert_int_le(llabs(want - got), (int64_t)r.p->samples.n);
		}
	heatmap_done(&h);
	profile_free(r.p);
}
END_TEST

static void put(struct random_profile *r, int64_t at, int64_t length, int64_t value)
{
	struct sample s = { .time_ns = 5000 + at,
			    .length_ns = length,
			    .value = value,
			    .series = r->series[3],
			    .stack = 1 };
	r->p->sink.ops->sample(&r->p->sink, &s);
}

START_TEST(known_cells)
{
	struct random_profile r = random_profile(1, (struct random_shape){ .n_stacks = 3 });
	struct tree_opts o = { .type = r.alloc };
	r.p->meta.duration_ns = 3 * SECOND;
	put(&r, 1030 * MS, 0, 5);          /* second 1, 20 … 40 ms */
	put(&r, 1039999999, 0, 2);         /* the same cell's last nanosecond */
	put(&r, 1040 * MS, 0, 1);          /* the next one */
	put(&r, 1990 * MS, 20 * MS, 20);   /* half in the last cell of 1, half in the first of 2 */
	put(&r, 2100 * MS, 100 * MS, 102); /* five whole cells */
	put(&r, -1000 * MS, 1010 * MS, 101); /* 100 before the start, 1 behind it */
	put(&r, -1, 0, 7);
	struct heatmap h = built(r.p, &o, 10);
	ck_assert_uint_eq(h.columns, 3);
	ck_assert_int_eq(heatmap_cell(&h, 1, 1), 7);
	ck_assert_int_eq(heatmap_cell(&h, 1, 2), 1);
	ck_assert_int_eq(heatmap_cell(&h, 1, 49), 10);
	ck_assert_int_eq(heatmap_cell(&h, 2, 0), 10);
	static const int64_t five[] = { 20, 21, 20, 20, 21 }; /* both ends by themselves */
	for (uint32_t row = 5; row < 10; row++)
		ck_assert_int_eq(heatmap_cell(&h, 2, row), five[row - 5]);
	ck_assert_int_eq(heatmap_cell(&h, 0, 0), 1);
	ck_assert_int_eq(h.outside, 107);
	ck_assert_int_eq(h.max, 21);
	heatmap_done(&h);
	o.time_from_ns = 1500 * MS;
	o.time_to_ns = 2040 * MS;
	h = built(r.p, &o, 10);
	ck_assert_int_eq(h.start_ns, SECOND);
	ck_assert_uint_eq(h.columns, 2);
	ck_assert_int_eq(sum_of(&h), 20);
	int64_t from, to;
	ck_assert(!heatmap_cell_range(&h, 0, 24, &from, &to));
	ck_assert(heatmap_cell_range(&h, 0, 25, &from, &to));
	ck_assert(heatmap_cell_range(&h, 1, 1, &from, &to));
	ck_assert_int_eq(to, 2040 * MS);
	ck_assert(!heatmap_cell_range(&h, 1, 2, &from, &to));
	heatmap_done(&h);
	profile_free(r.p);
}
END_TEST

/* Whatever times a file has, and however long its waits are. */
START_TEST(columns_get_wider)
{
	static const int64_t ends[] = { 1,
					SECOND,
					SECOND + 1,
					100 * SECOND,
					86400 * SECOND,
					40000000 * SECOND,
					INT64_MAX - 6000 };
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		struct random_profile r = random_profile(1, (struct random_shape){ .n_stacks = 3 });
		for (int k = 0; k < 1000; k++)
			put(&r, k % 2, ends[i] - k % 2, 12345 + k);
		put(&r, ends[i] - 1, 0, 1);
		for (uint32_t columns = 2; columns < HEATMAP_MAX_COLUMNS; columns *= 3) {
			struct tree_opts o = { .type = r.alloc };
			struct heatmap h = built(r.p, &o, columns);
			ck_assert_int_eq(sum_of(&h), h.tree->nodes.v[TREE_ROOT].total);
			ck_assert(h.columns > columns / 4 || h.column_ns == SECOND);
			heatmap_done(&h);
		}
		profile_free(r.p);
	}
}
END_TEST

START_TEST(hostile_times_are_harmless)
{
	static const int64_t odd[] = { 0,    1,        -1, INT64_MIN, INT64_MAX, INT64_MIN + 1,
				       5000, 1ll << 62 };
	enum { N = sizeof odd / sizeof *odd };
	struct random_profile r = random_profile(1, (struct random_shape){ .n_stacks = 3 });
	for (int i = 0; i < N * N * N; i++) {
		put(&r, 0, odd[i / N % N], odd[i / N / N]);
		r.p->samples.time_ns[i] = odd[i % N];
	}
	for (int i = 0; i < N; i++) {
		struct tree_opts o = { .type = r.alloc, .time_from_ns = odd[i] < 0 ? 0 : odd[i] };
		struct heatmap h = built(r.p, &o, 400);
		heatmap_done(&h);
		r.p->meta.start_mono_ns = odd[i];
		h = built(r.p, &o, 400);
		heatmap_done(&h);
	}
	profile_free(r.p);
}
END_TEST

START_TEST(nothing_is_an_empty_second)
{
	struct random_profile r = random_profile(1, (struct random_shape){ 0 });
	struct heatmap h = built(r.p, &(struct tree_opts){ .type = r.cpu }, 10);
	ck_assert_uint_eq(h.columns, 1);
	ck_assert_int_eq(h.max, 0);
	heatmap_done(&h);
	struct err err = { 0 };
	ck_assert_int_eq(heatmap_build(r.p, &(struct tree_opts){ .focus = "(" }, 10, &h, &err),
			 -EINVAL);
	profile_free(r.p);
}
END_TEST

/* The text in the form of --time. */
START_TEST(ranges_are_exact)
{
	static const struct {
		int64_t from, to;
		const char *text;
	} cases[] = {
		{ 0, 20 * MS, "0s-0.02s" },
		{ 3 * SECOND, 10 * SECOND, "3s-10s" },
		{ 1, 1000000001, "0.000000001s-1.000000001s" },
		{ 1500 * MS, INT64_MAX, "1.5s-9223372036.854775807s" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf b = { 0 };
		time_range_text(&b, cases[i].from, cases[i].to);
		ck_assert_str_eq(buf_cstr(&b), cases[i].text);
		buf_done(&b);
	}
}
END_TEST

UNIT_MAIN("heatmap", all_cells_are_the_total, a_cell_is_its_time_range, known_cells,
	  columns_get_wider, hostile_times_are_harmless, nothing_is_an_empty_second,
	  ranges_are_exact)
