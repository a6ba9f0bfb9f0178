// tier: test
/* Parts of a range: their trees are those of the parts merged, and an invalid list of parts is reported. */
#include "naive_tree.h"
#include "random_profile.h"
#include "unit.h"

#include "base/err.h"
#include "query/plan.h"
#include "query/query.h"
#include "query/source.h"
#include "query/time.h"

#include <errno.h>

static struct query_tree answer(const struct query *q)
{
	struct query_tree t;
	struct err err = { 0 };
	ck_assert_msg(query_tree(q, &t, &err) == 0, "%s", err.text);
	return t;
}

/* The merged trees of ranges queried one by one. */
static struct tree *together(const struct query *q)
{
	struct tree *all = NULL;
	for (uint32_t i = 0; i < q->n_within; i++) {
		struct query part = *q;
		part.within = NULL;
		part.from_ns = q->within[i].from_ns;
		part.to_ns = q->within[i].to_ns;
		struct query_tree one = answer(&part);
		if (all)
			tree_merge(all, one.tree);
		else
			all = one.tree;
		if (all != one.tree)
			tree_free(one.tree);
	}
	return all;
}

/* Up to 8 parts of 0 … 1000, in order. */
static uint32_t random_parts(struct rng *r, struct query_piece *out)
{
	uint32_t n = 1 + rng_below(r, 8);
	int64_t at = 0;
	for (uint32_t i = 0; i < n; i++) {
		out[i].from_ns = at + rng_below(r, 60);
		out[i].to_ns = at = out[i].from_ns + 1 + rng_below(r, 60);
	}
	return n;
}

START_TEST(trees_equal_those_of_the_parts)
{
	static const char *const keys[] = { "comm", "pid", "nothing" };
	for (uint64_t seed = 1; seed <= 90; seed++) {
		struct random_shape shape = { .n_stacks = 200,
					      .n_samples = 400,
					      .waits = seed % 2 };
		struct random_profile r = random_profile(seed, shape);
		struct source *s = source_of_profile(r.p);
		struct query_piece parts[8];
		struct query q = { .source = s, .type = r.cpu, .to_ns = 1000, .within = parts };
		q.n_within = random_parts(&r.rng, parts);
		q.by[0] = keys[seed % 3];
		q.n_by = 1;
		struct tree *want = together(&q);
		struct query_tree got = answer(&q);
		struct spelled a = spell_tree(got.tree), b = spell_tree(want);
		assert_spelled_eq(&a, &b);
		spelled_done(&a);
		spelled_done(&b);
		ck_assert_int_eq(got.tree->nodes.v[0].total, want->nodes.v[0].total);
		tree_free(want);
		tree_free(got.tree);
		source_close(s);
		profile_free(r.p);
	}
}
END_TEST

/* A profile of parts has the same sum, and parts outside of the range are empty. */
START_TEST(profiles_and_seconds_go_with_them)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct random_profile r = random_profile(
			seed, (struct random_shape){ .n_stacks = 100, .n_samples = 300 });
		struct source *s = source_of_profile(r.p);
		struct query_piece parts[] = { { -100, 50 }, { 200, 300 }, { 900, 5000 } };
		struct query q = { .source = s,
				   .type = r.cpu,
				   .from_ns = 20,
				   .to_ns = 250,
				   .within = parts,
				   .n_within = 3 };
		struct profile *p;
		ck_assert_int_eq(query_profile(&q, true, &p, NULL, NULL), 0);
		struct query_tree t = answer(&q);
		ck_assert_int_eq(profile_total(p, 0), t.tree->nodes.v[0].total);
		ck_assert(query_seconds(&q) == 80e-9);
		ck_assert_int_eq(query_piece_at(&q, 2).from_ns, query_piece_at(&q, 2).to_ns);
		profile_free(p);
		tree_free(t.tree);
		source_close(s);
		profile_free(r.p);
	}
}
END_TEST

START_TEST(lists_of_parts_are_read)
{
	const struct time_words words = { .now_ns = 5000000000, .start_ns = 1000, .end_ns = 9000 };
	struct query_piece parts[QUERY_MAX_WITHIN];
	struct err err = { 0 };
	ck_assert_int_eq(
		query_within_parse("start..start+1us,now-1s..now", &words, "x", parts, &err), 2);
	ck_assert_int_eq(parts[0].from_ns, 1000);
	ck_assert_int_eq(parts[0].to_ns, 2000);
	ck_assert_int_eq(parts[1].from_ns, 4000000000);
	ck_assert_int_eq(parts[1].to_ns, 5000000000);
	static const char *const bad[] = { "",      "now",           "now..",
					   "..now", "now..now",      "end..start",
					   ",",     "start..end,",   "start..end,start..now",
					   "a..b",  "start..end..x", "start...end" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(query_within_parse(bad[i], &words, "x", parts, &err) == -EINVAL, "%s",
			      bad[i]);
}
END_TEST

UNIT_MAIN("within", trees_equal_those_of_the_parts, profiles_and_seconds_go_with_them,
	  lists_of_parts_are_read)
