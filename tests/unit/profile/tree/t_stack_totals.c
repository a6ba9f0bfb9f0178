// tier: test
/* Totals by stack compared with the definition: for each stack, everything that begins with the same frames up to its first own one. */
#include "random_profile.h"
#include "unit.h"

#include "profile/tree/tree_sums.h"

#include <stdint.h>

enum { DEPTH_MAX = 64 };

static bool begins_alike(const struct stack_table *t, uint32_t a, uint32_t b, uint32_t n)
{
	uint32_t x[DEPTH_MAX], y[DEPTH_MAX];
	ck_assert(stack_depth(t, a) <= DEPTH_MAX && stack_depth(t, b) <= DEPTH_MAX);
	stack_frames(t, a, x);
	stack_frames(t, b, y);
	return stack_depth(t, b) >= n && memcmp(x, y, n * sizeof *x) == 0;
}

/* A stack without own frames is a part of its parent, and begins nothing. */
static int64_t naive_total(const struct stack_table *t, const int64_t *value, uint32_t id)
{
	const struct stack *s = &t->stacks.v[id];
	int64_t total = 0;
	if (s->depth == s->shared && id)
		return value[id];
	for (uint32_t other = 0; other < t->stacks.n; other++)
		if (!id || begins_alike(t, id, other, s->shared + 1u))
			total += value[other];
	return total;
}

START_TEST(totals_cover_all_with_the_same_prefix)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct random_profile r =
			random_profile(seed, (struct random_shape){ .n_stacks = 250 });
		const struct stack_table *t = &r.p->stacks;
		int64_t value[400], total[400];
		ck_assert_uint_le(t->stacks.n, 400);
		for (size_t i = 0; i < t->stacks.n; i++)
			total[i] = value[i] = (int64_t)rng_below(&r.rng, 100) - 5;
		stack_totals(t, total);
		for (uint32_t id = 0; id < t->stacks.n; id++)
			ck_assert_int_eq(total[id], naive_total(t, value, id));
		profile_free(r.p);
	}
}
END_TEST

START_TEST(sums_stop_at_the_ends)
{
	struct stack_table t;
	uint32_t frames[] = { 1, 2, 3 };
	int64_t total[4] = { 0, INT64_MAX, 5, 7 };
	stack_table_init(&t);
	for (uint32_t n = 3; n >= 1; n--)
		stack_intern(&t, frames, n);
	ck_assert_uint_eq(t.stacks.n, 4);
	stack_totals(&t, total);
	ck_assert_int_eq(total[0], INT64_MAX);
	stack_table_done(&t);
}
END_TEST

UNIT_MAIN("stack_totals", totals_cover_all_with_the_same_prefix, sums_stop_at_the_ends)
