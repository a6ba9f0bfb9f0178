// tier: test
#include "naive_tree.h"
#include "random_profile.h"
#include "unit.h"

#include "base/err.h"
#include "profile/tree/top.h"

#include <errno.h>

static const struct random_shape SHAPE = { .n_stacks = 300, .n_samples = 1500 };

static struct tree *random_tree(uint64_t seed)
{
	struct random_profile r = random_profile(seed, SHAPE);
	struct tree *t = NULL;
	ck_assert_int_eq(tree_build(r.p, &(struct tree_opts){ .type = r.cpu }, &t, NULL), 0);
	profile_free(r.p);
	return t;
}

static const char *func_name(const struct tree *t, uint32_t func)
{
	return strtab_get(&t->strings, t->funcs.v[func].name);
}

/* Adds "a;b;c", root first. */
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

static const struct top_row *find_row(const struct tree *t, const struct top_table *top,
				      const char *name)
{
	for (size_t i = 0; i < top->rows.n; i++)
		if (strcmp(func_name(t, top->rows.v[i].func), name) == 0)
			return &top->rows.v[i];
	ck_abort_msg("no row of %s", name);
}

START_TEST(recursion_is_counted_once)
{
	struct tree *t = tree_new();
	struct top_table top;
	add_path(t, "main;f;f;g;f", 5, 1);
	add_path(t, "main;f;g", 3, 0);
	add_path(t, "main;g", 2, 0);
	add_path(t, "f", 1, 0);
	tree_total(t);
	top_build(t, &top);
	ck_assert_int_eq(top.total, 11);
	ck_assert_uint_eq(top.rows.n, 3);
	ck_assert_int_eq(find_row(t, &top, "f")->self, 6);
	ck_assert_int_eq(find_row(t, &top, "f")->total, 9);
	ck_assert_int_eq(find_row(t, &top, "f")->other_total, 1);
	ck_assert_int_eq(find_row(t, &top, "g")->self, 5);
	ck_assert_int_eq(find_row(t, &top, "g")->total, 10);
	ck_assert_int_eq(find_row(t, &top, "main")->self, 0);
	ck_assert_int_eq(find_row(t, &top, "main")->total, 10);
	ck_assert_str_eq(func_name(t, top.rows.v[0].func), "f");
	ck_assert_str_eq(func_name(t, top.rows.v[1].func), "g");
	top_done(&top);
	tree_free(t);
}
END_TEST

/* The same function, as the table defines it. */
static bool same_row(const struct tree_func *a, const struct tree_func *b)
{
	return a->name == b->name && a->binary == b->binary && a->file == b->file &&
	       a->kind == b->kind;
}

static bool is_outermost(const struct tree *t, uint32_t node, const struct tree_func *f)
{
	for (uint32_t up = t->nodes.v[node].parent; up != TREE_ROOT; up = t->nodes.v[up].parent)
		if (same_row(&t->funcs.v[t->nodes.v[up].func], f))
			return false;
	return true;
}

/* self and total of a function, node by node. */
static struct top_row naive_row(const struct tree *t, uint32_t func)
{
	struct top_row r = { .func = func };
	const struct tree_func *f = &t->funcs.v[func];
	for (uint32_t i = 1; i < t->nodes.n; i++) {
		if (!same_row(&t->funcs.v[t->nodes.v[i].func], f))
			continue;
		r.self += t->nodes.v[i].self;
		r.other_self += t->nodes.v[i].other_self;
		if (is_outermost(t, i, f)) {
			r.total += t->nodes.v[i].total;
			r.other_total += t->nodes.v[i].other_total;
		}
	}
	return r;
}

static void assert_sorted(const struct tree *t, const struct top_table *top)
{
	for (size_t i = 1; i < top->rows.n; i++) {
		const struct top_row *a = &top->rows.v[i - 1], *b = &top->rows.v[i];
		bool ok = a->self != b->self ? a->self > b->self
			  : a->total != b->total
				  ? a->total > b->total
				  : strcmp(func_name(t, a->func), func_name(t, b->func)) <= 0;
		if (!ok)
			ck_abort_msg("row %zu is out of order", i);
	}
}

START_TEST(random_tables_are_what_counting_node_by_node_gives)
{
	for (uint64_t seed = 1; seed < 12; seed++) {
		struct tree *t = random_tree(seed), *older = random_tree(seed + 30);
		struct top_table top;
		int64_t self = t->nodes.v[TREE_ROOT].self;
		if (seed % 2)
			tree_diff(t, older, false);
		top_build(t, &top);
		for (size_t i = 0; i < top.rows.n; i++) {
			const struct top_row *r = &top.rows.v[i];
			struct top_row want = naive_row(t, r->func);
			if (r->self != want.self || r->total != want.total ||
			    r->other_self != want.other_self || r->other_total != want.other_total)
				ck_abort_msg("row of %s", func_name(t, r->func));
			self += r->self;
		}
		ck_assert_int_eq(self, t->nodes.v[TREE_ROOT].total);
		assert_sorted(t, &top);
		top_done(&top);
		tree_free(t);
		tree_free(older);
	}
}
END_TEST

START_TEST(an_empty_tree_has_an_empty_table)
{
	struct tree *t = tree_new(), *a = NULL, *b = NULL;
	struct top_table top;
	tree_total(t);
	top_build(t, &top);
	ck_assert_uint_eq(top.rows.n, 0);
	ck_assert_int_eq(top.total, 0);
	ck_assert_int_eq(top_callers(t, "all", &a, &b, NULL), -ENOENT);
	top_done(&top);
	tree_free(t);
}
END_TEST

static int64_t self_of(const struct tree *t, const char *path)
{
	struct spelled s = spell_tree(t);
	int64_t value = 0;
	for (size_t i = 0; i < s.rows.n; i++)
		if (strcmp(s.rows.v[i].path, path) == 0)
			value = s.rows.v[i].value;
	spelled_done(&s);
	return value;
}

#define NODE(name) ";" name "|||native"

START_TEST(callers_and_callees_of_a_known_function)
{
	struct tree *t = tree_new(), *callers, *callees;
	add_path(t, "main;a;f;x", 5, 0);
	add_path(t, "main;a;f;y;f;x", 3, 0);
	add_path(t, "main;b;f", 2, 0);
	add_path(t, "f;x", 1, 0);
	add_path(t, "main;b", 100, 0);
	tree_total(t);
	ck_assert_int_eq(top_callers(t, "f", &callers, &callees, NULL), 0);
	assert_tree_sound(callers);
	assert_tree_sound(callees);
	ck_assert_str_eq(func_name(callers, 0), "f");
	ck_assert_str_eq(func_name(callees, 0), "f");
	ck_assert(callers->is_inverted && !callees->is_inverted);
	ck_assert_int_eq(callers->nodes.v[TREE_ROOT].total, 11);
	ck_assert_int_eq(callees->nodes.v[TREE_ROOT].total, 11);
	ck_assert_int_eq(callers->nodes.v[TREE_ROOT].self, 1);
	ck_assert_int_eq(self_of(callers, NODE("a") NODE("main")), 8);
	ck_assert_int_eq(self_of(callers, NODE("b") NODE("main")), 2);
	ck_assert_int_eq(callees->nodes.v[TREE_ROOT].self, 2);
	ck_assert_int_eq(self_of(callees, NODE("x")), 6);
	ck_assert_int_eq(self_of(callees, NODE("y") NODE("f") NODE("x")), 3);
	ck_assert_uint_eq(callers->nodes.n, 5);
	ck_assert_uint_eq(callees->nodes.n, 5);
	tree_free(callers);
	tree_free(callees);
	tree_free(t);
}
END_TEST

/* By name only: of any kind and binary. */
static int64_t naive_total(const struct tree *t, uint32_t name)
{
	int64_t total = 0;
	for (uint32_t i = 1; i < t->nodes.n; i++) {
		if (t->funcs.v[t->nodes.v[i].func].name != name)
			continue;
		uint32_t up = t->nodes.v[i].parent;
		while (up != TREE_ROOT && t->funcs.v[t->nodes.v[up].func].name != name)
			up = t->nodes.v[up].parent;
		total += up == TREE_ROOT ? t->nodes.v[i].total : 0;
	}
	return total;
}

START_TEST(callers_and_callees_have_the_function_s_total)
{
	for (uint64_t seed = 1; seed < 6; seed++) {
		struct tree *t = random_tree(seed), *callers, *callees;
		for (uint32_t i = 1; i < t->nodes.n; i += 1 + t->nodes.n / 60) {
			uint32_t f = t->nodes.v[i].func;
			int64_t total = naive_total(t, t->funcs.v[f].name);
			ck_assert_int_eq(top_callers(t, func_name(t, f), &callers, &callees, NULL),
					 0);
			assert_tree_sound(callers);
			assert_tree_sound(callees);
			ck_assert_int_eq(callers->nodes.v[TREE_ROOT].total, total);
			ck_assert_int_eq(callees->nodes.v[TREE_ROOT].total, total);
			tree_free(callers);
			tree_free(callees);
		}
		tree_free(t);
	}
}
END_TEST

START_TEST(an_unknown_function_suggests_the_nearest_name)
{
	struct tree *t = tree_new(), *callers = NULL, *callees = NULL;
	struct err err = { 0 };
	add_path(t, "main;parse_header;read", 1, 0);
	tree_total(t);
	ck_assert_int_eq(top_callers(t, "parse_heder", &callers, &callees, &err), -ENOENT);
	ck_assert_ptr_null(callers);
	ck_assert_str_eq(err.text, "no function is called 'parse_heder'");
	ck_assert_str_eq(err.hint, "the nearest name is 'parse_header'");
	tree_free(t);
}
END_TEST

UNIT_MAIN("top", recursion_is_counted_once, random_tables_are_what_counting_node_by_node_gives,
	  an_empty_tree_has_an_empty_table, callers_and_callees_of_a_known_function,
	  callers_and_callees_have_the_function_s_total,
	  an_unknown_function_suggests_the_nearest_name)
