/* Stretches against a line of bits. */
#include "rand.h"
#include "unit.h"

#include "base/stretches.h"

enum { LINE = 300 };
struct line {
	bool in[LINE];
};

static struct stretches random_ranges(struct rng *r, struct line *line)
{
	struct stretches out = { 0 };
	*line = (struct line){ 0 };
	for (int n = rng_below(r, 12); n > 0; n--) {
		int from = rng_below(r, LINE), to = rng_below(r, LINE);
		stretches_add(&out, from, to); /* nothing where it ends before it begins */
		for (int i = from; i < to; i++)
			line->in[i] = true;
	}
	stretches_settle(&out);
	return out;
}

static void check_is(const struct stretches *r, const struct line *want)
{
	struct line got = { 0 };
	int64_t sum = 0;
	for (size_t i = 0; i < r->all.n; i++) {
		struct stretch x = r->all.v[i];
		ck_assert_int_lt(x.from, x.to);
		if (i)
			ck_assert_int_lt(r->all.v[i - 1].to, x.from);
		for (int64_t k = x.from; k < x.to; k++, sum++)
			got.in[k] = true;
	}
	ck_assert_mem_eq(&got, want, sizeof got);
	ck_assert_int_eq(stretches_sum(r), sum);
}

static void check_find(const struct stretches *r)
{
	for (int x = -1; x <= LINE; x++) {
		size_t i = stretches_find(r, x);
		ck_assert_uint_le(i, r->all.n);
		ck_assert(i == 0 || r->all.v[i - 1].to <= x);
		ck_assert(i == r->all.n || r->all.v[i].to > x);
	}
}

START_TEST(stretches_are_what_bits_are)
{
	struct rng r = { 1 };
	for (int round = 0; round < 2000; round++) {
		struct line x, y, both, without;
		struct stretches a = random_ranges(&r, &x), b = random_ranges(&r, &y), c = { 0 },
				 d = { 0 };
		for (int i = 0; i < LINE; i++) {
			both.in[i] = x.in[i] && y.in[i];
			without.in[i] = x.in[i] && !y.in[i];
		}
		check_is(&a, &x);
		check_find(&a);
		stretches_both(&a, &b, &c);
		check_is(&c, &both);
		stretches_without(&a, &b, &d);
		check_is(&d, &without);
		stretches_done(&a);
		stretches_done(&b);
		stretches_done(&c);
		stretches_done(&d);
	}
}
END_TEST

UNIT_MAIN("stretches", stretches_are_what_bits_are)
