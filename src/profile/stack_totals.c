#include "profile/stack_totals.h"

#include "profile/sum.h"

void stack_totals(const struct stack_table *t, int64_t *total)
{
	const struct stack *stacks = t->stacks.v;
	for (size_t id = t->stacks.n; id-- > 1;) {
		int64_t *parent = &total[stacks[id].parent];
		*parent = sum_add(*parent, total[id]);
	}
}
