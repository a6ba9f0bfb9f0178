// tier: test
/* Queries compared with the same profile evaluated another way: trees built from its samples, sums over its rows, snapshots by hand. */
#include "naive_tree.h"
#include "random_profile.h"
#include "unit.h"

#include "base/buf.h"
#include "base/err.h"
#include "profile/change/diff.h"
#include "profile/tree/time_range.h"
#include "query/catalog.h"
#include "query/guard.h"
#include "query/plan.h"
#include "query/query.h"
#include "query/selector.h"
#include "query/source.h"

#include <errno.h>
#include <math.h>

static struct query query_of(struct source *s, uint32_t type)
{
	struct query q = { .source = s, .type = type };
	s->ops->range(s, &q.from_ns, &q.to_ns);
	return q;
}

static struct query_tree answer(const struct query *q)
{
	struct query_tree t;
	struct err err = { 0 };
	ck_assert_msg(query_tree(q, &t, &err) == 0, "%s", err.text);
	assert_tree_sound(t.tree);
	return t;
}

static struct selector *selector_of(const char *text)
{
	struct selector *s = NULL;
	struct err err = { 0 };
	ck_assert_msg(selector_parse(text, &s, &err) == 0, "%s", err.text);
	return s;
}

static void assert_close(double a, double b)
{
	if (isnan(a) && isnan(b))
		return;
	ck_assert_msg(fabs(a - b) <= 1e-9 * fabs(a), "%g is not %g", a, b);
}

static void assert_same_tree(struct tree *a, struct tree *b)
{
	struct spelled x = spell_tree(a), y = spell_tree(b);
	assert_spelled_eq(&x, &y);
	spelled_done(&x);
	spelled_done(&y);
	ck_assert_str_eq(a->unit, b->unit);
	ck_assert_str_eq(a->type_name, b->type_name);
	ck_assert(a->scale == b->scale);
	ck_assert_int_eq(a->nodes.v[0].total, b->nodes.v[0].total);
	ck_assert_uint_eq(a->spreads.n != 0, b->spreads.n != 0);
	if (!a->spreads.n)
		return;
	assert_close(a->spreads.v[0].total.n, b->spreads.v[0].total.n);
	assert_close(a->spreads.v[0].total.squares, b->spreads.v[0].total.squares);
}

/* The shapes and filters of a seed. */
static struct tree_opts opts_of(uint64_t seed)
{
	static const char *const patterns[] = { NULL,          "fn_0",   "kind:kernel",
						"binary:libc", "named_", "file:file[12]" };
	struct tree_opts o = {
		.focus = patterns[seed % 6],
		.ignore = patterns[seed / 2 % 6 == seed % 6 ? 0 : seed / 2 % 6],
		.hide = seed % 7 == 0 ? "fn_1" : NULL,
		.no_kernel = seed % 11 == 0,
		.collapse_recursion = seed % 3 == 0,
	};
	if (seed % 4 == 0)
		o.inverted = true;
	else if (seed % 4 == 1)
		o.with_spread = true;
	else if (seed % 8 == 2)
		o.max_depth = 3;
	return o;
}

/* Few samples with many stacks, and many with few: both ways through the table of stacks. */
static struct random_shape shape_of(uint64_t seed)
{
	return (struct random_shape){ .n_stacks = seed % 2 ? 900 : 60,
				      .n_samples = seed % 2 ? 80 : 400,
				      .periods_differ = seed % 3 == 0,
				      .waits = seed % 5 == 0 };
}

START_TEST(trees_equal_those_of_the_samples)
{
	for (uint64_t seed = 1; seed <= 240; seed++) {
		struct random_profile r = random_profile(seed, shape_of(seed));
		struct source *s = source_of_profile(r.p);
		struct query q = query_of(s, seed % 2 ? r.cpu : r.alloc);
		struct tree *want;
		struct tree_opts o = opts_of(seed);
		q.tree = o;
		o.type = q.type;
		if (seed % 3) { /* the random profile's clock begins at its 0 */
			o.time_from_ns = q.from_ns = 1 + rng_below(&r.rng, 500);
			o.time_to_ns = q.to_ns = q.from_ns + 1 + rng_below(&r.rng, 500);
		}
		ck_assert_int_eq(tree_build(r.p, &o, &want, NULL), 0);
		struct query_tree got = answer(&q);
		assert_same_tree(got.tree, want);
		if (!o.time_from_ns) {
			ck_assert_int_eq(got.tree->unfiltered_total, want->unfiltered_total);
			/* A stack whose samples add up to 0 has no sum. */
			ck_assert_uint_le(got.tree->n_samples, want->n_samples);
		}
		tree_free(want);
		tree_free(got.tree);
		source_close(s);
		profile_free(r.p);
	}
}
END_TEST

START_TEST(root_frames_equal_those_of_the_tree)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct random_profile r = random_profile(seed, shape_of(seed));
		struct source *s = source_of_profile(r.p);
		struct query q = query_of(s, r.cpu);
		struct tree_opts o = { .type = r.cpu, .by = { BY_PROCESS, BY_COMM }, .n_by = 2 };
		struct tree *want;
		q.by[0] = "process";
		q.by[1] = "comm";
		q.n_by = 2;
		if (seed % 3 == 0) { /* columns, row by row */
			o.by[1] = BY_CPU;
			q.by[1] = "cpu";
		}
		q.tree.inverted = o.inverted = seed % 2;
		ck_assert_int_eq(tree_build(r.p, &o, &want, NULL), 0);
		struct query_tree got = answer(&q);
		ck_assert_int_eq(got.tree->nodes.v[0].total, want->nodes.v[0].total);
		if (seed % 3) /* for an unknown CPU the tree has cpu?, as here */
			ck_assert_uint_gt(got.groups, 1);
		assert_same_tree(got.tree, want);
		tree_free(want);
		tree_free(got.tree);
		source_close(s);
		profile_free(r.p);
	}
}
END_TEST

/* A selector selects what remains when it is applied. */
START_TEST(selectors_take_what_apply_leaves)
{
	static const char *const texts[] = {
		"cpu{comm=\"redis\"}", "cpu{comm!~\"web.*\"}",           "cpu{pid=\"101\"}",
		"cpu{tid!=\"201\"}",   "cpu{cpu=~\"0|\",comm=\"bash\"}", "cpu{nothing=\"\"}",
	};
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct random_profile r = random_profile(seed, shape_of(2 * seed));
		struct source *s = source_of_profile(r.p);
		struct query q = query_of(s, r.cpu);
		struct selector *sel = selector_of(texts[seed % 6]);
		struct tree_opts o = { .type = r.cpu };
		struct tree *want;
		q.selector = sel;
		struct query_tree got = answer(&q);
		source_close(s);
		selector_apply(sel, r.p);
		ck_assert_int_eq(tree_build(r.p, &o, &want, NULL), 0);
		/* The tree uses the periods of all series, the query those of the selected ones. */
		if (strcmp(want->unit, got.tree->unit) == 0)
			assert_same_tree(got.tree, want);
		tree_free(want);
		tree_free(got.tree);
		selector_free(sel);
		profile_free(r.p);
	}
}
END_TEST

static int64_t total_in(const struct query *q, int64_t from_ns, int64_t to_ns)
{
	struct query part = *q;
	part.from_ns = from_ns;
	part.to_ns = to_ns;
	part.n_by = 0;
	struct query_tree t = answer(&part);
	int64_t total = t.tree->nodes.v[0].total;
	tree_free(t.tree);
	return total;
}

START_TEST(ranges_are_trees_of_each_step)
{
	static const char *const keys[] = { "comm", "pid", "nothing" };
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct random_profile r = random_profile(seed, shape_of(seed));
		struct source *s = source_of_profile(r.p);
		struct query q = query_of(s, seed % 2 ? r.cpu : r.alloc);
		struct query_range range;
		int64_t step_ns = 50 + rng_below(&r.rng, 400);
		q.by[0] = keys[seed % 3];
		q.n_by = 1;
		ck_assert_int_eq(query_range(&q, step_ns, &range, NULL), 0);
		for (size_t i = 0; i < range.steps; i++) {
			int64_t from_ns = range.from_ns + (int64_t)i * step_ns, sum = 0;
			for (uint32_t g = 0; g < range.groups; g++)
				sum += range.sums[g * range.steps + i];
			ck_assert_int_eq(sum, total_in(&q, from_ns, from_ns + step_ns));
		}
		for (uint32_t i = 1; i < range.n_shown; i++)
			ck_assert_int_ge(range.totals[range.order[i - 1]],
					 range.totals[range.order[i]]);
		query_range_done(&range);
		source_close(s);
		profile_free(r.p);
	}
}
END_TEST

START_TEST(profiles_equal_their_results)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct random_profile r = random_profile(seed, shape_of(seed));
		struct source *s = source_of_profile(r.p);
		struct query q = query_of(s, r.cpu);
		struct selector *sel = selector_of(seed % 3 ? "cpu{comm=\"redis\"}" : "cpu");
		struct tree_opts o = { 0 };
		struct profile *p;
		struct tree *again;
		q.selector = sel;
		q.from_ns = 100;
		q.to_ns = 900;
		ck_assert_int_eq(query_profile(&q, seed % 2, &p, NULL, NULL), 0);
		ck_assert_uint_eq(p->series.types.n, 1);
		ck_assert_int_eq(tree_build(p, &o, &again, NULL), 0);
		struct query_tree t = answer(&q);
		assert_same_tree(t.tree, again);
		tree_free(again);
		tree_free(t.tree);
		profile_free(p);
		selector_free(sel);
		source_close(s);
		profile_free(r.p);
	}
}
END_TEST

START_TEST(differences_equal_those_of_the_trees)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct random_profile r = random_profile(seed, shape_of(seed));
		r.p->meta.duration_ns = 1000;
		struct source *s = source_of_profile(r.p);
		struct query newer = query_of(s, r.cpu), older = newer;
		struct tree_opts a = { .type = r.cpu, .with_spread = true }, b = a;
		struct diff_opts opts = { .norm = DIFF_SHARE, .confidence = 0.95 };
		struct query_sides sides;
		struct diff *want;
		struct tree *ta, *tb;
		older.to_ns = newer.from_ns = a.time_from_ns = b.time_to_ns = 500;
		ck_assert_int_eq(query_diff(&newer, &older, &opts, &sides, NULL), 0);
		ck_assert_int_eq(tree_build(r.p, &a, &ta, NULL), 0);
		ck_assert_int_eq(tree_build(r.p, &b, &tb, NULL), 0);
		ck_assert_int_eq(diff_build((struct diff_side){ ta, 0.5e-6 },
					    (struct diff_side){ tb, 0.5e-6 }, &opts, &want, NULL),
				 0);
		ck_assert_uint_eq(sides.diff->rows.n, want->rows.n);
		for (size_t i = 0; i < want->rows.n; i++) {
			const struct diff_row *x = &sides.diff->rows.v[i], *y = &want->rows.v[i];
			ck_assert_int_eq(x->newer_total, y->newer_total);
			ck_assert_int_eq(x->older_self, y->older_self);
			assert_close(x->self.interval.low, y->self.interval.low);
			assert_close(x->self.interval.high, y->self.interval.high);
			ck_assert_int_eq(x->self.certainty, y->self.certainty);
		}
		diff_free(want);
		tree_free(ta);
		tree_free(tb);
		query_sides_done(&sides);
		source_close(s);
		profile_free(r.p);
	}
}
END_TEST

/* --- snapshots --- */

#define MINUTE (60 * 1000000000ll)

struct heap {
	struct profile *p;
	uint32_t type;
};

static void add_heap(struct heap *h, const char *host, const char *comm, const char *function,
		     int64_t time_ns, int64_t value)
{
	struct sink *s = profile_sink(h->p);
	struct label labels[] = { { .key = sink_string(s, "host"), .str = sink_string(s, host) },
				  { .key = sink_string(s, "comm"), .str = sink_string(s, comm) } };
	struct series series = { .type = h->type, .labels = s->ops->labels(s, labels, 2) };
	struct frame f = { .kind = FRAME_JIT,
			   .mapping = MAPPING_NONE,
			   .function = sink_string(s, function) };
	uint32_t frame = s->ops->frame(s, &f);
	struct sample sample = { .time_ns = time_ns,
				 .value = value,
				 .series = s->ops->series(s, &series),
				 .stack = s->ops->stack(s, &frame, 1),
				 .pid = 7,
				 .tid = 7,
				 .cpu = SAMPLE_NO_ID };
	s->ops->sample(s, &sample);
}

/* Host a has snapshots at minutes 1, 2 and 3, host b at 1 and 9. */
static struct heap heaps(void)
{
	struct heap h = { .p = profile_new() };
	struct sink *s = profile_sink(h.p);
	struct type t = { .name = sink_string(s, "inuse"),
			  .sample_type = sink_string(s, "inuse_space"),
			  .unit = sink_string(s, "bytes"),
			  .aggregation = AGG_SNAPSHOT };
	h.type = s->ops->type(s, &t);
	s->ops->meta(s)->duration_ns = 10 * MINUTE;
	add_heap(&h, "a", "main", "cache", 1 * MINUTE, 100);
	add_heap(&h, "a", "worker", "buffer", 1 * MINUTE, 10);
	add_heap(&h, "a", "main", "cache", 2 * MINUTE, 200);
	add_heap(&h, "a", "worker", "buffer", 2 * MINUTE, 20);
	add_heap(&h, "a", "main", "cache", 3 * MINUTE, 300); /* the worker has nothing left */
	add_heap(&h, "b", "main", "cache", 1 * MINUTE, 1000);
	add_heap(&h, "b", "main", "index", 9 * MINUTE, 7000);
	return h;
}

START_TEST(the_last_snapshot_of_each_source_counts)
{
	static const struct {
		int64_t to_ns, total, of_worker;
	} cases[] = {
		{ 1 * MINUTE, 0, 0 },         { 1 * MINUTE + 1, 1110, 10 },
		{ 2 * MINUTE + 1, 1220, 20 }, { 3 * MINUTE + 1, 1300, 0 },
		{ 6 * MINUTE + 1, 300, 0 }, /* b's is more than five minutes old */
		{ 8 * MINUTE + 1, 0, 0 },     { 10 * MINUTE, 7000, 0 },
	};
	struct heap h = heaps();
	struct source *s = source_of_profile(h.p);
	struct selector *worker = selector_of("inuse{comm=\"worker\"}");
	struct query q = query_of(s, h.type);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct profile *p;
		q.to_ns = cases[i].to_ns;
		q.selector = NULL;
		ck_assert_int_eq(total_in(&q, 0, q.to_ns), cases[i].total);
		ck_assert_int_eq(query_profile(&q, true, &p, NULL, NULL), 0);
		ck_assert_int_eq(profile_total(p, 0), cases[i].total);
		profile_free(p);
		q.selector = worker;
		ck_assert_int_eq(total_in(&q, 0, q.to_ns), cases[i].of_worker);
	}
	selector_free(worker);
	source_close(s);
	profile_free(h.p);
}
END_TEST

START_TEST(snapshots_over_time_are_not_added_up)
{
	static const int64_t a[] = { 0, 110, 220, 300, 300, 300, 300, 300, 0, 0 };
	static const int64_t b[] = { 0, 1000, 1000, 1000, 1000, 1000, 0, 0, 0, 7000 };
	struct heap h = heaps();
	struct source *s = source_of_profile(h.p);
	struct query q = query_of(s, h.type);
	struct query_range r;
	q.by[0] = "host";
	q.n_by = 1;
	q.from_ns = 0;
	q.to_ns = 10 * MINUTE;
	ck_assert_int_eq(query_range(&q, MINUTE, &r, NULL), 0);
	ck_assert_uint_eq(r.steps, 10);
	ck_assert_uint_eq(r.n_shown, 2);
	ck_assert_str_eq(r.names[r.order[0]], "b");
	for (int i = 0; i < 10; i++) {
		ck_assert_int_eq(r.sums[r.order[1] * r.steps + i], a[i]);
		ck_assert_int_eq(r.sums[r.order[0] * r.steps + i], b[i]);
	}
	ck_assert_int_eq(r.totals[r.order[0]], 7000);
	query_range_done(&r);
	source_close(s);
	profile_free(h.p);
}
END_TEST

/* --- limits, types, catalogs --- */

static bool yes(void *ctx)
{
	(void)ctx;
	return true;
}

START_TEST(limits_are_reported_in_words)
{
	struct random_profile r = random_profile(1, shape_of(2));
	struct source *s = source_of_profile(r.p);
	struct query q = query_of(s, r.cpu);
	struct query_tree t;
	struct query_range range;
	struct profile *p;
	struct err err = { 0 };
	q.limits.memory_bytes = 1000;
	ck_assert_int_eq(query_tree(&q, &t, &err), -ENOMEM);
	ck_assert_str_eq(err.text, "the result needs more memory than 1.00 kB");
	q.limits = (struct guard_limits){ .time_ns = 1 };
	ck_assert_int_ne(query_tree(&q, &t, &err), 0);
	q.limits = (struct guard_limits){ .stop = yes };
	ck_assert_int_eq(query_tree(&q, &t, &err), -ECANCELED);
	ck_assert_ptr_null(s->stop);
	q.limits = (struct guard_limits){ .rows = 5 };
	ck_assert_int_eq(query_profile(&q, true, &p, NULL, &err), -E2BIG);
	ck_assert_str_eq(err.text, "the result is larger than the limit of 5 rows");
	ck_assert_int_eq(query_range(&q, 1, &range, &err), -E2BIG);
	q.to_ns = q.from_ns + 1000000000000;
	ck_assert_int_eq(query_range(&q, 1, &range, &err), -E2BIG);
	q.to_ns = q.from_ns;
	ck_assert_int_eq(query_range(&q, 1, &range, &err), -EINVAL);
	q.limits = (struct guard_limits){ 0 };
	q.tree.focus = "(";
	ck_assert_int_eq(query_tree(&q, &t, &err), -EINVAL);
	source_close(s);
	profile_free(r.p);
}
END_TEST

START_TEST(a_selector_picks_its_type)
{
	static const struct {
		const char *text, *type;
		uint32_t others;
	} cases[] = { { "cpu", "cpu", 0 },
		      { "alloc_space{}", "alloc", 0 },
		      { "{comm=\"x\"}", "cpu", 1 },
		      { "lock", NULL, 0 } };
	struct random_profile r = random_profile(1, shape_of(1));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct selector *s = selector_of(cases[i].text);
		uint32_t others = 42, type = query_pick_type(r.p, s, &others);
		if (cases[i].type)
			ck_assert_str_eq(profile_str(r.p, r.p->series.types.v[type].name),
					 cases[i].type);
		else
			ck_assert_uint_eq(type, UINT32_MAX);
		ck_assert_uint_eq(others, cases[i].others);
		selector_free(s);
	}
	profile_free(r.p);
}
END_TEST

START_TEST(series_read_back_as_selectors)
{
	struct heap h = heaps();
	add_heap(&h, "\"q\" \\ \n", "a b", "f", MINUTE, 1);
	for (uint32_t i = 0; i < h.p->series.series.n; i++) {
		struct buf b = { 0 };
		catalog_series_text(h.p, i, &b);
		struct selector *s = selector_of(buf_cstr(&b));
		struct selector_match *m = selector_match_new(s, h.p);
		for (uint32_t k = 0; k < h.p->series.series.n; k++)
			ck_assert_int_eq(selector_match_series(m, k),
					 k == i ? SELECTS_ALL : SELECTS_NOTHING);
		selector_match_free(m);
		selector_free(s);
		buf_done(&b);
	}
	profile_free(h.p);
}
END_TEST

UNIT_MAIN("plan", trees_equal_those_of_the_samples, root_frames_equal_those_of_the_tree,
	  selectors_take_what_apply_leaves, ranges_are_trees_of_each_step,
	  profiles_equal_their_results, differences_equal_those_of_the_trees,
	  the_last_snapshot_of_each_source_counts, snapshots_over_time_are_not_added_up,
	  limits_are_reported_in_words, a_selector_picks_its_type, series_read_back_as_selectors)
