/* Frames of Python in their places among native ones, as the kernel's marks say; and the places that copied stacks get here. */
#include "unit.h"

#include "bpf/cpython.h"
#include "bpf/space.h"
#include "collect/python_groups.h"
#include "collect/python_order.h"

#include <string.h>

#define NATIVE(n)    (1ull << FRAME_OFFSET_BITS | (n))
#define ANONYMOUS(n) (FRAME_ADDRESS | (n))

/* "P0 L2 N7": frames leaf first with the place of their words; what is folded in parentheses, trampolines in brackets. Everything is
 * the interpreter's. */
static const char *shown(const struct python_order *o)
{
	static char text[512];

	text[0] = 0;
	for (size_t i = 0; i < o->all.n; i++) {
		const struct python_part *p = &o->all.v[i];
		bool made = python_order_is_trampoline(o, i);
		bool folded = !made && python_order_folds(o, i, true);

		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s%c%u%s",
			 i ? " " : "",
			 made     ? "["
			 : folded ? "("
				  : "",
			 "NLPC"[p->kind], p -> at,
			 made     ? "]"
			 : folded ? ")"
				  : "");
	}
	return text;
}

#define ORDER(o, words, n_python, is_whole) \
	python_order_init(o, words, sizeof words / sizeof *words, n_python, is_whole, false)

START_TEST(groups_come_before_the_call_that_runs_them)
{
	/* Two frames by the inner call of the loop, one by the outer one. */
	const uint64_t words[] = { 0x10,      1,         0x20,
				   2,         0x30,      3,
				   NATIVE(1), NATIVE(2), CPYTHON_MARK(0, 2),
				   NATIVE(3), NATIVE(4), CPYTHON_MARK(2, 1),
				   NATIVE(5) };
	struct python_order o;

	ORDER(&o, words, 6, true);
	ck_assert_str_eq(shown(&o), "N6 P0 P2 (L7) (N9) P4 (L10) N12");
	ck_assert(!python_order_lacks(&o));
	python_order_done(&o);
}
END_TEST

START_TEST(frames_of_others_between_stay)
{
	const uint64_t words[] = { 0x10,      1,         0x20,
				   2,         NATIVE(2), CPYTHON_MARK(0, 1),
				   NATIVE(3), NATIVE(4), CPYTHON_MARK(1, 1) };
	struct python_order o;

	ORDER(&o, words, 4, true);
	ck_assert_str_eq(shown(&o), "P0 (L4) (N6) P2 (L7)");
	ck_assert(!python_order_folds(&o, 2, false)); /* N6, in a library */
	python_order_done(&o);
}
END_TEST

START_TEST(code_made_to_call_the_loop_is_no_frame)
{
	/* Only right behind the loop; other code made at run time stays. */
	const uint64_t words[] = { 0x10,
				   1,
				   ANONYMOUS(0x1000),
				   NATIVE(2),
				   CPYTHON_MARK(0, 1),
				   ANONYMOUS(0x2000),
				   ANONYMOUS(0x3000) };
	struct python_order o;

	ORDER(&o, words, 2, true);
	ck_assert_str_eq(shown(&o), "N2 P0 (L3) [N5] N6");
	python_order_done(&o);
}
END_TEST

START_TEST(frames_without_a_place)
{
	const uint64_t words[] = { 0x10,     1, 0x20, 2, 0x30, 3, NATIVE(2), CPYTHON_MARK(0, 1),
				   NATIVE(9) };
	struct python_order o;

	/* None of this stack's calls, where all of those were seen. */
	ORDER(&o, words, 6, true);
	ck_assert_str_eq(shown(&o), "P0 (L6) N8");
	ck_assert(python_order_lacks(&o));
	python_order_done(&o);
	/* Behind its end, where they were not. */
	ORDER(&o, words, 6, false);
	ck_assert_str_eq(shown(&o), "P0 (L6) (N8) P2 P4");
	ck_assert(!python_order_lacks(&o));
	python_order_done(&o);
}
END_TEST

START_TEST(what_is_missing_is_said_where_it_is)
{
	/* The inner call runs one frame, the outer one another, and more that did not come. */
	const uint64_t words[] = {
		0x10,     1, 0x20, 2, NATIVE(2), CPYTHON_MARK(0, 1), NATIVE(3), CPYTHON_MARK(1, 1),
		NATIVE(4)
	};
	struct python_order o;

	python_order_init(&o, words, sizeof words / sizeof *words, 4, true, true);
	ck_assert_str_eq(shown(&o), "P0 (L4) P2 C4 (L6) N8");
	python_order_done(&o);
}
END_TEST

START_TEST(marks_that_lie)
{
	/* Beyond the frames, far beyond, without a native frame before it, twice, with half a frame. */
	const uint64_t words[] = { 0x10,      1,
				   0x20,      CPYTHON_MARK(0, 1),
				   NATIVE(2), CPYTHON_MARK(0, 9),
				   NATIVE(3), CPYTHON_MARK(65535, 65535),
				   NATIVE(4), CPYTHON_MARK(0, 0) };
	struct python_order o;

	ORDER(&o, words, 3, true);
	for (size_t i = 0; i < o.all.n; i++)
		ck_assert_uint_lt(o.all.v[i].at + (o.all.v[i].kind == PYTHON_FRAME),
				  o.all.v[i].kind == PYTHON_FRAME ? 3 : 10);
	ck_assert_str_eq(shown(&o), "P0 (L4) (L6) (L8)");
	python_order_done(&o);
}
END_TEST

/* --- copied stacks ------------------------------------------------------------------------------ */

static struct event_stack *with_groups(const uint64_t *words, uint32_t n)
{
	struct event_stack *st = calloc(1, sizeof *st + n * sizeof *words);

	st->n_user = n;
	st->flags = STACK_PYTHON_GROUPS;
	memcpy(st->addr, words, n * sizeof *words);
	return st;
}

START_TEST(a_group_is_at_the_frame_that_holds_its_entry)
{
	const uint64_t words[] = { CPYTHON_MARK(0, 2), 0x7000, CPYTHON_MARK(2, 1), 0x7100 };
	struct event_stack *st = with_groups(words, 4);
	struct python_groups g = python_groups_of(st);

	ck_assert_uint_eq(python_groups_mark(&g, 1, 0x6f00, 0x7000), 0);
	ck_assert_uint_eq(python_groups_mark(&g, 1, 0x7000, 0x7080), words[0]);
	ck_assert_uint_eq(python_groups_mark(&g, 1, 0x7080, 0x7100), 0);
	ck_assert_uint_eq(python_groups_mark(&g, 1, 0x7100, 0x7200), words[2]);
	ck_assert_uint_eq(python_groups_mark(&g, 1, 0x7200, 0x7300), 0);
	free(st);
}
END_TEST

START_TEST(to_3_10_each_call_of_the_loop_has_one_frame)
{
	const uint64_t words[CPYTHON_LOOP_GROUP_WORDS] = {
		CPYTHON_MARK(0, 2), 0, 0x1000, 0x2000, 0x5000, 0x5100
	};
	struct event_stack *st = with_groups(words, CPYTHON_LOOP_GROUP_WORDS);
	struct python_groups g = python_groups_of(st);

	ck_assert_uint_eq(python_groups_mark(&g, 0xfff, 0, 1), 0);
	ck_assert_uint_eq(python_groups_mark(&g, 0x1000, 0, 1), CPYTHON_MARK(0, 1));
	ck_assert_uint_eq(python_groups_mark(&g, 0x2000, 0, 1), 0);
	ck_assert_uint_eq(python_groups_mark(&g, 0x50ff, 0, 1), CPYTHON_MARK(1, 1));
	ck_assert_uint_eq(python_groups_mark(&g, 0x1000, 0, 1), 0); /* there are no more */
	free(st);
}
END_TEST

START_TEST(stacks_without_groups_have_none)
{
	const uint64_t words[] = { CPYTHON_MARK(0, 2), 0x7000 };
	struct event_stack *st = with_groups(words, 2);

	st->flags = STACK_FRAMES;
	struct python_groups g = python_groups_of(st);
	ck_assert_uint_eq(python_groups_mark(&g, 1, 0x7000, 0x7100), 0);
	st->flags = STACK_PYTHON_GROUPS;
	st->n_user = 1; /* half of one */
	g = python_groups_of(st);
	ck_assert_uint_eq(python_groups_mark(&g, 1, 0x7000, 0x7100), 0);
	free(st);
}
END_TEST

UNIT_MAIN("python_order", groups_come_before_the_call_that_runs_them, frames_of_others_between_stay,
	  code_made_to_call_the_loop_is_no_frame, frames_without_a_place,
	  what_is_missing_is_said_where_it_is, marks_that_lie,
	  a_group_is_at_the_frame_that_holds_its_entry, to_3_10_each_call_of_the_loop_has_one_frame,
	  stacks_without_groups_have_none)
