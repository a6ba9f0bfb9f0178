/* gpu/ring/window.h: schedules exact recording: in windows, with gaps so long that the cost stays
 * below a budget.
 *
 *     at = window_plan(&w, now, &until)      open then, close at until
 *     window_done(&w, opened, closed, &sums) with the cost that the library has reported so far
 *
 * The cost of a closed window, per ns that it was open (including opening and closing), goes into a
 * moving mean c; the next one opens after length · c / budget. The gap varies by up to a quarter
 * in both directions, so that no rhythm of the program is missed. A window so expensive that it
 * would be due less than once in WINDOW_PERIOD_MAX_NS is shortened. With a budget of 1 or more
 * there is no gap.
 *
 * Windows sample the time: window_coverage returns their share of it, which is stored with the
 * numbers. */
#ifndef CRESSET_GPU_RING_WINDOW_H
#define CRESSET_GPU_RING_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define WINDOW_BUDGET_ALWAYS 0.001 /* share of the wall time for always-on recording */

enum { WINDOW_PROBE_NS = 500 }; /* cost of one stack at the probe for the program */
#define WINDOW_LENGTH_NS     100000000ull
#define WINDOW_FIRST_NS      20000000ull /* while the cost is unknown */
#define WINDOW_SHORTEST_NS   5000000ull
#define WINDOW_PERIOD_MAX_NS 60000000000ull

/* Sums since the library was loaded, as in gpu/ring/ring_read.h. */
struct window_cost {
	uint64_t busy_ns, helper_ns, overhead_ns, probes;
};
struct window {
	double budget;
	double cost; /* overhead, ns for each ns that a window is open; < 0: not measured */
	struct window_cost spent;
	uint64_t began_ns, next_ns, open_ns; /* open_ns: sum over all windows */
	uint64_t length_ns;
	uint64_t random;
};

void window_init(struct window *w, double budget, uint32_t seed, uint64_t now_ns);

/* Returns when the next window opens, now or later, and sets *until_ns to when it closes. */
uint64_t window_plan(const struct window *w, uint64_t now_ns, uint64_t *until_ns);

void window_done(struct window *w, uint64_t opened_ns, uint64_t closed_ns,
		 const struct window_cost *sums);

/* Returns the share of the time since window_init that windows were open, 0 to 1. */
double window_coverage(const struct window *w, uint64_t now_ns);

#endif
