// tier: test
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "naive_tree.h"
#include "random_profile.h"
#include "unit.h"

#include <errno.h>

enum { SEEDS = 10 };
static const struct random_shape SMALL = { .n_stacks = 120, .n_samples = 400 };

static struct tree *build(struct profile *p, const struct tree_opts *o)
{
	struct tree *t = NULL;
	struct err err = { 0 };
	ck_assert_msg(tree_build(p, o, &t, &err) == 0, "%s", err.text);
	assert_tree_sound(t);
	return t;
}

/* The tree equals the naive one, for the same options. */
static void assert_like_naive(struct profile *p, const struct tree_opts *o, const int64_t *factor)
{
	struct naive_result want = naive_build(p, o, factor);
	struct tree *t = build(p, o);
	struct spelled got = spell_tree(t);
	assert_spelled_eq(&got, &want.spelled);
	ck_assert_int_eq(t->nodes.v[TREE_ROOT].total, want.total);
	ck_assert_int_eq(t->unfiltered_total, want.unfiltered_total);
	ck_assert_uint_eq(t->n_samples, want.n_samples);
	spelled_done(&got);
	spelled_done(&want.spelled);
	tree_free(t);
}

/* The caller sets the type. */
static const struct tree_opts EACH_OPTION[] = {
	{ 0 },
	{ .focus = "fn_0[1-5]" },
	{ .focus = "no such function" },
	{ .focus = "fn_0\nfn_1" },
	{ .focus = "fn_0\nno such function" },
	{ .ignore = "fn_03\nkind:python", .hide = "fn_00\nbinary:^libc" },
	{ .focus = "binary:^libc" },
	{ .focus = "file:app\\.py$|file3" },
	{ .ignore = "fn_1|named_0" },
	{ .ignore = "kind:^kernel$" },
	{ .ignore = "." },
	{ .hide = "fn_0|named_1" },
	{ .hide = "binary:." },
	{ .hide = "." },
	{ .focus = "fn_0", .ignore = "fn_1[0-3]", .hide = "kind:jit|gpu" },
	{ .no_kernel = true },
	{ .no_user = true },
	{ .no_kernel = true, .no_user = true },
	{ .collapse_recursion = true },
	{ .collapse_recursion = true, .hide = "named" },
	{ .max_depth = 1 },
	{ .max_depth = 4, .collapse_recursion = true },
	{ .inverted = true },
	{ .inverted = true, .collapse_recursion = true, .max_depth = 3 },
	{ .inverted = true, .focus = "fn_02", .no_user = true },
	{ .time_from_ns = 200 },
	{ .time_to_ns = 700 },
	{ .time_from_ns = 300, .time_to_ns = 500 },
	{ .time_from_ns = 2000 },
	{ .by = { BY_COMM }, .n_by = 1 },
	{ .by = { BY_PID }, .n_by = 1 },
	{ .by = { BY_TID }, .n_by = 1, .focus = "fn_0" },
	{ .by = { BY_PROCESS, BY_NONE, BY_CPU }, .n_by = 3 },
	{ .by = { BY_CONTAINER }, .n_by = 1, .inverted = true },
	{ .by = { BY_PROCESS, BY_TID, BY_CPU, BY_COMM }, .n_by = 4, .hide = "fn" },
	{ .by = { BY_COMM, BY_CPU }, .n_by = 2, .inverted = true, .max_depth = 4 },
	{ .by = { BY_COMM, BY_CPU }, .n_by = 2, .max_depth = 1 },
	{ .by = { BY_COMM }, .n_by = 1, .collapse_recursion = true, .ignore = "fn_07" },
};
enum { OPTIONS = sizeof EACH_OPTION / sizeof *EACH_OPTION };

START_TEST(every_option_gives_what_the_naive_way_finds)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct random_profile r = random_profile(seed, SMALL);
		for (int i = 0; i < OPTIONS; i++) {
			struct tree_opts o = EACH_OPTION[i];
			o.type = seed % 5 ? r.cpu : r.alloc;
			assert_like_naive(r.p, &o, NULL);
		}
		profile_free(r.p);
	}
}
END_TEST

static const char *pick(struct rng *r, const char *const *of, uint32_t n)
{
	return rng_below(r, 3) ? NULL : of[rng_below(r, n)];
}

START_TEST(options_together_give_what_the_naive_way_finds)
{
	static const char *const patterns[] = {
		"fn_0",          "fn_.[02468]",       "named",
		"binary:server", "file:file[12]",     "kind:native|python",
		"^fn_11$",       "fn_0\nfn_.[13579]", "fn_0[0-4]\nkind:python\nfn_1"
	};
	struct rng rng = { 4711 };
	for (uint64_t seed = 100; seed < 200; seed++) {
		struct random_shape shape = SMALL;
		shape.waits = seed % 2;
		struct random_profile r = random_profile(seed, shape);
		struct tree_opts o = { .type = rng_below(&rng, 4) ? r.cpu : r.alloc };
		o.focus = pick(&rng, patterns, 9);
		o.ignore = pick(&rng, patterns, 9);
		o.hide = pick(&rng, patterns, 9);
		o.n_by = rng_below(&rng, TREE_BY_MAX + 1);
		for (int i = 0; i < o.n_by; i++)
			o.by[i] = rng_below(&rng, BY_KEYS);
		o.inverted = rng_below(&rng, 2);
		o.collapse_recursion = rng_below(&rng, 2);
		o.no_kernel = rng_below(&rng, 4) == 0;
		o.no_user = rng_below(&rng, 6) == 0;
		o.max_depth = rng_below(&rng, 3) ? 0 : 1 + rng_below(&rng, 8);
		o.time_from_ns = rng_below(&rng, 3) ? 0 : rng_below(&rng, 1000);
		o.time_to_ns = rng_below(&rng, 3) ? 0 : rng_below(&rng, 1000);
		assert_like_naive(r.p, &o, NULL);
		profile_free(r.p);
	}
}
END_TEST

START_TEST(a_tree_larger_than_any_list_is_like_the_naive_one)
{
	struct random_shape shape = { .n_stacks = 6000, .n_samples = 20000 };
	struct random_profile r = random_profile(7, shape);
	struct tree_opts o = { .type = r.cpu };
	assert_like_naive(r.p, &o, NULL);
	o.by[o.n_by++] = BY_TID;
	o.inverted = true;
	assert_like_naive(r.p, &o, NULL);
	profile_free(r.p);
}
END_TEST

START_TEST(equal_periods_scale_counts_to_time)
{
	struct random_profile r = random_profile(3, SMALL);
	struct tree *t = build(r.p, &(struct tree_opts){ .type = r.cpu });
	ck_assert_str_eq(t->type_name, "cpu");
	ck_assert_str_eq(t->unit, "samples");
	ck_assert_double_eq(t->scale, 1000);
	ck_assert_str_eq(t->scaled_unit, "nanoseconds");
	tree_free(t);
	t = build(r.p, &(struct tree_opts){ .type = r.alloc });
	ck_assert_str_eq(t->unit, "bytes");
	ck_assert_double_eq(t->scale, 0);
	ck_assert_ptr_null(t->scaled_unit);
	tree_free(t);
	profile_free(r.p);
}
END_TEST

START_TEST(different_periods_add_up_in_the_period_s_unit)
{
	struct random_shape shape = SMALL;
	shape.periods_differ = true;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct random_profile r = random_profile(seed, shape);
		int64_t factor[RANDOM_SERIES];
		for (int i = 0; i < RANDOM_SERIES; i++)
			factor[i] = r.p->series.series.v[i].period;
		struct tree_opts o = { .type = r.cpu, .by = { BY_COMM }, .n_by = 1 };
		assert_like_naive(r.p, &o, factor);
		struct tree *t = build(r.p, &o);
		ck_assert_str_eq(t->unit, "nanoseconds");
		ck_assert_double_eq(t->scale, 0);
		tree_free(t);
		profile_free(r.p);
	}
}
END_TEST

/* A marker with the thread's name is still a frame of the stack. */
START_TEST(root_frames_are_not_recursion)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "cpu") };
	struct frame f = { .kind = FRAME_MARKER, .mapping = MAPPING_NONE };
	f.function = sink_string(s, "?");
	uint32_t frame = s->ops->frame(s, &f);
	struct series series = { .type = s->ops->type(s, &type) };
	struct sample sample = { .value = 1, .series = s->ops->series(s, &series) };
	sample.stack = s->ops->stack(s, (uint32_t[]){ frame, frame }, 2);
	s->ops->sample(s, &sample);
	struct tree_opts o = { .by = { BY_COMM }, .n_by = 1, .collapse_recursion = true };
	struct tree *t = build(p, &o);
	ck_assert_uint_eq(tree_depth(t), 2);
	tree_free(t);
	profile_free(p);
}
END_TEST

START_TEST(bad_input_is_refused_with_words)
{
	struct random_profile r = random_profile(1, SMALL);
	struct tree *t = NULL;
	struct err err = { 0 };
	struct tree_opts o = { .type = r.cpu, .focus = "fn", .hide = "file:(" };
	ck_assert_int_eq(tree_build(r.p, &o, &t, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "hide: bad regular expression '('"));
	ck_assert_ptr_null(t);
	o = (struct tree_opts){ .type = 99 };
	ck_assert_int_eq(tree_build(r.p, &o, &t, NULL), -EINVAL);
	profile_free(r.p);
}
END_TEST

START_TEST(an_empty_profile_is_a_bare_root)
{
	struct random_profile r = random_profile(1, (struct random_shape){ 0 });
	for (int i = 0; i < OPTIONS; i++) {
		struct tree *t = build(r.p, &EACH_OPTION[i]);
		ck_assert_uint_eq(t->nodes.n, 1);
		ck_assert_int_eq(t->nodes.v[TREE_ROOT].total, 0);
		tree_free(t);
	}
	profile_free(r.p);
}
END_TEST

START_TEST(values_at_the_ends_of_their_range_do_not_overflow)
{
	struct random_profile r = random_profile(1, (struct random_shape){ .n_stacks = 3 });
	struct sink *s = profile_sink(r.p);
	struct sample sample = { .time_ns = INT64_MIN, .value = INT64_MAX, .stack = 1 };
	for (int i = 0; i < 4; i++)
		s->ops->sample(s, &sample);
	sample.value = INT64_MAX - 1;
	sample.stack = 2;
	s->ops->sample(s, &sample);
	struct tree_opts o = { .type = r.cpu, .time_to_ns = 5 };
	struct tree *t = NULL;
	ck_assert_int_eq(tree_build(r.p, &o, &t, NULL), 0);
	ck_assert_int_eq(t->nodes.v[TREE_ROOT].total, INT64_MAX);
	tree_free(t);
	profile_free(r.p);
}
END_TEST

/* --- trees from elsewhere --- */

/* Adds "a;b;c" with a self value on either side. */
static void add_path(struct tree *t, const char *path, int64_t self, int64_t other)
{
	uint32_t node = TREE_ROOT;
	for (const char *s = path; *s;) {
		size_t len = strcspn(s, ";");
		struct tree_func f = { .name = strtab_putn(&t->strings, s, len) };
		node = tree_child(t, node, tree_func_intern(t, &f));
		s += len + (s[len] == ';');
	}
	t->nodes.v[node].self += self;
	t->nodes.v[node].other_self += other;
}

static uint32_t find_path(const struct tree *t, const char *path)
{
	for (uint32_t i = 0; i < t->nodes.n; i++) {
		struct buf b = { 0 };
		for (uint32_t n = i, first = 1; n != TREE_ROOT;
		     n = t->nodes.v[n].parent, first = 0) {
			const char *name =
				strtab_get(&t->strings, t->funcs.v[t->nodes.v[n].func].name);
			struct buf longer = { 0 };
			buf_addf(&longer, "%s%s%.*s", name, first ? "" : ";", (int)b.len, b.data);
			buf_done(&b);
			b = longer;
		}
		bool found = strcmp(buf_cstr(&b), path) == 0;
		buf_done(&b);
		if (found)
			return i;
	}
	return TREE_NONE;
}

START_TEST(totals_of_a_known_tree)
{
	struct tree *t = tree_new();
	add_path(t, "main;a;b", 5, 1);
	add_path(t, "main;a", 2, 0);
	add_path(t, "main;c;b", 3, 0);
	add_path(t, "", 1, 0);
	tree_total(t);
	assert_tree_sound(t);
	ck_assert_str_eq(strtab_get(&t->strings, t->funcs.v[0].name), "all");
	ck_assert_int_eq(t->nodes.v[TREE_ROOT].total, 11);
	ck_assert_int_eq(t->nodes.v[find_path(t, "main")].total, 10);
	ck_assert_int_eq(t->nodes.v[find_path(t, "main;a")].total, 7);
	ck_assert_int_eq(t->nodes.v[find_path(t, "main;a")].other_total, 1);
	ck_assert_int_eq(t->nodes.v[find_path(t, "main;c;b")].total, 3);
	ck_assert_uint_eq(tree_depth(t), 3);
	ck_assert_uint_eq(find_path(t, "main;c;c"), TREE_NONE);
	tree_free(t);
}
END_TEST

START_TEST(many_children_are_found_again)
{
	struct tree *t = tree_new();
	char path[32];
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 2000; i++) {
			snprintf(path, sizeof path, "p%d;c%d", i % 7, i);
			add_path(t, path, 1, 0);
		}
		tree_total(t);
		tree_sort(t, round ? ORDER_NAME : ORDER_TOTAL);
	}
	assert_tree_sound(t);
	ck_assert_uint_eq(t->nodes.n, 1 + 7 + 2000);
	ck_assert_int_eq(t->nodes.v[TREE_ROOT].total, 6000);
	tree_free(t);
}
END_TEST

/* --- merge and difference --- */

static struct tree *tree_of(uint64_t seed, struct random_shape shape)
{
	struct random_profile r = random_profile(seed, shape);
	struct tree *t = build(r.p, &(struct tree_opts){ .type = r.cpu });
	profile_free(r.p);
	return t;
}

static struct tree *merged(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t seeds[] = { a, b, c };
	struct tree *t = tree_new();
	for (int i = 0; i < 3; i++) {
		struct tree *one = tree_of(seeds[i], SMALL);
		tree_merge(t, one);
		tree_free(one);
	}
	assert_tree_sound(t);
	return t;
}

static void assert_same_and_free(struct tree *a, struct tree *b)
{
	struct spelled x = spell_tree(a), y = spell_tree(b);
	assert_spelled_eq(&x, &y);
	ck_assert_str_eq(a->unit, b->unit);
	ck_assert_double_eq(a->scale, b->scale);
	ck_assert_int_eq(a->unfiltered_total, b->unfiltered_total);
	ck_assert_uint_eq(a->n_samples, b->n_samples);
	spelled_done(&x);
	spelled_done(&y);
	tree_free(a);
	tree_free(b);
}

START_TEST(merging_trees_in_any_order_is_the_same)
{
	for (uint64_t s = 1; s < 10; s++) {
		assert_same_and_free(merged(s, s + 1, s + 2), merged(s + 2, s, s + 1));
		struct tree *left = merged(s, s + 1, s + 2), *tail = tree_of(s + 1, SMALL);
		struct tree *last = tree_of(s + 2, SMALL), *right = tree_of(s, SMALL);
		tree_merge(tail, last);
		tree_merge(right, tail);
		assert_same_and_free(left, right);
		tree_free(tail);
		tree_free(last);
	}
}
END_TEST

START_TEST(a_merge_equals_the_tree_of_the_merged_profiles)
{
	for (uint64_t s = 1; s < 10; s++) {
		struct random_profile a = random_profile(s, SMALL), b = random_profile(s, SMALL);
		struct tree_opts o = { .type = a.cpu };
		struct tree *x = build(a.p, &o), *y = build(b.p, &o);
		tree_merge(x, y);
		tree_free(y);
		profile_merge(a.p, b.p);
		assert_same_and_free(x, build(a.p, &o));
		profile_free(a.p);
		profile_free(b.p);
	}
}
END_TEST

START_TEST(the_difference_of_a_tree_and_itself_is_zero)
{
	for (uint64_t s = 1; s < 10; s++) {
		struct tree *a = tree_of(s, SMALL), *b = tree_of(s, SMALL);
		tree_diff(a, b, true);
		assert_tree_sound(a);
		ck_assert(a->is_diff);
		for (uint32_t i = 0; i < a->nodes.n; i++) {
			const struct tree_node *n = &a->nodes.v[i];
			if (n->self != n->other_self || n->total != n->other_total)
				ck_abort_msg("node %u differs", i);
		}
		tree_free(a);
		tree_free(b);
	}
}
END_TEST

START_TEST(a_difference_has_both_sides)
{
	for (uint64_t s = 1; s < 10; s++) {
		struct tree *a = tree_of(s, SMALL), *b = tree_of(s + 50, SMALL);
		int64_t newer = a->nodes.v[0].total, older = b->nodes.v[0].total;
		struct spelled want = spell_tree(a), other = spell_tree(b);
		for (size_t i = 0; i < other.rows.n; i++)
			vec_push(&want.rows, (struct spelled_path){ other.rows.v[i].path, 0,
								    other.rows.v[i].value });
		vec_done(&other.rows);
		spelled_normal(&want);
		tree_diff(a, b, true);
		struct spelled got = spell_tree(a);
		assert_spelled_eq(&got, &want);
		assert_tree_sound(a);
		ck_assert_int_eq(a->nodes.v[0].total, newer);
		ck_assert_int_eq(a->nodes.v[0].other_total, older);
		spelled_done(&got);
		spelled_done(&want);
		tree_free(a);
		tree_free(b);
	}
}
END_TEST

/* 300 samples at 10 ms and 100 at 30 ms are the same time. */
START_TEST(counts_of_different_periods_meet_in_their_unit)
{
	struct tree *fast = tree_new(), *slow = tree_new(), *sum = tree_new();
	fast->unit = slow->unit = strtab_get(&fast->strings, strtab_put(&fast->strings, "samples"));
	fast->scaled_unit = slow->scaled_unit =
		strtab_get(&fast->strings, strtab_put(&fast->strings, "nanoseconds"));
	fast->scale = 10e6;
	slow->scale = 30e6;
	add_path(fast, "main;a", 300, 0);
	add_path(slow, "main;a", 100, 0);
	tree_total(fast);
	tree_total(slow);
	tree_merge(sum, fast);
	ck_assert_str_eq(sum->unit, "samples");
	tree_merge(sum, slow);
	ck_assert_str_eq(sum->unit, "nanoseconds");
	ck_assert_int_eq(sum->nodes.v[0].total, 6000000000);
	tree_diff(slow, sum, false);
	ck_assert_int_eq(slow->nodes.v[0].total, 3000000000);
	ck_assert_int_eq(slow->nodes.v[0].other_total, 6000000000);
	tree_free(slow);
	tree_free(fast);
	tree_free(sum);
}
END_TEST

/* --- shape --- */

static const char *child_name(const struct tree *t, uint32_t node)
{
	return strtab_get(&t->strings, t->funcs.v[t->nodes.v[node].func].name);
}

START_TEST(siblings_are_sorted)
{
	for (int order = ORDER_NAME; order <= ORDER_TOTAL; order++) {
		struct random_shape shape = { .n_stacks = 2000, .n_samples = 6000 };
		struct tree *t = tree_of(11, shape);
		struct spelled before = spell_tree(t);
		tree_sort(t, order);
		assert_tree_sound(t);
		for (uint32_t i = 1; i < t->nodes.n; i++) {
			uint32_t next = t->nodes.v[i].next;
			if (next == TREE_NONE)
				continue;
			int64_t step = t->nodes.v[i].total - t->nodes.v[next].total;
			if (order == ORDER_TOTAL && step < 0)
				ck_abort_msg("%s is not the bigger one", child_name(t, i));
			if ((order == ORDER_NAME || step == 0) &&
			    strcmp(child_name(t, i), child_name(t, next)) > 0)
				ck_abort_msg("%s before %s", child_name(t, i), child_name(t, next));
		}
		struct spelled after = spell_tree(t);
		assert_spelled_eq(&before, &after);
		spelled_done(&before);
		spelled_done(&after);
		tree_free(t);
	}
}
END_TEST

START_TEST(pruning_preserves_totals_and_counts_the_rest)
{
	for (uint64_t s = 1; s <= SEEDS; s++) {
		struct random_shape shape = { .n_stacks = 500, .n_samples = 3000 };
		struct tree *t = tree_of(s, shape), *whole = tree_of(s, shape);
		tree_sort(t, ORDER_NAME);
		uint32_t before = t->nodes.n, gone = tree_prune(t, 40), rests = 0, counted = 0;
		assert_tree_sound(t);
		ck_assert_int_eq(t->nodes.v[0].total, whole->nodes.v[0].total);
		for (uint32_t i = 1; i < t->nodes.n; i++) {
			const struct tree_node *n = &t->nodes.v[i];
			bool rest = t->funcs.v[n->func].kind == FRAME_REST;
			unsigned frames = 0;
			if (!rest && llabs(n->total) < 40)
				ck_abort_msg("%s: %lld", child_name(t, i), (long long)n->total);
			if (!rest)
				continue;
			ck_assert_uint_eq(n->first_child, TREE_NONE);
			ck_assert_uint_eq(n->next, TREE_NONE);
			ck_assert_int_eq(sscanf(child_name(t, i), "(%u frame", &frames), 1);
			ck_assert_ptr_nonnull(strstr(child_name(t, i), " below 40)"));
			counted += frames;
			rests++;
		}
		ck_assert_uint_gt(gone, 0);
		ck_assert_uint_eq(counted, gone);
		ck_assert_uint_eq(t->nodes.n, before - gone + rests);
		tree_free(t);
		tree_free(whole);
	}
}
END_TEST

START_TEST(a_pruned_tree_grows_again)
{
	struct tree *t = tree_of(5, (struct random_shape){ .n_stacks = 500, .n_samples = 3000 });
	struct tree *other =
		tree_of(5, (struct random_shape){ .n_stacks = 500, .n_samples = 3000 });
	struct tree *fresh = tree_new();
	tree_prune(t, 100);
	tree_merge(fresh, t);
	tree_merge(fresh, other);
	tree_merge(t, other);
	assert_same_and_free(fresh, t);
	tree_free(other);
}
END_TEST

START_TEST(pruning_at_nothing_changes_nothing)
{
	struct tree *t = tree_of(6, SMALL), *same = tree_of(6, SMALL);
	ck_assert_uint_eq(tree_prune(t, 0), 0);
	ck_assert_uint_eq(tree_prune(t, INT64_MIN), 0);
	assert_same_and_free(t, same);
}
END_TEST

START_TEST(a_known_tree_is_pruned)
{
	struct tree *t = tree_new();
	add_path(t, "main;big", 90, 0);
	add_path(t, "main;small;deep", 2, 1);
	add_path(t, "main;small", 1, 0);
	add_path(t, "main;old", 0, 50);
	add_path(t, "main;tiny", 4, 0);
	tree_total(t);
	ck_assert_uint_eq(tree_prune(t, 10), 3);
	assert_tree_sound(t);
	uint32_t rest = find_path(t, "main;(3 frames below 10)");
	ck_assert_uint_ne(rest, TREE_NONE);
	ck_assert_int_eq(t->nodes.v[rest].self, 7);
	ck_assert_int_eq(t->nodes.v[rest].other_self, 1);
	ck_assert_uint_ne(find_path(t, "main;old"), TREE_NONE);
	ck_assert_uint_eq(t->nodes.n, 5);
	tree_free(t);
}
END_TEST

START_TEST(turning_round_twice_is_nothing)
{
	for (uint32_t keep = 0; keep < 3; keep++) {
		struct tree *t = tree_of(8, SMALL), *same = tree_of(8, SMALL);
		tree_invert(t, keep);
		ck_assert(t->is_inverted);
		assert_tree_sound(t);
		tree_invert(t, keep);
		ck_assert(!t->is_inverted);
		assert_same_and_free(t, same);
	}
}
END_TEST

UNIT_MAIN("tree", every_option_gives_what_the_naive_way_finds,
	  options_together_give_what_the_naive_way_finds,
	  a_tree_larger_than_any_list_is_like_the_naive_one, equal_periods_scale_counts_to_time,
	  different_periods_add_up_in_the_period_s_unit, root_frames_are_not_recursion,
	  bad_input_is_refused_with_words, an_empty_profile_is_a_bare_root,
	  values_at_the_ends_of_their_range_do_not_overflow, totals_of_a_known_tree,
	  many_children_are_found_again, merging_trees_in_any_order_is_the_same,
	  a_merge_equals_the_tree_of_the_merged_profiles,
	  the_difference_of_a_tree_and_itself_is_zero, a_difference_has_both_sides,
	  counts_of_different_periods_meet_in_their_unit, siblings_are_sorted,
	  pruning_preserves_totals_and_counts_the_rest, a_pruned_tree_grows_again,
	  pruning_at_nothing_changes_nothing, a_known_tree_is_pruned,
	  turning_round_twice_is_nothing)
