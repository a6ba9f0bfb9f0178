/* profile/change/estimate.h: intervals for sums of samples whose stacks are estimates.
 *
 * Above a rate of launches, GPU work gets its stacks from sampled launches (gpu/ring/join.h): the
 * exact time of all work of one kind (the leaf) in one process is distributed over the sampled
 * stacks. Such samples have the label ESTIMATE_LABEL: the number of samples (rounded down) behind
 * the shares. A function with the share p of a kind gets p of its time, with Wilson's interval for
 * p among this number of samples (profile/change/interval.h); a whole kind is exact. Kinds are
 * independent of each other: the squares of their distances add up. If a kind was distributed
 * thread by thread, threads of equal labels are taken together, which makes intervals rather too
 * wide.
 *
 * Waits recorded in windows are estimates as well, and samples of memory (see below). */
#ifndef CRESSET_PROFILE_CHANGE_ESTIMATE_H
#define CRESSET_PROFILE_CHANGE_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct profile;
struct tree;
struct tree_opts;

#define ESTIMATE_LABEL "estimated_from"

struct estimate {
	int64_t self_low, self_high, total_low, total_high;
};
struct estimates;

/* Takes the same options as tree_build. Sets *out to NULL if nothing is an estimate. */
int estimates_build(struct profile *p, const struct tree_opts *opts, struct estimates **out,
		    struct err *err);
void estimates_free(struct estimates *e); /* NULL is fine */

/* Returns the interval for a function of t, built from the same samples, and its sums. Exact sums
 * have themselves as both limits. */
struct estimate estimates_get(const struct estimates *e, const struct tree *t, uint32_t func,
			      int64_t self, int64_t total);
/* Returns how much of the total is an estimate. */
int64_t estimates_total(const struct estimates *e);

/* --- window_spread.c ---
 *
 * Random errors of sums of waits that were recorded in windows of time
 * (collect/kernel/switch_windows.h), each of which stands for the period around it. Their series
 * have WINDOWS_LABEL: the length of a period, in seconds.
 *
 * A row with the value v in a period T is a wait that was seen with the probability w/T and weighs
 * T/w. By chance alone its variance is v²·(1 - v/T), as a wait that fills the window has none
 * (D. G. Horvitz and D. J. Thompson, JASA 47 (1952) 663-685, for waits independent of each other).
 * Correlated waits have more. This is measured if the range has enough periods: it is cut into
 * stretches of at least STRETCH_PERIODS, and the variance of the sum is ½·Σ(next - one)²·n/(n
 * - 1) (J. von Neumann et al., Annals of Mathematical Statistics 12 (1941) 153-162), which real
 * changes of the load increase. The larger of the two is used. A row without a time is a sum of
 * such rows: its variance is at most 2/9·v·T. No interval is narrower than 0.5 %. A begin or end
 * within a period adds T²/12 each, times the square of the number of threads that wait at a
 * time. */

struct tree_samples;

#define WINDOWS_LABEL "windows"

/* Variances. */
struct window_spread {
	double self, total;
};

/* of: [t->funcs.n], zeroed. rows: of t, which is neither inverted nor cut. Returns the sum of the
 * rows that are estimates; 0: none. */
int64_t window_spread(const struct profile *p, const struct tree *t,
		      const struct tree_samples *rows, struct window_spread *of);

/* --- period_spread.c ---
 *
 * Random errors of sums of samples that were each taken by chance and stand for others: their type
 * (alloc, page-fault) has a period with its name and unit. The period of a series is what its
 * samples weigh beyond themselves, w - 1 times their size (collect/resolve/heap.h). A row of n
 * samples has the value v = n·w·s and the variance n·w·(w - 1)·s², v times the period (D. G.
 * Horvitz and D. J. Thompson, as above; the estimate of the variance has no bias). A series without
 * a period is exact. */

bool has_own_period(const struct profile *p, uint32_t type);
/* As window_spread; it adds to of. */
int64_t period_spread(const struct profile *p, const struct tree *t, uint32_t type,
		      const struct tree_samples *rows, struct window_spread *of);

#endif
