// tier: test
/* A profile as a source: each operation compared with a loop over all samples. */
#include "random_profile.h"
#include "unit.h"

#include "profile/tree/time_range.h"
#include "profile/tree/tree.h"
#include "query/source.h"

#include <errno.h>

static const struct random_shape WAITS = { .n_stacks = 80, .n_samples = 500, .waits = true };
static const struct random_shape MOMENTS = { .n_stacks = 80, .n_samples = 500 };

/* Some series; a range around the samples, which are at 5000 … 7000 of a clock that began at 5000. */
struct question {
	bool wanted[RANDOM_SERIES];
	int64_t from_ns, to_ns;
};

static struct question ask(struct rng *rng, int64_t start_wall_ns)
{
	struct question q;
	for (int i = 0; i < RANDOM_SERIES; i++)
		q.wanted[i] = rng_below(rng, 2);
	q.from_ns = start_wall_ns - 200 + rng_below(rng, 1500);
	q.to_ns = q.from_ns + rng_below(rng, 1500);
	return q;
}

/* The requested part of a row, by the definition in profile/tree/time_range.h. */
static int64_t naive_value(const struct profile *p, size_t row, const struct question *q)
{
	const struct sample_columns *c = &p->samples;
	int64_t t = c->time_ns[row] - p->meta.start_mono_ns + p->meta.start_wall_ns;
	int64_t length = sample_length_ns(c, row), v = c->value[row];
	if (!q->wanted[c->series[row]])
		return 0;
	if (!length)
		return t >= q->from_ns && t < q->to_ns ? v : 0;
	int64_t a = q->from_ns - t, b = q->to_ns - t;
	a = a < 0 ? 0 : a > length ? length : a;
	b = b < 0 ? 0 : b > length ? length : b;
	return a < b ? v * b / length - v * a / length : 0;
}

static void check_merge(struct source *s, const struct profile *p, const struct question *q)
{
	int64_t *want = calloc(p->stacks.stacks.n, sizeof *want);
	struct source_merged m = { 0 };
	for (size_t row = 0; row < p->samples.n; row++)
		want[p->samples.stack[row]] += naive_value(p, row, q);
	ck_assert_int_eq(s->ops->merge(s, q->wanted, q->from_ns, q->to_ns, &m, NULL), 0);
	ck_assert_uint_eq(m.n, 1);
	for (uint32_t i = 0; i < m.parts[0].n; i++) {
		if (i)
			ck_assert_uint_lt(m.parts[0].stack[i - 1], m.parts[0].stack[i]);
		ck_assert_int_eq(m.parts[0].value[i], want[m.parts[0].stack[i]]);
		want[m.parts[0].stack[i]] = 0;
	}
	for (size_t i = 0; i < p->stacks.stacks.n; i++)
		ck_assert_int_eq(want[i], 0);
	source_merged_done(&m);
	free(want);
}

START_TEST(merges_are_sums_of_rows)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct random_profile r = random_profile(seed, seed % 2 ? WAITS : MOMENTS);
		if (seed % 3)
			r.p->meta.start_wall_ns = 1763717400000000000;
		struct source *s = source_of_profile(r.p);
		for (int i = 0; i < 5; i++) {
			struct question q = ask(&r.rng, r.p->meta.start_wall_ns);
			check_merge(s, r.p, &q);
		}
		source_close(s);
		profile_free(r.p);
	}
}
END_TEST

START_TEST(steps_add_up_to_merges)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct random_profile r = random_profile(seed, seed % 2 ? WAITS : MOMENTS);
		struct source *s = source_of_profile(r.p);
		enum { STEPS = 7 };
		int64_t sums[2 * STEPS] = { 0 }, step_ns = 1 + rng_below(&r.rng, 300);
		uint32_t group[RANDOM_SERIES];
		struct question q = ask(&r.rng, 0);
		for (int i = 0; i < RANDOM_SERIES; i++)
			group[i] = q.wanted[i] ? (uint32_t)i % 2 : UINT32_MAX;
		ck_assert_int_eq(s->ops->steps(s, group, q.from_ns, step_ns, STEPS, sums, NULL), 0);
		for (int i = 0; i < 2 * STEPS; i++) {
			struct question part = { .from_ns = q.from_ns + i % STEPS * step_ns };
			int64_t want = 0;
			part.to_ns = part.from_ns + step_ns;
			for (int k = 0; k < RANDOM_SERIES; k++)
				part.wanted[k] = group[k] == (uint32_t)i / STEPS;
			for (size_t row = 0; row < r.p->samples.n; row++)
				want += naive_value(r.p, row, &part);
			ck_assert_int_eq(sums[i], want);
		}
		source_close(s);
		profile_free(r.p);
	}
}
END_TEST

struct row_check {
	const struct question *q;
	int64_t sum;
	uint32_t n;
};

static int check_row(void *ctx, const struct source_row *row)
{
	struct row_check *c = ctx;
	ck_assert(c->q->wanted[row->series]);
	ck_assert_int_ge(row->time_ns, c->q->from_ns);
	ck_assert_int_le(row->time_ns + row->length_ns, c->q->to_ns);
	c->sum += row->value;
	return ++c->n == 400 ? 77 : 0;
}

START_TEST(rows_equal_those_of_the_range)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct random_profile r = random_profile(seed, WAITS);
		struct source *s = source_of_profile(r.p);
		struct question q = ask(&r.rng, 0);
		struct row_check c = { .q = &q };
		int64_t want = 0;
		for (size_t row = 0; row < r.p->samples.n; row++)
			want += naive_value(r.p, row, &q);
		int rc = s->ops->rows(s, q.wanted, q.from_ns, q.to_ns, check_row, &c, NULL);
		ck_assert_int_eq(rc, c.n == 400 ? 77 : 0);
		if (rc == 0)
			ck_assert_int_eq(c.sum, want);
		source_close(s);
		profile_free(r.p);
	}
}
END_TEST

START_TEST(the_range_holds_everything)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct random_profile r = random_profile(seed, seed % 2 ? WAITS : MOMENTS);
		struct source *s = source_of_profile(r.p);
		struct question q;
		memset(q.wanted, true, sizeof q.wanted);
		s->ops->range(s, &q.from_ns, &q.to_ns);
		int64_t sum = 0, want = 0;
		for (size_t row = 0; row < r.p->samples.n; row++) {
			sum += naive_value(r.p, row, &q);
			want += r.p->samples.value[row];
		}
		ck_assert_int_eq(sum, want);
		check_merge(s, r.p, &q);
		source_close(s);
		profile_free(r.p);
	}
}
END_TEST

START_TEST(without_times_it_is_one_block)
{
	struct random_profile r = random_profile(3, MOMENTS);
	bool wanted[RANDOM_SERIES];
	struct source_merged m = { 0 };
	int64_t total = 0, sum = 0, from_ns, to_ns;
	memset(wanted, true, sizeof wanted);
	memset(r.p->samples.time_ns, 0, r.p->samples.n * sizeof *r.p->samples.time_ns);
	r.p->meta.duration_ns = 1000;
	struct source *s = source_of_profile(r.p);
	ck_assert(s->is_block && s->since_start);
	for (size_t row = 0; row < r.p->samples.n; row++)
		total += r.p->samples.value[row];
	s->ops->range(s, &from_ns, &to_ns);
	ck_assert_int_eq(from_ns, 0);
	ck_assert_int_eq(to_ns, 1000);
	ck_assert_int_eq(s->ops->merge(s, wanted, 999, 2000, &m, NULL), 0);
	for (uint32_t i = 0; i < m.parts[0].n; i++)
		sum += m.parts[0].value[i];
	ck_assert_int_eq(sum, total);
	ck_assert(m.rounded);
	source_merged_done(&m);
	ck_assert_int_eq(s->ops->merge(s, wanted, 1000, 2000, &m, NULL), 0);
	ck_assert_uint_eq(m.parts[0].n, 0);
	source_merged_done(&m);
	ck_assert_int_eq(s->ops->merge(s, wanted, 0, 1000, &m, NULL), 0);
	ck_assert(!m.rounded);
	source_merged_done(&m);
	source_close(s);
	profile_free(r.p);
}
END_TEST

START_TEST(nothing_is_nothing)
{
	struct profile *p = profile_new();
	struct source *s = source_of_profile(p);
	int64_t from_ns = 1, to_ns = 1;
	s->ops->range(s, &from_ns, &to_ns);
	ck_assert_int_eq(from_ns, 0);
	ck_assert_int_eq(to_ns, 0);
	source_close(s);
	profile_free(p);
}
END_TEST

static bool stop_now(void *ctx)
{
	++*(int *)ctx;
	return true;
}

START_TEST(a_stop_is_honoured)
{
	struct random_profile r = random_profile(1, MOMENTS);
	struct source *s = source_of_profile(r.p);
	bool wanted[RANDOM_SERIES];
	uint32_t group[RANDOM_SERIES] = { 0 };
	struct source_merged m = { 0 };
	int64_t sum = 0;
	int asked = 0;
	memset(wanted, true, sizeof wanted);
	s->stop = stop_now;
	s->stop_ctx = &asked;
	ck_assert_int_eq(s->ops->merge(s, wanted, 0, 5000, &m, NULL), -ECANCELED);
	ck_assert_int_eq(s->ops->steps(s, group, 0, 5000, 1, &sum, NULL), -ECANCELED);
	ck_assert_int_gt(asked, 1);
	s->stop = NULL; /* and nothing of it is left */
	ck_assert_int_eq(s->ops->merge(s, wanted, 0, 5000, &m, NULL), 0);
	source_merged_done(&m);
	source_close(s);
	profile_free(r.p);
}
END_TEST

UNIT_MAIN("source_profile", merges_are_sums_of_rows, steps_add_up_to_merges,
	  rows_equal_those_of_the_range, the_range_holds_everything, without_times_it_is_one_block,
	  nothing_is_nothing, a_stop_is_honoured)
