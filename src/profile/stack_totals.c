#include "profile/stack_totals.h"

#include "profile/sum.h"

enum { PARENTS_AHEAD = 24 };

void stack_totals(const struct stack_table *t, int64_t *total)
{
	const struct stack *stacks = t->stacks.v;
	for (size_t id = t->stacks.n; id-- > 1;) {
		if (id > PARENTS_AHEAD) /* they are anywhere in memory */
			__builtin_prefetch(&total[stacks[id - PARENTS_AHEAD].parent], 1);
		int64_t *parent = &total[stacks[id].parent];
		*parent = sum_add(*parent, total[id]);
	}
}
