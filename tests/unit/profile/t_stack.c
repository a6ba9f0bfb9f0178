// tier: test
#include "rand.h"
#include "unit.h"

#include "profile/stack.h"

enum { DEEPEST = 60 };

/* The stacks as added, by id. */
struct plain_stack {
	uint32_t n, frames[DEEPEST];
};
struct plain {
	struct plain_stack *v;
	uint32_t n;
};

static bool plain_equal(const struct plain_stack *a, const struct plain_stack *b)
{
	return a->n == b->n && memcmp(a->frames, b->frames, a->n * sizeof *a->frames) == 0;
}

static uint32_t shared_length(const struct plain_stack *a, const struct plain_stack *b)
{
	uint32_t n = 0;
	while (n < a->n && n < b->n && a->frames[n] == b->frames[n])
		n++;
	return n;
}

static int plain_cmp(const void *a, const void *b)
{
	const struct plain_stack *x = *(struct plain_stack *const *)a,
				 *y = *(struct plain_stack *const *)b;
	uint32_t n = shared_length(x, y);
	if (n == x->n || n == y->n)
		return x->n < y->n ? -1 : x->n > y->n;
	return x->frames[n] < y->frames[n] ? -1 : 1;
}

/* The number of different prefixes without the empty one: in sorted order each stack adds the part it does not share with the previous one. */
static size_t count_prefixes(const struct plain *all)
{
	struct plain_stack **sorted = malloc(all->n * sizeof(struct plain_stack *));
	size_t n = 0;
	for (uint32_t i = 0; i < all->n; i++)
		sorted[i] = &all->v[i];
	qsort(sorted, all->n, sizeof *sorted, plain_cmp);
	for (uint32_t i = 1; i < all->n; i++)
		n += sorted[i]->n - shared_length(sorted[i], sorted[i - 1]);
	free(sorted);
	return n;
}

/* Half of them branch off an earlier one; frames are few, so that stacks share them. */
static struct plain_stack random_stack(struct rng *r, const struct plain *before, uint32_t n_frames)
{
	struct plain_stack s = { 0 };
	if (before->n && rng_below(r, 2)) {
		s = before->v[rng_below(r, before->n)];
		s.n = rng_below(r, s.n + 1);
	}
	uint32_t depth = rng_below(r, DEEPEST);
	while (s.n < depth)
		s.frames[s.n++] = rng_below(r, n_frames);
	return s;
}

/* Adds a stack to both; a new one gets the next id. */
static void intern_both(struct stack_table *t, struct plain *all, const struct plain_stack *s)
{
	uint32_t id = stack_intern(t, s->frames, s->n);
	if (id == all->n)
		all->v[all->n++] = *s;
	else if (id > all->n || !plain_equal(&all->v[id], s))
		ck_abort_msg("stack %u is not what went in", id);
}

/* The invariants of a stack in stack.h. */
static bool stack_is_sound(const struct stack_table *t, uint32_t id)
{
	const struct stack *s = &t->stacks.v[id], *parent = &t->stacks.v[s->parent];
	if (s->own + (s->depth - s->shared) > t->own.n || s->shared > s->depth)
		return false;
	if (s->shared == 0)
		return s->parent == 0;
	return s->parent < id && parent->shared < s->shared && s->shared <= parent->depth;
}

static void assert_table(const struct stack_table *t, const struct plain *all)
{
	ck_assert_uint_eq(t->stacks.n, all->n);
	for (uint32_t id = 0; id < all->n; id++) {
		struct plain_stack got = { .n = stack_depth(t, id) };
		ck_assert(got.n <= DEEPEST);
		stack_frames(t, id, got.frames);
		uint32_t leaf = got.n ? got.frames[got.n - 1] : UINT32_MAX;
		if (!plain_equal(&got, &all->v[id]) || stack_leaf(t, id) != leaf)
			ck_abort_msg("stack %u comes out different", id);
		if (!stack_is_sound(t, id))
			ck_abort_msg("stack %u breaks an invariant", id);
	}
	/* Every prefix is owned by exactly one stack. */
	ck_assert_uint_eq(t->own.n, count_prefixes(all));
}

START_TEST(random_stacks_come_out_as_they_went_in)
{
	enum { N = 50000 };
	static const uint32_t n_frames[] = { 2, 5, 40, 3000 };
	for (int i = 0; i < 4; i++) {
		struct rng r = { 77 + i };
		struct stack_table t;
		struct plain all = { calloc(N + 1, sizeof(struct plain_stack)), 1 };
		stack_table_init(&t);
		for (int k = 0; k < N; k++) {
			struct plain_stack s = random_stack(&r, &all, n_frames[i]);
			intern_both(&t, &all, &s);
		}
		ck_assert_uint_gt(all.n, N / 2);
		assert_table(&t, &all);
		for (uint32_t id = 0; id < all.n; id++)
			intern_both(&t, &all, &all.v[id]);
		ck_assert_uint_eq(t.stacks.n, all.n);
		stack_table_done(&t);
		free(all.v);
	}
}
END_TEST

START_TEST(the_example_of_the_header)
{
	enum { MAIN, A, B, C, X, Y };
	struct stack_table t;
	stack_table_init(&t);
	ck_assert_uint_eq(stack_intern(&t, NULL, 0), 0);
	ck_assert_uint_eq(stack_intern(&t, (uint32_t[]){ MAIN, A, B, C }, 4), 1);
	ck_assert_uint_eq(stack_intern(&t, (uint32_t[]){ MAIN, A, X }, 3), 2);
	ck_assert_uint_eq(stack_intern(&t, (uint32_t[]){ MAIN, A, X, Y }, 4), 3);
	ck_assert_uint_eq(stack_intern(&t, (uint32_t[]){ MAIN, A }, 2), 4);
	static const struct stack want[] = {
		{ 0, 0, 0, 0 }, { 0, 0, 4, 0 }, { 1, 2, 3, 4 }, { 2, 3, 4, 5 }, { 1, 2, 2, 6 }
	};
	ck_assert_uint_eq(t.stacks.n, 5);
	for (int i = 0; i < 5; i++) {
		ck_assert_uint_eq(t.stacks.v[i].parent, want[i].parent);
		ck_assert_uint_eq(t.stacks.v[i].shared, want[i].shared);
		ck_assert_uint_eq(t.stacks.v[i].depth, want[i].depth);
		ck_assert_uint_eq(t.stacks.v[i].own, want[i].own);
	}
	ck_assert_uint_eq(t.own.n, 6);
	stack_table_done(&t);
}
END_TEST

START_TEST(the_deepest_stack)
{
	struct stack_table t;
	stack_table_init(&t);
	uint32_t *frames = calloc(STACK_MAX_DEPTH, sizeof *frames);
	uint32_t *got = calloc(STACK_MAX_DEPTH, sizeof *got);
	for (uint32_t i = 0; i < STACK_MAX_DEPTH; i++)
		frames[i] = i % 3;
	uint32_t shorter = stack_intern(&t, frames, STACK_MAX_DEPTH - 1);
	uint32_t id = stack_intern(&t, frames, STACK_MAX_DEPTH);
	ck_assert_uint_eq(t.stacks.v[id].parent, shorter);
	ck_assert_uint_eq(t.own.n, STACK_MAX_DEPTH);
	stack_frames(&t, id, got);
	ck_assert_mem_eq(got, frames, STACK_MAX_DEPTH * sizeof *got);
	ck_assert_uint_eq(stack_leaf(&t, id), frames[STACK_MAX_DEPTH - 1]);
	free(frames);
	free(got);
	stack_table_done(&t);
}
END_TEST

/* Declares all or a part of the frames that a list shares with a stack in the table as known, and unreadable. */
static void say_known(struct rng *r, const struct stack_table *t, struct plain_stack *s,
		      struct stack_list *l)
{
	struct plain_stack other;
	uint32_t id = rng_below(r, t->stacks.n);
	other.n = stack_depth(t, id);
	stack_frames(t, id, other.frames);
	l->known = rng_below(r, shared_length(&other, s) + 1);
	l->known_as = id;
	for (uint32_t i = 0; i < l->known; i++)
		s->frames[i] = UINT32_MAX;
}

/* A table that got the same stacks one by one: equal to the last byte. */
START_TEST(many_together_equal_one_by_one)
{
	enum { N = 20000 };
	static const uint32_t n_frames[] = { 2, 40, 3000 };
	for (int i = 0; i < 3; i++) {
		struct rng r = { 7 + i };
		struct stack_table one, many;
		struct plain all = { calloc(N, sizeof(struct plain_stack)), 0 };
		stack_table_init(&one);
		stack_table_init(&many);
		while (all.n < N)
			all.v[all.n] = random_stack(&r, &all, n_frames[i]), all.n++;
		for (uint32_t done = 0, n; done < N; done += n) {
			struct plain_stack copies[STACK_BATCH];
			struct stack_list lists[STACK_BATCH];
			uint32_t ids[STACK_BATCH];
			n = rng_below(&r, STACK_BATCH + 1);
			n = n < N - done ? n : N - done;
			for (uint32_t k = 0; k < n; k++) {
				copies[k] = all.v[done + k];
				lists[k] = (struct stack_list){ .frames = copies[k].frames,
								.n = copies[k].n };
				say_known(&r, &many, &copies[k], &lists[k]);
			}
			stack_intern_all(&many, lists, n, ids);
			for (uint32_t k = 0; k < n; k++) {
				const struct plain_stack *s = &all.v[done + k];
				ck_assert_uint_eq(ids[k], stack_intern(&one, s->frames, s->n));
			}
		}
		ck_assert_uint_eq(many.stacks.n, one.stacks.n);
		ck_assert_uint_eq(many.own.n, one.own.n);
		ck_assert_mem_eq(many.stacks.v, one.stacks.v, one.stacks.n * sizeof *one.stacks.v);
		ck_assert_mem_eq(many.own.v, one.own.v, one.own.n * sizeof *one.own.v);
		stack_table_done(&one);
		stack_table_done(&many);
		free(all.v);
	}
}
END_TEST

UNIT_MAIN("stack", random_stacks_come_out_as_they_went_in, the_example_of_the_header,
	  the_deepest_stack, many_together_equal_one_by_one)
