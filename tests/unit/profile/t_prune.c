// tier: test
#include "unit.h"

#include "base/err.h"
#include "profile/profile.h"
#include "profile/prune.h"
#include "profile/stack.h"

#include <errno.h>
#include <string.h>

/* A profile of one stack, root first. */
static struct profile *stack_of(const char *const *names, uint32_t n, const char *drop,
				const char *keep)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "cpu") };
	struct series series = { .type = s->ops->type(s, &type) };
	uint32_t frames[16];
	for (uint32_t i = 0; i < n; i++) {
		struct frame f = { .mapping = MAPPING_NONE, .function = sink_string(s, names[i]) };
		frames[i] = s->ops->frame(s, &f);
	}
	struct sample sample = { .series = s->ops->series(s, &series),
				 .stack = s->ops->stack(s, frames, n),
				 .value = 1 };
	s->ops->sample(s, &sample);
	p->meta.drop_frames = sink_string(s, drop);
	p->meta.keep_frames = sink_string(s, keep);
	return p;
}

static void check(const char *drop, const char *keep, const char *const *names, uint32_t n,
		  uint32_t left)
{
	struct profile *p = stack_of(names, n, drop, keep);
	struct err err = { 0 };
	uint64_t pruned;
	ck_assert_msg(profile_prune(p, &pruned, &err) == 0, "%s", err.text);
	ck_assert_msg(stack_depth(&p->stacks, p->samples.stack[0]) == left, "%s, %s: %u of %u",
		      drop, names[n - 1], stack_depth(&p->stacks, p->samples.stack[0]), n);
	ck_assert_uint_eq(pruned, left != n);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_PRUNED], left != n);
	profile_free(p);
}
#define CHECK(drop, keep, left, ...) \
	check(drop, keep, (const char *const[]){ __VA_ARGS__ }, \
	      sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), left)

/* Each as `go tool pprof` has it. */
START_TEST(stacks_end_above_the_first_dropped_frame)
{
	CHECK("malloc|operator new", "", 2, "main", "userA", "operator new", "malloc");
	CHECK("malloc", "", 1, "main", "malloc", "user");
	CHECK("mallo", "", 2, "main", "malloc"); /* whole names */
	CHECK(".*alloc", "my_.*", 2, "main", "my_alloc", "malloc");
	CHECK(".*", "my_.*", 2, "my_main", "my_alloc", "malloc");
	CHECK("main|malloc", "", 2, "main", "user", "malloc"); /* the root stays */
	CHECK("main|malloc", "", 2, "main", "malloc");         /* all of them match */
	CHECK("", "user", 2, "main", "malloc");
}
END_TEST

START_TEST(names_are_compared_without_arguments)
{
	CHECK("operator new", "", 1, "main", "operator new(unsigned long)");
	CHECK("a::\\(anonymous namespace\\)::f", "", 1, "main", "a::(anonymous namespace)::f(int)");
	CHECK("A::operator\\(\\)", "", 1, "main", "A::operator()(int) const");
	CHECK("f", "", 1, "main", ".f");
	CHECK("f\\(int\\)", "", 2, "main", "f(int)");
}
END_TEST

/* A frame with inlined lines keeps those around the dropped one. */
START_TEST(inlined_lines_are_dropped)
{
	static const char *const names[] = { "main", "user", "malloc" };
	for (int dropped = 0; dropped < 3; dropped++) {
		struct profile *p = stack_of(names, 3, "gone", "");
		struct sink *s = profile_sink(p);
		uint32_t frames[3];
		struct line lines[3];
		for (int i = 0; i < 3; i++) {
			const char *name = i == dropped ? "gone" : i ? "outer" : "inner";
			struct function f = { .name = sink_string(s, name) };
			lines[i] = (struct line){ .function = s->ops->function(s, &f), .line = i };
		}
		stack_frames(&p->stacks, p->samples.stack[0], frames);
		s->ops->names(s, frames[1], lines, 3);
		uint64_t pruned;
		const struct line *left;
		ck_assert_int_eq(profile_prune(p, &pruned, NULL), 0);
		ck_assert_uint_eq(stack_depth(&p->stacks, p->samples.stack[0]),
				  dropped == 2 ? 1 : 2);
		ck_assert_uint_eq(names_get(&p->names, frames[1], &left),
				  dropped == 2 ? 3 : 2 - dropped);
		ck_assert_uint_eq(left[0].line, dropped == 2 ? 0 : dropped + 1);
		profile_free(p);
	}
}
END_TEST

START_TEST(invalid_expressions_change_nothing)
{
	static const char *const names[] = { "main", "malloc" };
	struct profile *p = stack_of(names, 2, "malloc", "(");
	struct err err = { 0 };
	uint64_t pruned;
	ck_assert_int_eq(profile_prune(p, &pruned, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "keep_frames"));
	ck_assert_uint_eq(stack_depth(&p->stacks, p->samples.stack[0]), 2);
	profile_free(p);
}
END_TEST

UNIT_MAIN("prune", stacks_end_above_the_first_dropped_frame, names_are_compared_without_arguments,
	  inlined_lines_are_dropped, invalid_expressions_change_nothing)
