// tier: test
/* Overlapping ranges: the same answers as trying all ranges from newest to oldest. */
#include "rand.h"
#include "symbol/ranges.h"
#include "unit.h"

static const struct range *brute_force(const struct ranges *r, uint64_t addr, size_t n)
{
	for (size_t i = n < r->v.n ? n : r->v.n; i-- > 0;)
		if (addr - r->v.v[i].start < r->v.v[i].size)
			return &r->v.v[i];
	return NULL;
}

START_TEST(newest_wins)
{
	struct rng rng = { 7 };
	for (int round = 0; round < 60; round++) {
		struct ranges r = { 0 };
		uint64_t space = 1 + rng_below(&rng, 500);
		size_t n = 1 + rng_below(&rng, 100);
		for (uint32_t i = 0; i < n; i++)
			ck_assert(ranges_add(&r, 1000 + rng_below(&rng, space),
					     1 + rng_below(&rng, space), i));
		ranges_build(&r, 1);
		for (uint64_t addr = 990; addr < 1010 + 2 * space; addr++)
			ck_assert_ptr_eq(ranges_find(&r, addr, SIZE_MAX),
					 brute_force(&r, addr, SIZE_MAX));
		ranges_done(&r);
	}
}
END_TEST

START_TEST(earlier_times_within_depth)
{
	struct rng rng = { 8 };
	for (int round = 0; round < 20; round++) {
		struct ranges r = { 0 };
		for (uint32_t i = 0; i < 40; i++)
			ranges_add(&r, rng_below(&rng, 100), 1 + rng_below(&rng, 30), i);
		ranges_build(&r, 40);
		for (uint64_t addr = 0; addr < 140; addr++)
			for (size_t n = 0; n <= 41; n++)
				ck_assert_ptr_eq(ranges_find(&r, addr, n),
						 brute_force(&r, addr, n));
		ranges_done(&r);
	}
	/* Levels beyond the requested depth are forgotten: no answer rather than a wrong one. */
	struct ranges r = { 0 };
	for (uint32_t i = 0; i < 10; i++)
		ranges_add(&r, 100, 10, i);
	ranges_build(&r, 3);
	ck_assert_ptr_eq(ranges_find(&r, 105, 10), &r.v.v[9]);
	ck_assert_ptr_eq(ranges_find(&r, 105, 8), &r.v.v[7]);
	ck_assert_ptr_null(ranges_find(&r, 105, 7));
	ranges_done(&r);
}
END_TEST

START_TEST(ends_of_the_address_space)
{
	struct ranges r = { 0 };
	ck_assert(!ranges_add(&r, 5, 0, 0));
	ck_assert(!ranges_add(&r, UINT64_MAX, 2, 0));
	ck_assert(!ranges_add(&r, 0, 1ull << 32, 0));
	ck_assert_ptr_null(ranges_find(&r, 5, SIZE_MAX));
	ranges_build(&r, 1); /* of nothing */
	ck_assert_ptr_null(ranges_find(&r, 5, SIZE_MAX));
	ck_assert(ranges_add(&r, UINT64_MAX - 1, 1, 1));
	ck_assert(ranges_add(&r, 0, UINT32_MAX, 2));
	ranges_build(&r, 1);
	ck_assert_uint_eq(ranges_find(&r, UINT64_MAX - 1, SIZE_MAX)->name, 1);
	ck_assert_ptr_null(ranges_find(&r, UINT64_MAX, SIZE_MAX));
	ck_assert_uint_eq(ranges_find(&r, 0, SIZE_MAX)->name, 2);
	ck_assert_ptr_null(ranges_find(&r, UINT32_MAX, SIZE_MAX));
	ranges_done(&r);
}
END_TEST

UNIT_MAIN("ranges", newest_wins, earlier_times_within_depth, ends_of_the_address_space)
