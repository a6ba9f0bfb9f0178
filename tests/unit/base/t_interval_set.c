// tier: test
/* Intervals compared with an array of bits. */
#include "rand.h"
#include "unit.h"

#include "base/interval_set.h"

enum { LINE = 300 };
struct line {
	bool in[LINE];
};

static struct interval_set random_ranges(struct rng *r, struct line *line)
{
	struct interval_set out = { 0 };
	*line = (struct line){ 0 };
	for (int n = rng_below(r, 12); n > 0; n--) {
		int from = rng_below(r, LINE), to = rng_below(r, LINE);
		interval_set_add(&out, from, to); /* nothing if it ends before it begins */
		for (int i = from; i < to; i++)
			line->in[i] = true;
	}
	interval_set_normalize(&out);
	return out;
}

static void check_is(const struct interval_set *r, const struct line *want)
{
	struct line got = { 0 };
	int64_t sum = 0;
	for (size_t i = 0; i < r->all.n; i++) {
		struct int_range x = r->all.v[i];
		ck_assert_int_lt(x.from, x.to);
		if (i)
			ck_assert_int_lt(r->all.v[i - 1].to, x.from);
		for (int64_t k = x.from; k < x.to; k++, sum++)
			got.in[k] = true;
	}
	ck_assert_mem_eq(&got, want, sizeof got);
	ck_assert_int_eq(interval_set_sum(r), sum);
}

static void check_find(const struct interval_set *r)
{
	for (int x = -1; x <= LINE; x++) {
		size_t i = interval_set_find(r, x);
		ck_assert_uint_le(i, r->all.n);
		ck_assert(i == 0 || r->all.v[i - 1].to <= x);
		ck_assert(i == r->all.n || r->all.v[i].to > x);
	}
}

START_TEST(interval_set_are_what_bits_are)
{
	struct rng r = { 1 };
	for (int round = 0; round < 2000; round++) {
		struct line x, y, both, without;
		struct interval_set a = random_ranges(&r, &x), b = random_ranges(&r, &y), c = { 0 },
				    d = { 0 };
		for (int i = 0; i < LINE; i++) {
			both.in[i] = x.in[i] && y.in[i];
			without.in[i] = x.in[i] && !y.in[i];
		}
		check_is(&a, &x);
		check_find(&a);
		interval_set_intersect(&a, &b, &c);
		check_is(&c, &both);
		interval_set_subtract(&a, &b, &d);
		check_is(&d, &without);
		interval_set_done(&a);
		interval_set_done(&b);
		interval_set_done(&c);
		interval_set_done(&d);
	}
}
END_TEST

UNIT_MAIN("stretches", interval_set_are_what_bits_are)
