/* profile/stack_kids.h: which stacks build on a stack: its kids, by how many frames they share with it, then by id. So a table is walked from the
 * root down, and only where one wants to go. */
#ifndef CRESSET_PROFILE_STACK_KIDS_H
#define CRESSET_PROFILE_STACK_KIDS_H

#include "profile/stack.h"

struct stack_kids {      /* zeroed = of an empty table */
	uint32_t n;      /* stacks */
	uint32_t *first; /* [n + 1]: the kids of id are kid[first[id]] … kid[first[id + 1] - 1] */
	uint32_t *kid;   /* [n] */
	uint16_t *shared; /* [n]: what kid[i] shares: side by side with it */
};

/* Those of all stacks of t. Nothing is done where k knows as many already. */
void stack_kids_update(struct stack_kids *k, const struct stack_table *t);
void stack_kids_done(struct stack_kids *k);

#endif
