// tier: test
/* Binary search compared with a linear scan. */
#include "rand.h"
#include "unit.h"

#include "base/search.h"
#include "base/vec.h"

struct item {
	uint64_t key;
};
struct items {
	VEC(struct item) v;
};

static void fill(struct items *all, struct rng *r)
{
	uint64_t key = rng_below(r, 3);
	for (int n = rng_below(r, 40); n > 0; n--) {
		vec_push(&all->v, (struct item){ key });
		key += rng_below(r, 3); /* equal ones, and gaps */
	}
}

static void check_against_a_walk(const struct items *all, uint64_t key)
{
	size_t upper = 0, lower = 0;
	while (upper < all->v.n && all->v.v[upper].key <= key)
		upper++;
	while (lower < all->v.n && all->v.v[lower].key < key)
		lower++;
	ck_assert_uint_eq(vec_upper(&all->v, key, key), upper);
	ck_assert_uint_eq(vec_lower(&all->v, key, key), lower);
}

START_TEST(search_finds_what_a_walk_finds)
{
	struct rng r = { 1 };
	for (int i = 0; i < 500; i++) {
		struct items all = { 0 };
		fill(&all, &r);
		for (uint64_t key = 0; key < 90; key++)
			check_against_a_walk(&all, key);
		vec_done(&all.v);
	}
}
END_TEST

START_TEST(search_stays_between_its_ends)
{
	for (size_t from = 0; from <= 9; from++)
		for (size_t to = from; to <= 9; to++)
			for (size_t edge = 0; edge <= 10; edge++) {
				size_t want = edge < from ? from : edge > to ? to : edge;
				size_t got = search_first(i, from, to, i >= edge);
				ck_assert_uint_eq(got, want);
			}
	ck_assert_uint_eq(search_first(i, 5, 3, i > 0), 5); /* nothing lies between */
}
END_TEST

/* Even if the sum of the indices overflows a size_t. */
START_TEST(search_does_not_overflow)
{
	ck_assert_uint_eq(search_first(i, 0, SIZE_MAX, i >= SIZE_MAX - 3), SIZE_MAX - 3);
	ck_assert_uint_eq(search_first(i, 0, SIZE_MAX, i > SIZE_MAX - 1), SIZE_MAX);
}
END_TEST

UNIT_MAIN("search", search_finds_what_a_walk_finds, search_stays_between_its_ends,
	  search_does_not_overflow)
