/* gpu/code/stall_split.h: splits the samples in a function that ran on a device among the stacks
 * that launched it.
 *
 * The device shows what was sampled, but not in which launch. A stack gets the share p that its
 * launches had of the function's run time. Rows (an instruction and a reason) are split one after
 * another by the largest remainder, and the rounding error so far is carried along: each row
 * retains its sum, and over all rows each stack has n·p to within 2.
 *
 * If a function stalls the same way for all callers, the number of its n samples in a stack is
 * binomial. p may itself be an estimate: with its standard error s, the true number lies within
 * n·p ± z·√(n·p·(1-p) + (n·s)²). */
#ifndef CRESSET_GPU_CODE_STALL_SPLIT_H
#define CRESSET_GPU_CODE_STALL_SPLIT_H

#include <stdint.h>

struct stall_stack {
	uint32_t stack;
	double ns, variance; /* of ns, in ns²; 0: exact */
};
struct stall_split;

/* Stacks are copied; n: at least 1. If none took any time, all get the same share. */
struct stall_split *stall_split_new(const struct stall_stack *stacks, uint32_t n);
void stall_split_free(struct stall_split *s); /* NULL is fine */

/* Splits the next row: out[i] for each stack. */
void stall_split_row(struct stall_split *s, uint64_t samples, uint64_t *out);

/* Returns the number of samples whose share is known as well as that of stack i in a row of
 * `samples`, which depends on its own samples and on the measurement of p; at least 1. */
uint32_t stall_split_rests_on(const struct stall_split *s, uint32_t i, uint64_t samples);

/* What a stack was given in all rows so far, and its interval. */
struct stall_part {
	uint64_t samples;
	double low, high;
};
struct stall_part stall_split_part(const struct stall_split *s, uint32_t i, double z);

#endif
