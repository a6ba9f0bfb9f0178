// tier: test
/* Samples split among stacks: sums are kept, parts are right, and the truth is in the interval as often as claimed. */
#include "unit.h"

#include "gpu/code/stall_split.h"

#include <math.h>

static uint64_t random_of(uint64_t *x)
{
	*x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
	return *x * 0x2545f4914f6cdd1dull >> 32;
}

/* Any rows, any stacks: each row keeps its sum, and each stack its part within 2. */
START_TEST(sums)
{
	uint64_t x = 88172645463325252ull, out[64];

	for (int round = 0; round < 400; round++) {
		uint32_t n = 1 + random_of(&x) % 64;
		struct stall_stack stacks[64];
		double all = 0;
		uint64_t total = 0;

		for (uint32_t i = 0; i < n; i++) {
			stacks[i] = (struct stall_stack){ .stack = i,
							  .ns = round % 7 ? random_of(&x) % 1000
									  : i == n / 2 };
			all += stacks[i].ns;
		}
		struct stall_split *s = stall_split_new(stacks, n);

		for (int row = 0; row < 300; row++) {
			uint64_t samples = random_of(&x) % (row % 3 ? 4 : 5000), sum = 0;

			stall_split_row(s, samples, out);
			for (uint32_t i = 0; i < n; i++)
				sum += out[i];
			ck_assert_uint_eq(sum, samples);
			total += samples;
		}
		for (uint32_t i = 0; i < n; i++) {
			double want = total * (all > 0 ? stacks[i].ns / all : 1.0 / n);
			struct stall_part part = stall_split_part(s, i, 1.96);

			ck_assert_msg(fabs(part.samples - want) <= 2, "%u of %u: %lu, want %f", i,
				      n, part.samples, want);
			ck_assert(part.low <= want + 1e-6 && part.high >= want - 1e-6);
			ck_assert(part.low >= 0 && part.high <= total);
		}
		stall_split_free(s);
	}
}
END_TEST

/* With one sample in each row, each stack gets as many as from all in one row. */
START_TEST(small_rows)
{
	const struct stall_stack stacks[] = { { 1, 600, 0 }, { 2, 300, 0 }, { 3, 100, 0 } };
	struct stall_split *s = stall_split_new(stacks, 3);
	uint64_t out[3];

	for (int i = 0; i < 1000; i++)
		stall_split_row(s, 1, out);
	ck_assert_uint_eq(stall_split_part(s, 0, 1.96).samples, 600);
	ck_assert_uint_eq(stall_split_part(s, 1, 1.96).samples, 300);
	ck_assert_uint_eq(stall_split_part(s, 2, 1.96).samples, 100);
	stall_split_free(s);
}
END_TEST

/* As many samples as there were, fewer if the part itself was measured. */
START_TEST(rests_on)
{
	const struct stall_stack exact[] = { { 1, 500, 0 }, { 2, 500, 0 } };
	const struct stall_stack measured[] = { { 1, 500, 2500 }, { 2, 500, 2500 } };
	struct stall_split *s = stall_split_new(exact, 2);

	ck_assert_uint_eq(stall_split_rests_on(s, 0, 1000), 1000);
	ck_assert_uint_eq(stall_split_rests_on(s, 1, 0), 1);
	ck_assert_uint_eq(stall_split_rests_on(s, 1, UINT64_MAX), UINT32_MAX);
	stall_split_free(s);
	/* 5 % of a half: as if of 100; together with 100 samples as of 50. */
	s = stall_split_new(measured, 2);
	ck_assert_uint_eq(stall_split_rests_on(s, 0, 100), 50);
	stall_split_free(s);
}
END_TEST

/* A single stack has everything, with certainty. */
START_TEST(one_stack)
{
	const struct stall_stack stack = { 7, 0, 0 };
	struct stall_split *s = stall_split_new(&stack, 1);
	uint64_t out;

	stall_split_row(s, 12345, &out);
	ck_assert_uint_eq(out, 12345);
	struct stall_part part = stall_split_part(s, 0, 1.96);

	ck_assert(part.low == 12345 && part.high == 12345);
	stall_split_free(s);
}
END_TEST

/* Samples that hit launches by chance: in 95 of 100 cases the actual number is inside, also when p was measured with an error. */
START_TEST(intervals)
{
	enum { CASES = 4000, N = 400 };
	uint64_t x = 362436069ull, out[2];
	int inside = 0;

	for (int i = 0; i < CASES; i++) {
		double p = 0.1 + 0.8 * (double)(random_of(&x) % 1000) / 1000, error = 0.02, sum = 0;
		uint64_t truth = 0;

		for (int k = 0; k < N; k++)
			truth += (double)(random_of(&x) & 0xffffffff) / 0x1p32 < p;
		for (int k = 0; k < 12; k++) /* nearly normal: variance 1 */
			sum += (double)(random_of(&x) & 0xffffffff) / 0x1p32;
		double seen = p + (i % 2 ? error * (sum - 6) : 0),
		       variance = i % 2 ? error * error * 1e12 : 0;
		const struct stall_stack stacks[] = { { 1, seen * 1e6, variance },
						      { 2, (1 - seen) * 1e6, variance } };
		struct stall_split *s = stall_split_new(stacks, 2);

		stall_split_row(s, N, out);
		struct stall_part part = stall_split_part(s, 0, 1.96);

		inside += truth >= part.low && truth <= part.high;
		stall_split_free(s);
	}
	/* 3 standard deviations of 4000 draws are 1 in 100; rounding to integers takes some. */
	ck_assert_msg(inside > 0.93 * CASES && inside < 0.97 * CASES, "%d of %d", inside, CASES);
}
END_TEST

UNIT_MAIN("gpu-stall-split", sums, small_rows, rests_on, one_stack, intervals)
