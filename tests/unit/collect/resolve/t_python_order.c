// tier: test
/* Python frames at their places among native ones, according to the kernel's marks; and the places computed here for copied stacks. */
#include "unit.h"

#include "bpf/cpython.h"
#include "bpf/event.h"
#include "bpf/space.h"
#include "collect/resolve/python_order.h"
#include "collect/walker/space.h"

#include <string.h>

#define NATIVE(n)    (1ull << FRAME_OFFSET_BITS | (n))
#define ANONYMOUS(n) (FRAME_ADDRESS | (n))

/* "P0 L2 N7": frames leaf first, with the index of their words; folded ones in parentheses, trampolines in brackets. Everything is the
 * interpreter's. */
static const char *shown(const struct python_order *o)
{
	static char text[512];

	text[0] = 0;
	for (size_t i = 0; i < o->all.n; i++) {
		const struct python_part *p = &o->all.v[i];
		bool made = python_order_is_trampoline(o, i);
		bool folded = !made && python_order_folds(o, i, RUNTIME_CPYTHON);

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
	python_order_init(o, &(struct python_stack){ words, sizeof words / sizeof *words, \
						     n_python, is_whole, .is_cut = false })

START_TEST(groups_come_before_the_call_that_runs_them)
{
	/* Two frames from the inner call of the loop, one from the outer one. */
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
	ck_assert(!python_order_folds(&o, 2, -1)); /* N6, in a library */
	python_order_done(&o);
}
END_TEST

START_TEST(code_made_to_call_the_loop_is_omitted)
{
	/* Only right after the loop; other code made at run time stays. */
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

#define LIBRARY 0x66
static bool owns(void *ctx, uint64_t word)
{
	(void)ctx;
	return !(word & FRAME_ADDRESS) && word != NATIVE(LIBRARY);
}

#define ASSERT_ENTERED(text, ...) \
	do { \
		const uint64_t words[] = { 0x10, 1, __VA_ARGS__, CPYTHON_MARK(0, 1) }; \
		struct python_order o; \
		python_order_init(&o, &(struct python_stack){ words, sizeof words / sizeof *words, \
							      2, true, .is_interpreter = owns }); \
		ck_assert_str_eq(shown(&o), text); \
		python_order_done(&o); \
	} while (0)

START_TEST(code_that_is_about_to_call_the_loop_is_omitted)
{
	/* The function's frame is not in the chain yet, or no longer: before the loop, at its ends. */
	ASSERT_ENTERED("[N2] N3 P0 (L4)", ANONYMOUS(0x1000), NATIVE(1), NATIVE(2));
	ASSERT_ENTERED("N2 [N3] N4 P0 (L5)", NATIVE(1), ANONYMOUS(0x1000), NATIVE(2), NATIVE(1));
	ASSERT_ENTERED("N2 N3 [N4] N5 P0 (L6)", NATIVE(3), NATIVE(1), ANONYMOUS(0x1000), NATIVE(2),
		       NATIVE(1));
	/* The interpreter's own machine code, which the loop calls. */
	ASSERT_ENTERED("N2 P0 (L3)", ANONYMOUS(0x1000), NATIVE(1));
	/* Code that a library makes, or that calls one; code that calls much. */
	ASSERT_ENTERED("N2 N3 P0 (L4)", ANONYMOUS(0x1000), NATIVE(LIBRARY), NATIVE(1));
	ASSERT_ENTERED("N2 N3 N4 P0 (L5)", NATIVE(LIBRARY), ANONYMOUS(0x1000), NATIVE(2),
		       NATIVE(1));
	ASSERT_ENTERED("N2 N3 N4 N5 N6 N7 N8 P0 (L9)", NATIVE(3), NATIVE(4), NATIVE(5), NATIVE(6),
		       NATIVE(1), ANONYMOUS(0x1000), NATIVE(2), NATIVE(1));
}
END_TEST

START_TEST(frames_without_a_place)
{
	const uint64_t words[] = { 0x10,     1, 0x20, 2, 0x30, 3, NATIVE(2), CPYTHON_MARK(0, 1),
				   NATIVE(9) };
	struct python_order o;

	/* Not in the calls of this stack, all of which were seen. */
	ORDER(&o, words, 6, true);
	ck_assert_str_eq(shown(&o), "P0 (L6) N8");
	ck_assert(python_order_lacks(&o));
	python_order_done(&o);
	/* After its end, where they were not all seen. */
	ORDER(&o, words, 6, false);
	ck_assert_str_eq(shown(&o), "P0 (L6) (N8) P2 P4");
	ck_assert(!python_order_lacks(&o));
	python_order_done(&o);
}
END_TEST

START_TEST(missing_frames_are_marked_in_place)
{
	/* The inner call runs one frame, the outer one another, and further ones are missing. */
	const uint64_t words[] = {
		0x10,     1, 0x20, 2, NATIVE(2), CPYTHON_MARK(0, 1), NATIVE(3), CPYTHON_MARK(1, 1),
		NATIVE(4)
	};
	struct python_order o;

	python_order_init(&o, &(struct python_stack){ words, sizeof words / sizeof *words, 4,
						      .is_whole = true, .is_cut = true });
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

/* --- calls that only their order tells apart ---------------------------------------------------- */

#define TURN(n) CPYTHON_ORDER_MARK(n, 1)
#define BEYOND  CPYTHON_ORDER_MARK(0, 0)
#define SWITCH  0x77
static bool switches(void *ctx, uint64_t word)
{
	(void)ctx;
	return word == NATIVE(SWITCH);
}

static const char *in_turn(const uint64_t *words, uint32_t n_words, uint32_t n_python,
			   bool is_whole, bool *lacks)
{
	struct python_stack in = { words, n_words, n_python, is_whole, .is_switch = switches };
	struct python_order o;

	python_order_init(&o, &in);
	const char *text = shown(&o);
	*lacks = python_order_lacks(&o);
	python_order_done(&o);
	return text;
}

#define ASSERT_IN_TURN(words, n_python, is_whole, is_lacking, text) \
	do { \
		bool lacks; \
		ck_assert_str_eq( \
			in_turn(words, sizeof words / sizeof *words, n_python, is_whole, &lacks), \
			text); \
		ck_assert(lacks == (is_lacking)); \
	} while (0)

START_TEST(a_call_without_a_frame_yet_is_the_innermost)
{
	const uint64_t even[] = { 0x10,    1,         0x20,    2,        NATIVE(1),
				  TURN(0), NATIVE(2), TURN(1), NATIVE(3) };
	const uint64_t more[] = { 0x10,      1,       0x20,      2,      NATIVE(1), TURN(0),
				  NATIVE(2), TURN(1), NATIVE(3), BEYOND, NATIVE(4) };

	ASSERT_IN_TURN(even, 4, true, false, "P0 (L4) P2 (L6) N8");
	ASSERT_IN_TURN(more, 4, true, false, "(L4) P0 (L6) P2 (L8) N10");
	/* Also in a stack without its outer end. */
	ASSERT_IN_TURN(more, 4, false, false, "(L4) P0 (L6) P2 (L8) N10");
}
END_TEST

START_TEST(calls_that_were_not_seen_are_the_outermost)
{
	const uint64_t words[] = { 0x10, 1, 0x20, 2, NATIVE(1), TURN(0), NATIVE(2) };

	ASSERT_IN_TURN(words, 4, false, false, "P0 (L4) (N6) P2");
}
END_TEST

START_TEST(numbers_that_do_not_fit_place_none)
{
	/* Two calls of an interpreter whose state was not found; frames on another thread's stack. */
	const uint64_t more[] = {
		0x10, 1, NATIVE(1), TURN(0), NATIVE(2), BEYOND, NATIVE(3), BEYOND
	};
	const uint64_t less[] = { 0x10, 1, 0x20, 2, NATIVE(1), TURN(0), NATIVE(2) };

	ASSERT_IN_TURN(more, 2, true, true, "(L2) (L4) (L6)");
	ASSERT_IN_TURN(more, 2, false, true, "(L2) (L4) (L6)");
	ASSERT_IN_TURN(less, 4, true, true, "(L4) N6");
}
END_TEST

START_TEST(a_call_that_is_at_work_has_a_frame)
{
	/* Functions called at its ends call little; here another one has none. */
	const uint64_t ends[] = { 0x10,      1,       NATIVE(7), NATIVE(8), NATIVE(9),
				  NATIVE(1), TURN(0), NATIVE(2), BEYOND };
	const uint64_t works[] = { 0x10,      1,         NATIVE(6), NATIVE(7), NATIVE(8),
				   NATIVE(9), NATIVE(1), TURN(0),   NATIVE(2), BEYOND };

	ASSERT_IN_TURN(ends, 2, true, false, "N2 N3 N4 (L5) P0 (L7)");
	ASSERT_IN_TURN(works, 2, true, true, "N2 N3 N4 N5 (L6) (L8)");
}
END_TEST

START_TEST(calls_beyond_a_switch_of_stacks_are_of_others)
{
	const uint64_t fits[] = { 0x10,      1,      NATIVE(1), TURN(0), NATIVE(SWITCH),
				  NATIVE(2), BEYOND, NATIVE(3), BEYOND };
	/* It is switching, and its innermost call ends. */
	const uint64_t ends[] = { 0x10,      1,      NATIVE(SWITCH), NATIVE(1), TURN(0),
				  NATIVE(2), BEYOND, NATIVE(SWITCH), NATIVE(3), BEYOND };
	const uint64_t fits_not[] = { 0x10,      1,         0x20,           2,
				      NATIVE(1), TURN(0),   NATIVE(SWITCH), NATIVE(2),
				      TURN(1),   NATIVE(3), BEYOND };

	ASSERT_IN_TURN(fits, 2, true, false, "P0 (L2) N4 (L5) (L7)");
	ASSERT_IN_TURN(ends, 2, true, false, "N2 (L3) P0 (L5) N7 (L8)");
	ASSERT_IN_TURN(fits_not, 4, true, true, "(L4) N6 (L7) (L9)");
}
END_TEST

START_TEST(two_interpreters_with_an_order_each_stay_as_marked)
{
	const uint64_t words[] = { 0x10,    1,         0x20,    2,         NATIVE(1),
				   TURN(1), NATIVE(2), TURN(0), NATIVE(3), BEYOND };
	const uint64_t mixed[] = { 0x10,      1,       0x20,      2,
				   NATIVE(1), TURN(0), NATIVE(2), CPYTHON_MARK(1, 1),
				   NATIVE(3), BEYOND };

	ASSERT_IN_TURN(words, 4, true, false, "P2 (L4) P0 (L6) (L8)");
	ASSERT_IN_TURN(mixed, 4, true, false, "P0 (L4) P2 (L6) (L8)");
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
	ck_assert_uint_eq(python_groups_mark(&g, 0x1000, 0, 1), CPYTHON_ORDER_MARK(0, 1));
	ck_assert_uint_eq(python_groups_mark(&g, 0x2000, 0, 1), 0);
	ck_assert_uint_eq(python_groups_mark(&g, 0x50ff, 0, 1), CPYTHON_ORDER_MARK(1, 1));
	ck_assert_uint_eq(python_groups_mark(&g, 0x1000, 0, 1),
			  CPYTHON_ORDER_MARK(0, 0)); /* there are no more */
	ck_assert_uint_eq(python_groups_mark(&g, 0x2000, 0, 1), 0);
	free(st);
}
END_TEST

START_TEST(stacks_without_groups_are_unchanged)
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
	  code_made_to_call_the_loop_is_omitted, code_that_is_about_to_call_the_loop_is_omitted,
	  frames_without_a_place, missing_frames_are_marked_in_place, marks_that_lie,
	  a_call_without_a_frame_yet_is_the_innermost, calls_that_were_not_seen_are_the_outermost,
	  numbers_that_do_not_fit_place_none, a_call_that_is_at_work_has_a_frame,
	  calls_beyond_a_switch_of_stacks_are_of_others,
	  two_interpreters_with_an_order_each_stay_as_marked,
	  a_group_is_at_the_frame_that_holds_its_entry, to_3_10_each_call_of_the_loop_has_one_frame,
	  stacks_without_groups_are_unchanged)
