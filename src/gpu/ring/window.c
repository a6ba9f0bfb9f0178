/* Plans the next window from the measured cost. */
#include "gpu/ring/window.h"

static const double newest = 0.2; /* its weight in the moving mean */

void window_init(struct window *w, double budget, uint32_t seed, uint64_t now_ns)
{
	*w = (struct window){
		.budget = budget > 1e-9 ? budget : 1e-9,
		.cost = -1,
		.began_ns = now_ns,
		.next_ns = now_ns,
		.length_ns = WINDOW_FIRST_NS,
		.random = (seed + 1ull) * 0x9e3779b97f4a7c15ull | 1,
	};
}

uint64_t window_plan(const struct window *w, uint64_t now_ns, uint64_t *until_ns)
{
	uint64_t at = w->next_ns > now_ns ? w->next_ns : now_ns;

	*until_ns = at + w->length_ns;
	return at;
}

/* 0.75 to 1.25, by xorshift64*. */
static double spread(struct window *w)
{
	w->random ^= w->random >> 12;
	w->random ^= w->random << 25;
	w->random ^= w->random >> 27;
	return 0.75 + (double)(w->random * 0x2545f4914f6cdd1dull >> 32) / 0x1p33;
}

/* The cost of a window has a part that does not shrink with its length, so the length cannot be
 * computed from the share alone: it changes step by step. */
static void choose_length(struct window *w)
{
	double period = w->length_ns * w->cost / w->budget;
	double want = WINDOW_LENGTH_NS;

	if (period > WINDOW_PERIOD_MAX_NS || w->length_ns < WINDOW_LENGTH_NS)
		want = w->length_ns * (WINDOW_PERIOD_MAX_NS / (period > 1 ? period : 1));
	if (want > WINDOW_LENGTH_NS)
		want = WINDOW_LENGTH_NS;
	w->length_ns = want < WINDOW_SHORTEST_NS ? WINDOW_SHORTEST_NS : (uint64_t)want;
}

static uint64_t grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

void window_done(struct window *w, uint64_t opened_ns, uint64_t closed_ns,
		 const struct window_cost *sums)
{
	uint64_t open = closed_ns > opened_ns ? closed_ns - opened_ns : 1;
	double spent = grown(sums->busy_ns, w->spent.busy_ns) +
		       grown(sums->helper_ns, w->spent.helper_ns) +
		       grown(sums->overhead_ns, w->spent.overhead_ns) +
		       (double)WINDOW_PROBE_NS * grown(sums->probes, w->spent.probes);
	double cost = spent / open;

	w->cost = w->cost < 0 ? cost : w->cost + newest * (cost - w->cost);
	w->spent = *sums;
	w->open_ns += open;
	double period = open * w->cost / w->budget;

	w->next_ns = closed_ns + (period > open ? (uint64_t)((period - open) * spread(w)) : 0);
	choose_length(w);
}

double window_coverage(const struct window *w, uint64_t now_ns)
{
	uint64_t all = grown(now_ns, w->began_ns);

	return !all ? 0 : w->open_ns < all ? (double)w->open_ns / all : 1;
}
