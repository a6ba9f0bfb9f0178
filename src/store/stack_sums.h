/* store/stack_sums.h: sums by stack, being added up from blocks and heads.
 *
 * As long as little was added it is one ascending list, merged with each ascending list that comes: no memory but for what is in it. When that has
 * taken half as many steps as there are stacks it becomes one entry for each stack, where adding is one load and one store, and the end one pass. (Of 1.16 M stacks that pass alone takes 3 ms; lists of 720 that have nothing in
 * common are faster up to some 40 of them, 0.1 ms for 8.) */
#ifndef CRESSET_STORE_STACK_SUMS_H
#define CRESSET_STORE_STACK_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lists side by side. count and squares: NULL where each unit of a value is a sample, so that both are the value. */
struct stack_list_sums {
	size_t n;
	uint32_t *stack; /* ascending, no two equal */
	int64_t *value;
	double *count, *squares;
};
void stack_list_sums_done(struct stack_list_sums *l);

/* What a stack has where samples weigh differently: side by side, so that adding touches one place in memory. */
struct stack_weighed {
	int64_t value;
	double count, squares;
};
struct stack_sums {
	uint32_t stacks; /* ids are below */
	uint64_t steps;  /* of merging so far */
	struct stack_list_sums list;
	/* By stack; NULL: still a list. One of the two: of values alone as long as every sample weighed 1. */
	int64_t *value;
	struct stack_weighed *weighed;
};
void stack_sums_init(struct stack_sums *s, uint32_t stacks);
void stack_sums_done(struct stack_sums *s);

/* Adds what is in the list; it stays the caller's. */
void stack_sums_add(struct stack_sums *s, const struct stack_list_sums *list);

/* Hands over the list, without those that are 0 in the end; s is empty afterwards. */
void stack_sums_take(struct stack_sums *s, struct stack_list_sums *out);

#endif
