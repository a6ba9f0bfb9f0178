/* profile/stack_totals.h: inclusive totals on the level of stacks, without a tree: for tables of a million stacks of which most are too
 * small to be seen.
 *
 * A stack's parent has a lower id, and shares with it the first `shared` frames. So in one pass backwards
 *
 *     total[id] = value[id] + the totals of all stacks that build on it
 *
 * which is the inclusive total of the node at which the stack's own frames begin: of everything below its first `shared` frames that began
 * with its own next one. All nodes that its own frames and those of stacks on it make are worth at most that: where it is small the whole
 * branch is. */
#ifndef CRESSET_PROFILE_STACK_TOTALS_H
#define CRESSET_PROFILE_STACK_TOTALS_H

#include "profile/stack.h"

#include <stdint.h>

/* total[n stacks of the table] has the values of each stack, and then the totals; total[0] (the empty stack) is that of all. Sums do not
 * go beyond the ends of int64_t. */
void stack_totals(const struct stack_table *t, int64_t *total);

#endif
