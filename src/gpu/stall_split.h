/* gpu/stall_split.h: samples in a function that ran on a device, split among the stacks that launched it.
 *
 * The device says what was sampled, not whose launch it was in. A stack has the part that its launches had of the time that the function ran,
 * p. Rows (an instruction and a reason) are split one after another by the largest remainder, what was given too much or too
 * little so far carried along: each row keeps its sum, and of all rows together each stack has n·p to within 2.
 *
 * A function that stalls alike whoever launches it leaves a stack with a binomial number of its n samples, and p may be an estimate
 * itself: with its standard error s, the true number lies within n·p ± z·√(n·p·(1-p) + (n·s)²). */
#ifndef CRESSET_GPU_STALL_SPLIT_H
#define CRESSET_GPU_STALL_SPLIT_H

#include <stdint.h>

struct stall_stack {
	uint32_t stack;
	double ns, variance; /* of ns, in ns²; 0: exact */
};
struct stall_split;

/* Stacks are copied; n at least 1. Where none took any time all have the same part. */
struct stall_split *stall_split_new(const struct stall_stack *stacks, uint32_t n);
void stall_split_free(struct stall_split *s); /* NULL is fine */

/* The next row: out[i] for each stack. */
void stall_split_row(struct stall_split *s, uint64_t samples, uint64_t *out);

/* Of so many samples a share can be told as well as stack i's of a row of `samples`, which is of its own samples and of what was measured of p; at
 * least 1. */
uint32_t stall_split_rests_on(const struct stall_split *s, uint32_t i, uint64_t samples);

/* Of all rows so far, for a stack: what it was given, and the interval. */
struct stall_part {
	uint64_t samples;
	double low, high;
};
struct stall_part stall_split_part(const struct stall_split *s, uint32_t i, double z);

#endif
