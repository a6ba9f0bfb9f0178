#include "profile/stack_kids.h"

#include "base/mem.h"

#include <stdlib.h>

void stack_kids_done(struct stack_kids *k)
{
	free(k->first);
	free(k->kid);
	free(k->shared);
	*k = (struct stack_kids){ 0 };
}

static int by_shared(const void *a, const void *b, void *ctx)
{
	const struct stack *stacks = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (stacks[x].shared != stacks[y].shared)
		return stacks[x].shared < stacks[y].shared ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* They come by id. */
static void sort_kids(uint32_t *kid, uint32_t n, const struct stack *stacks)
{
	for (uint32_t i = 1; i < n; i++)
		if (stacks[kid[i - 1]].shared > stacks[kid[i]].shared) {
			qsort_r(kid, n, sizeof *kid, by_shared, (void *)stacks);
			return;
		}
}

/* By counting; the empty stack is nobody's kid. */
void stack_kids_update(struct stack_kids *k, const struct stack_table *t)
{
	const struct stack *stacks = t->stacks.v;
	uint32_t n = t->stacks.n;
	if (k->n == n)
		return;
	stack_kids_done(k);
	uint32_t *next = xcalloc(n + 2, sizeof *next);
	k->n = n;
	k->kid = xreallocarray(NULL, n, sizeof *k->kid);
	for (uint32_t id = 1; id < n; id++)
		next[stacks[id].parent + 2]++;
	for (uint32_t id = 2; id < n + 2; id++)
		next[id] += next[id - 1];
	for (uint32_t id = 1; id < n; id++)
		k->kid[next[stacks[id].parent + 1]++] = id;
	k->first = next; /* each has moved on to where the one behind it begins */
	for (uint32_t id = 0; id < n; id++)
		sort_kids(&k->kid[k->first[id]], k->first[id + 1] - k->first[id], stacks);
	k->shared = xreallocarray(NULL, n, sizeof *k->shared);
	for (uint32_t i = 0; i + 1 < n; i++)
		k->shared[i] = stacks[k->kid[i]].shared;
}
