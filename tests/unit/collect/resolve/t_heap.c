// tier: test
/* Sampled allocations: by process and number, until they are freed; sums by stack; the period by which an interval is computed. */
#include "unit.h"

#include "collect/resolve/heap.h"
#include "profile/series.h"

#include <inttypes.h>
#include <math.h>

START_TEST(samples)
{
	struct heap h = { .round = 1 };

	heap_put(&h, 10, 1, 100);
	heap_put(&h, 10, 2, 101);
	heap_put(&h, 11, 1, 102);
	ck_assert_uint_eq(heap_find(&h, 10, 1), 100);
	ck_assert_uint_eq(heap_find(&h, 11, 1), 102);
	ck_assert_uint_eq(heap_find(&h, 11, 2), 0);
	heap_put(&h, 10, 1, 103); /* another program of the process */
	ck_assert_uint_eq(heap_find(&h, 10, 1), 103);

	/* Samples that were not found again in the next round are dropped, of the processes that were read. */
	h.round = 2;
	ck_assert_uint_eq(heap_find(&h, 10, 2), 101);
	map_put(&h.read, 10, 1);
	heap_forget(&h, NULL, NULL);
	ck_assert_uint_eq(heap_find(&h, 10, 1), 0);
	ck_assert_uint_eq(heap_find(&h, 10, 2), 101);
	ck_assert_uint_eq(heap_find(&h, 11, 1), 102);
	heap_done(&h);
	ck_assert_uint_eq(heap_find(&h, 11, 1), 0);
}
END_TEST

static bool is_ten(void *ctx, uint32_t pid)
{
	(void)ctx;
	return pid == 10;
}

/* A process that ended without a row leaves nothing. */
START_TEST(samples_without_process)
{
	struct heap h = { .round = 1, .max = 3 };

	heap_put(&h, 10, 1, 100);
	heap_put(&h, 11, 1, 101);
	heap_put(&h, 12, 1, 102);
	heap_put(&h, 13, 1, 103); /* no space */
	ck_assert_uint_eq(h.refused, 1);
	ck_assert_uint_eq(heap_find(&h, 13, 1), 0);
	h.round = 2;
	ck_assert_uint_eq(heap_find(&h, 12, 1), 102); /* a child has it in use */
	heap_forget(&h, is_ten, NULL);
	ck_assert_uint_eq(h.all.n, 2);
	ck_assert_uint_eq(heap_find(&h, 10, 1), 100);
	ck_assert_uint_eq(heap_find(&h, 11, 1), 0);
	ck_assert_uint_eq(heap_find(&h, 12, 1), 102);
	h.round = 3;
	heap_forget(&h, is_ten, NULL);
	ck_assert_uint_eq(h.all.n, 1);
	/* It was read. */
	map_put(&h.read, 10, 1);
	h.round = 4;
	heap_forget(&h, is_ten, NULL);
	ck_assert_uint_eq(h.all.n, 0);
	ck_assert_uint_eq(h.read.n, 0);
	heap_done(&h);
}
END_TEST

/* Each stack has its exact ones apart from the others. */
START_TEST(sums)
{
	struct heap_sums s = { 0 };

	heap_add(&s, &(struct heap_blocks){ 1, 0, 100, 1, 5243 });
	heap_add(&s, &(struct heap_blocks){ 1, 0, 100, 1, 5243 });
	heap_add(&s, &(struct heap_blocks){ 1, 0, 1 << 20, 1, 1 });
	heap_add(&s, &(struct heap_blocks){ 2, 0, 100, 1, 5243 });
	ck_assert_uint_eq(s.all.n, 3);
	heap_add(&s, &(struct heap_blocks){ 2, 1, 100, 1, 5243 });
	ck_assert_uint_eq(s.all.n, 4);
	ck_assert(s.all.v[0].bytes == 2 * 524300.0 && s.all.v[0].objects == 10486);
	ck_assert_int_eq(s.all.v[0].bytes_period, 524288);
	ck_assert_int_eq(s.all.v[1].bytes_period, 0);
	ck_assert_int_eq(s.all.v[1].objects_period, 0);
	heap_clear(&s);
	ck_assert_uint_eq(s.all.n, 0);
	vec_done(&s.all);
	map_done(&s.index);
}
END_TEST

START_TEST(ages)
{
	ck_assert_uint_eq(heap_age(1000, 1000), AGE_1M + 1);
	ck_assert_uint_eq(heap_age(1000, 1001), AGE_1M + 1);
	ck_assert_uint_eq(heap_age(1059, 1000), AGE_1M + 1);
	ck_assert_uint_eq(heap_age(1060, 1000), AGE_10M + 1);
	ck_assert_uint_eq(heap_age(1600, 1000), AGE_1H + 1);
	ck_assert_uint_eq(heap_age(4600, 1000), AGE_OLDER + 1);
	ck_assert_str_eq(age_words[AGE_OLDER], "older");
}
END_TEST

START_TEST(periods)
{
	ck_assert_int_eq(heap_period(0), 0);
	ck_assert_int_eq(heap_period(-1), 0);
	ck_assert_int_eq(heap_period(NAN), 0);
	ck_assert_int_eq(heap_period(INFINITY), 0);
	ck_assert_int_eq(heap_period(0.01), 1);
	ck_assert_int_eq(heap_period(524288), 524288);
	ck_assert_int_eq(heap_period(524289), 655360);
	for (double x = 4; x < 1e15; x *= 1.01) {
		double p = (double)heap_period(x);
		ck_assert_msg(p >= x && p <= x * 1.25 + 1, "%f: %f", x, p);
		ck_assert_int_eq(heap_period(p), (int64_t)p);
	}
}
END_TEST

/* Whole values add up to the sum on average. */
START_TEST(whole)
{
	enum { N = 100000 };
	int64_t sum = 0;

	for (uint64_t i = 0; i < N; i++) {
		int64_t v = heap_whole(2.3, i);
		ck_assert(v == 2 || v == 3);
		sum += v;
	}
	/* five standard deviations */
	ck_assert_msg(fabs(sum - 2.3 * N) < 5 * sqrt(N * 0.3 * 0.7), "%" PRId64, sum);
	ck_assert_int_eq(heap_whole(7, 1), 7);
}
END_TEST

UNIT_MAIN("heap", samples, samples_without_process, sums, ages, periods, whole)
