/* gpu/window.h: when exact records are taken: in windows, so far apart that what they cost stays below a budget.
 *
 *     at = window_plan(&w, now, &until)      open then, close then
 *     window_done(&w, opened, closed, &sums) with what the library says it has spent by now
 *
 * The cost of the window that was, for each ns that it was open (its opening and closing included), goes into a
 * moving mean c; the next one opens after length · c / budget. The gap is spread by a quarter to both sides, so that
 * no rhythm of the program hides in it. A window so dear that it would be due once in more than WINDOW_PERIOD_MAX_NS
 * becomes shorter. With a budget of 1 and more there is no gap.
 *
 * What was seen is a sample of the time: window_coverage says how much of it, and travels with the numbers. */
#ifndef CRESSET_GPU_WINDOW_H
#define CRESSET_GPU_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define WINDOW_BUDGET_ALWAYS 0.001 /* of the wall time, what is always on may cost */

enum { WINDOW_PROBE_NS = 500 }; /* what one stack at the probe costs the program */
#define WINDOW_LENGTH_NS     100000000ull
#define WINDOW_FIRST_NS      20000000ull /* of unknown cost */
#define WINDOW_SHORTEST_NS   5000000ull
#define WINDOW_PERIOD_MAX_NS 60000000000ull

/* Sums since the library was loaded, as gpu/ring_read.h has them. */
struct window_cost {
	uint64_t busy_ns, helper_ns, overhead_ns, probes;
};
struct window {
	double budget;
	double cost; /* ns for each ns that it is open; < 0: not known */
	struct window_cost spent;
	uint64_t began_ns, next_ns, open_ns; /* open_ns: all windows together */
	uint64_t length_ns;
	uint64_t random;
};

void window_init(struct window *w, double budget, uint32_t seed, uint64_t now_ns);

/* When the next window opens, now or later, and in *until_ns when it closes. */
uint64_t window_plan(const struct window *w, uint64_t now_ns, uint64_t *until_ns);

void window_done(struct window *w, uint64_t opened_ns, uint64_t closed_ns,
		 const struct window_cost *sums);

/* Share of the time since window_init that windows were open, 0 to 1. */
double window_coverage(const struct window *w, uint64_t now_ns);

#endif
