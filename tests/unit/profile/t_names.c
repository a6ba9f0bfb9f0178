// tier: test
#include "unit.h"

#include "profile/names.h"

static uint32_t function(struct names *t, uint32_t name)
{
	return function_intern(t, &(struct function){ .name = name });
}

static void assert_lines(const struct names *t, uint32_t frame, const struct line *want, uint32_t n)
{
	const struct line *got = NULL;
	ck_assert_uint_eq(names_get(t, frame, &got), n);
	for (uint32_t i = 0; i < n; i++) {
		ck_assert_uint_eq(got[i].function, want[i].function);
		ck_assert_uint_eq(got[i].line, want[i].line);
		ck_assert_uint_eq(got[i].column, want[i].column);
	}
}

START_TEST(functions_are_interned_whole)
{
	struct names t = { 0 };
	uint32_t a = function(&t, 1);
	ck_assert_uint_eq(function(&t, 1), a);
	ck_assert_uint_ne(function(&t, 2), a);
	struct function f = { .name = 1 };
	f.linkage = 3;
	uint32_t b = function_intern(&t, &f);
	f.file = 4;
	uint32_t c = function_intern(&t, &f);
	f.start_line = 5;
	uint32_t d = function_intern(&t, &f);
	ck_assert(a != b && b != c && c != d);
	ck_assert_uint_eq(function_intern(&t, &f), d);
	ck_assert_uint_eq(t.functions.n, 5);
	names_done(&t);
}
END_TEST

START_TEST(a_later_list_replaces_the_earlier_one)
{
	struct names t = { 0 };
	for (uint32_t i = 0; i < 4; i++)
		function(&t, 10 + i);
	struct line one[] = { { 0, 5, 1 } }, three[] = { { 1, 6, 0 }, { 2, 7, 0 }, { 3, 8, 9 } };
	assert_lines(&t, 0, NULL, 0);
	names_set(&t, 7, one, 1);
	names_set(&t, 2, three, 3);
	assert_lines(&t, 7, one, 1);
	assert_lines(&t, 2, three, 3);
	assert_lines(&t, 6, NULL, 0);
	assert_lines(&t, 8, NULL, 0);
	assert_lines(&t, UINT32_MAX, NULL, 0);
	names_set(&t, 7, three, 3);
	names_set(&t, 2, one, 1);
	assert_lines(&t, 7, three, 3);
	assert_lines(&t, 2, one, 1);
	names_set(&t, 7, NULL, 0);
	assert_lines(&t, 7, NULL, 0);
	names_set(&t, 7, three + 1, 2);
	assert_lines(&t, 7, three + 1, 2);
	assert_lines(&t, 2, one, 1);
	names_done(&t);
}
END_TEST

START_TEST(the_same_names_again_cost_nothing)
{
	struct names t = { 0 };
	function(&t, 1);
	struct line lines[] = { { 0, 1, 0 }, { 0, 2, 0 } };
	for (int i = 0; i < 1000; i++)
		names_set(&t, 3, lines, 2);
	ck_assert_uint_eq(t.lines.n, 2);
	names_done(&t);
}
END_TEST

START_TEST(long_chains_lose_their_outermost_lines)
{
	struct names t = { 0 };
	struct line lines[NAMES_MAX_INLINE + 10] = { 0 };
	function(&t, 1);
	for (uint32_t i = 0; i < NAMES_MAX_INLINE + 10; i++)
		lines[i].line = i;
	names_set(&t, 0, lines, NAMES_MAX_INLINE + 10);
	assert_lines(&t, 0, lines, NAMES_MAX_INLINE);
	names_done(&t);
}
END_TEST

UNIT_MAIN("names", functions_are_interned_whole, a_later_list_replaces_the_earlier_one,
	  the_same_names_again_cost_nothing, long_chains_lose_their_outermost_lines)
