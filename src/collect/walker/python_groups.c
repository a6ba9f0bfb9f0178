/* Groups processes that share a Python interpreter state. */
#include "collect/walker/space.h"

#include "bpf/cpython.h"
#include "bpf/event.h"

#include <stdbool.h>
#include <stddef.h>

struct python_groups python_groups_of(const struct event_stack *st)
{
	const uint64_t *user = (const uint64_t *)st->addr + st->n_kernel;

	if (!(st->flags & STACK_PYTHON_GROUPS))
		return (struct python_groups){ 0 };
	return (struct python_groups){ user + st->n_python, user + st->n_user, 0 };
}

static bool is_loop(const uint64_t *ranges, uint64_t pc)
{
	for (int i = 0; i < LOOP_PARTS_MAX; i++)
		if (pc >= ranges[2 * i] && pc < ranges[2 * i + 1])
			return true;
	return false;
}

/* Returns a mark for the next frame of the current group, and leaves the rest there; after the last
 * one, a mark without a frame. */
static uint64_t next_of_loop(uint64_t *mark)
{
	uint64_t first = CPYTHON_MARK_FIRST(*mark), n = CPYTHON_MARK_N(*mark);

	if (!n)
		return first ? CPYTHON_ORDER_MARK(0, 0) : 0;
	*mark = CPYTHON_MARK(first + 1, n - 1);
	return CPYTHON_ORDER_MARK(first, 1);
}

uint64_t python_groups_mark(struct python_groups *g, uint64_t pc, uint64_t sp, uint64_t cfa)
{
	size_t left = g->end - g->words;

	if (left >= CPYTHON_LOOP_GROUP_WORDS && !g->words[1]) {
		if (!g->mark)
			g->mark = g->words[0];
		return is_loop(g->words + CPYTHON_GROUP_WORDS, pc) ? next_of_loop(&g->mark) : 0;
	}
	if (left < CPYTHON_GROUP_WORDS || g->words[1] - sp >= cfa - sp)
		return 0;
	uint64_t mark = g->words[0];
	g->words += CPYTHON_GROUP_WORDS;
	return mark;
}
