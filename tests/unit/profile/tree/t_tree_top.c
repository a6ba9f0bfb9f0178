// tier: test
/* Trees of sums by stack, whole and only their top, compared with tree_build (which t_tree compares with the naive way) and tree_prune. */
#include "base/err.h"
#include "base/mem.h"
#include "naive_tree.h"
#include "profile/tree/tree_path.h"
#include "profile/tree/tree_sums.h"
#include "random_profile.h"
#include "unit.h"

enum { SEEDS = 4 };
static const double SHARES[] = { 1e-9, 0.003, 0.02, 0.15, 2 };
enum { N_SHARES = sizeof SHARES / sizeof *SHARES };
static const struct tree_opts EACH_OPTION[] = {
	{ 0 },
	{ .focus = "fn_0[1-5]" },
	{ .focus = "no such function" },
	{ .ignore = "fn_1|named_0" },
	{ .hide = "fn_0|named_1" },
	{ .hide = "." },
	{ .focus = "fn_0", .ignore = "fn_1[0-3]", .hide = "kind:jit|gpu" },
	{ .no_kernel = true },
	{ .no_user = true, .collapse_recursion = true },
	{ .collapse_recursion = true },
	{ .collapse_recursion = true, .hide = "named" },
	{ .max_depth = 1 },
	{ .max_depth = 4, .collapse_recursion = true },
};
enum { OPTIONS = sizeof EACH_OPTION / sizeof *EACH_OPTION };

/* --- sums of a random profile --- */

struct sums {
	uint32_t *stack;
	int64_t *value;
	uint32_t n;
};

static struct sums sums_of(const struct random_profile *r)
{
	const struct profile *p = r->p;
	int64_t *all = xcalloc(p->stacks.stacks.n, sizeof *all);
	struct sums s = { .stack = xcalloc(p->stacks.stacks.n, sizeof *s.stack),
			  .value = xcalloc(p->stacks.stacks.n, sizeof *s.value) };
	for (size_t i = 0; i < p->samples.n; i++)
		if (p->series.series.v[p->samples.series[i]].type == r->cpu)
			all[p->samples.stack[i]] += p->samples.value[i];
	for (uint32_t i = 0; i < p->stacks.stacks.n; i++) {
		if (!all[i])
			continue;
		s.stack[s.n] = i;
		s.value[s.n++] = all[i];
	}
	free(all);
	return s;
}

static void add(struct tree_sums *to, struct random_profile *r, uint32_t root)
{
	struct sums s = sums_of(r);
	struct stack_values v = { .n = s.n, .stack = s.stack, .value = s.value, .factor = 1 };
	tree_sums_add(to, r->p, root, &v);
	free(s.stack);
	free(s.value);
}

/* Several profiles, one after another; below the roots "a" and "b" alternately, if requested. */
static struct tree *build(struct random_profile *r, int n, const struct tree_opts *o, bool roots)
{
	struct tree_sums s;
	struct err err = { 0 };
	const char *const names[] = { "a", "b" };
	ck_assert_int_eq(tree_sums_begin(&s, o, &err), 0);
	for (int i = 0; i < n; i++)
		add(&s, &r[i], roots ? tree_sums_root(&s, &names[i % 2], 1) : TREE_ROOT);
	struct tree *t = tree_sums_end(&s);
	assert_tree_sound(t);
	return t;
}

/* The name of a rest does not matter. */
static struct spelled spell_shown(struct tree *t)
{
	uint32_t rest = strtab_put(&t->strings, "rest");
	for (uint32_t i = 0; i < t->funcs.n; i++)
		if (t->funcs.v[i].kind == FRAME_REST)
			t->funcs.v[i].name = rest;
	return spell_tree(t);
}

static void assert_same_tree(struct tree *a, struct tree *b)
{
	struct spelled x = spell_shown(a), y = spell_shown(b);
	assert_spelled_eq(&x, &y);
	ck_assert_int_eq(a->nodes.v[TREE_ROOT].total, b->nodes.v[TREE_ROOT].total);
	ck_assert_int_eq(a->unfiltered_total, b->unfiltered_total);
	spelled_done(&x);
	spelled_done(&y);
	tree_free(a);
	tree_free(b);
}

/* --- tests --- */

START_TEST(sums_make_the_tree_of_samples)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct random_shape shape = { .n_stacks = 150, .n_samples = 500 };
		struct random_profile r = random_profile(seed, shape);
		for (int i = 0; i < OPTIONS; i++) {
			struct tree_opts o = EACH_OPTION[i];
			struct tree *want;
			struct err err = { 0 };
			o.type = r.cpu;
			ck_assert_int_eq(tree_build(r.p, &o, &want, &err), 0);
			assert_same_tree(build(&r, 1, &o, false), want);
		}
		profile_free(r.p);
	}
}
END_TEST

static void assert_top(struct random_profile *r, int n, const struct tree_opts *o, bool roots)
{
	for (int i = 0; i < N_SHARES; i++) {
		struct tree_opts top = *o;
		struct tree *want = build(r, n, o, roots);
		int64_t min = tree_min_total(want->nodes.v[TREE_ROOT].total, SHARES[i]);
		top.min_share = SHARES[i];
		/* an empty node is in no rest either */
		tree_prune(want, min);
		assert_same_tree(build(r, n, &top, roots), want);
	}
}

START_TEST(the_top_is_the_whole_tree_pruned)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct random_profile r[3];
		for (int i = 0; i < 3; i++)
			r[i] = random_profile(
				seed * 3 + i,
				(struct random_shape){ .n_stacks = 60 + 60 * i, .n_samples = 300 });
		for (int i = 0; i < OPTIONS; i++) {
			assert_top(r, 1, &EACH_OPTION[i], false);
			assert_top(r, 3, &EACH_OPTION[i], false);
			assert_top(r, 3, &EACH_OPTION[i], true);
		}
		for (int i = 0; i < 3; i++)
			profile_free(r[i].p);
	}
}
END_TEST

/* The path to a node, which also exists in other trees of the same data. */
static struct tree_path path_to(const struct tree *t, uint32_t node)
{
	struct tree_path path = { 0 };
	for (uint32_t id = node; id != TREE_ROOT; id = t->nodes.v[id].parent)
		vec_push(&path.funcs, 0);
	for (size_t i = path.funcs.n; i--; node = t->nodes.v[node].parent)
		path.funcs.v[i] = tree_func_number(t, t->nodes.v[node].func);
	return path;
}

static void assert_zoomed(struct random_profile *r, int n, const struct tree_opts *o, bool roots,
			  double share)
{
	struct tree *whole = build(r, n, o, roots);
	for (int i = 0; i < 2; i++) {
		struct tree_path zoom = path_to(whole, rng_below(&r->rng, whole->nodes.n));
		struct tree_opts top = *o;
		struct tree *want = build(r, n, o, roots);
		top.min_share = share;
		top.zoom = &zoom;
		tree_prune_share(want, share, &zoom, NULL);
		assert_same_tree(build(r, n, &top, roots), want);
		tree_path_done(&zoom);
	}
	tree_free(whole);
}

/* tests/web/tree_bin.test.js tests what tree_prune_share keeps. */
START_TEST(the_top_of_a_zoom_is_the_whole_tree_pruned)
{
	struct random_profile r[2];
	for (int i = 0; i < 2; i++)
		r[i] = random_profile(91 + i,
				      (struct random_shape){ .n_stacks = 90, .n_samples = 300 });
	for (int i = 0; i < OPTIONS; i++)
		for (int k = 1; k < N_SHARES; k += 2) {
			assert_zoomed(r, 1, &EACH_OPTION[i], false, SHARES[k]);
			assert_zoomed(r, 2, &EACH_OPTION[i], false, SHARES[k]);
			assert_zoomed(r, 2, &EACH_OPTION[i], true, SHARES[k]);
		}
	for (int i = 0; i < 2; i++)
		profile_free(r[i].p);
}
END_TEST

START_TEST(a_large_table_s_top_is_the_whole_tree_pruned)
{
	struct random_shape shape = { .n_stacks = 4000, .n_samples = 15000 };
	struct random_profile r = random_profile(5, shape);
	assert_top(&r, 1, &(struct tree_opts){ 0 }, false);
	assert_top(&r, 1, &(struct tree_opts){ .collapse_recursion = true }, true);
	profile_free(r.p);
}
END_TEST

/* Cached results are valid only as long as the names. */
START_TEST(later_names_are_shown)
{
	struct random_shape shape = { .n_stacks = 150, .n_samples = 500 };
	struct random_profile r = random_profile(77, shape);
	struct tree_opts o = { .type = r.cpu }, top = { .type = r.cpu, .min_share = 0.01 };
	for (uint32_t round = 0; round < 20; round++) {
		struct naive_result want = naive_build(r.p, &o, NULL);
		struct tree *t = build(&r, 1, &o, false);
		struct spelled got = spell_tree(t);
		assert_spelled_eq(&got, &want.spelled);
		tree_prune(t, tree_min_total(t->nodes.v[TREE_ROOT].total, top.min_share));
		assert_same_tree(build(&r, 1, &top, false), t);
		spelled_done(&got);
		spelled_done(&want.spelled);

		char text[32];
		snprintf(text, sizeof text, "later_%u", round);
		struct function f = { .name = strtab_put(&r.p->strings, text) };
		struct line lines[2] = { { .function = function_intern(&r.p->names, &f) } };
		lines[1] = lines[0];
		for (uint32_t i = 0; i < r.p->frames.frames.n; i++)
			if (rng_below(&r.rng, 4) == 0)
				names_set(&r.p->names, i, lines, 1 + rng_below(&r.rng, 2));
	}
	profile_free(r.p);
}
END_TEST

/* Later stacks are included, with new frames. */
START_TEST(later_stacks_are_shown)
{
	struct profile *p = profile_new();
	uint32_t stack[40], frames[3];
	int64_t value[40];
	struct tree_opts o = { .min_share = 1e-9 };
	for (uint32_t n = 1; n <= 40; n++) {
		struct tree_sums s;
		struct err err = { 0 };
		for (uint32_t i = 0; i < 3; i++) {
			struct frame f = { .kind = FRAME_JIT, .mapping = MAPPING_NONE };
			char text[32];
			snprintf(text, sizeof text, "f%u", i * n % 17);
			f.function = strtab_put(&p->strings, text);
			frames[i] = frame_intern(&p->frames, &f);
		}
		stack[n - 1] = stack_intern(&p->stacks, frames, 3);
		value[n - 1] = n;
		struct stack_values v = { 1, &stack[n - 1], &value[n - 1], NULL, NULL, NULL, 1 };
		ck_assert_int_eq(tree_sums_begin(&s, &o, &err), 0);
		tree_sums_add(&s, p, TREE_ROOT, &v);
		struct tree *t = tree_sums_end(&s);
		ck_assert_uint_eq(t->nodes.n, 4);
		ck_assert_int_eq(t->nodes.v[3].self, n);
		tree_free(t);
	}
	profile_free(p);
}
END_TEST

UNIT_MAIN("tree_top", sums_make_the_tree_of_samples, the_top_is_the_whole_tree_pruned,
	  the_top_of_a_zoom_is_the_whole_tree_pruned, a_large_table_s_top_is_the_whole_tree_pruned,
	  later_names_are_shown, later_stacks_are_shown)
