/* Decides from the measured cost of switches when windows open and close. */
#include "collect/kernel/switch_windows.h"

#define LOOK_NS     1000000000ull /* how often the load is checked while all is recorded */
#define SHORTEST_NS 20000000ull   /* windows of a period, together: attaching takes some ms */
/* Costs that a program at a switch does not measure itself: its call, and the program after the
 * switch, which is slower by the same factor with cold caches (once, next to the servers of
 * bench/up.sh, by kernel.bpf_stats_enabled: 440 ns and 170 ns where the program itself measured
 * 400). */
#define CALL_NS     40
#define ALL_OF_ONE  1.4
#define GUESS_NS    300 /* until something was timed */
/* Windows start at a load above MORE budgets, and end when LESS of the load is within the
 * budget. */
#define MORE        1.25
#define LESS        0.8

static double cost_ns(const struct switch_counts *more)
{
	double timed_ns = more->timed ? (double)more->timed_ns / (double)more->timed : GUESS_NS;

	return CALL_NS + ALL_OF_ONE * timed_ns;
}

/* Returns the load since the last counts were taken, of a CPU. */
static double load_since(const struct switch_windows *w, const struct switch_counts *counts,
			 uint64_t now_ns)
{
	struct switch_counts more = { counts->switches - w->counts.switches,
				      counts->timed - w->counts.timed,
				      counts->timed_ns - w->counts.timed_ns };

	if (now_ns <= w->counted_ns)
		return w->load;
	return (double)more.switches * cost_ns(&more) / (double)(now_ns - w->counted_ns);
}

static void take_counts(struct switch_windows *w, const struct switch_counts *counts,
			uint64_t now_ns)
{
	w->counts = *counts;
	w->counted_ns = now_ns;
}

/* xorshift64: G. Marsaglia, Journal of Statistical Software 8 (2003), issue 14. */
static uint64_t draw_below(struct switch_windows *w, uint64_t n)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (uint64_t)((unsigned __int128)w->random * n >> 64);
}

/* Plans the windows from now until the end of the period. */
static void plan(struct switch_windows *w, uint64_t now_ns)
{
	uint64_t period_ns = w->until_ns > now_ns ? w->until_ns - now_ns : 0;
	double wanted_ns = w->load > 0 ? (double)period_ns * w->opts.budget / w->load : 0;
	uint64_t length_ns = wanted_ns > SHORTEST_NS ? (uint64_t)wanted_ns : SHORTEST_NS;

	w->n_plan = 0;
	if (period_ns <= length_ns)
		return;
	uint64_t at_ns = draw_below(w, period_ns), left_ns = period_ns - at_ns;
	if (left_ns < length_ns)
		w->plan[w->n_plan++] = (struct switch_window_plan){ now_ns, length_ns - left_ns };
	w->plan[w->n_plan++] =
		(struct switch_window_plan){ now_ns + at_ns,
					     left_ns < length_ns ? left_ns : length_ns };
	w->now.weight = (uint64_t)((double)(w->until_ns - w->told_ns) / (double)length_ns *
				   WINDOW_WEIGHT_ONE);
	w->told_ns = w->until_ns;
	w->share = (double)length_ns / (double)period_ns;
}

static void open_whole(struct switch_windows *w, uint64_t now_ns)
{
	w->now.open_ns = w->now.number == 1 ? 0 : now_ns;
	w->now.close_ns = UINT64_MAX;
	w->now.weight = WINDOW_WEIGHT_ONE;
	w->now.is_paused = 0;
	w->is_enough = false;
	w->share = 1;
}

void switch_windows_begin(struct switch_windows *w, uint64_t now_ns)
{
	*w = (struct switch_windows){ .opts = w->opts,
				      .random = w->opts.seed | 1,
				      .now.number = 1 };
	w->counted_ns = w->told_ns = now_ns;
	w->until_ns = now_ns + w->opts.period_ns;
	open_whole(w, now_ns);
}

uint64_t switch_windows_due_ns(const struct switch_windows *w)
{
	if (switch_windows_is_whole(w))
		return w->counted_ns + LOOK_NS;
	if (!w->now.is_paused)
		return w->now.close_ns;
	if (w->is_enough)
		return 0;
	return w->n_plan ? w->plan[0].from_ns : UINT64_MAX;
}

enum switch_step switch_windows_step(struct switch_windows *w, const struct switch_counts *counts,
				     uint64_t now_ns)
{
	if (now_ns < switch_windows_due_ns(w))
		return SWITCH_STAY;
	if (w->now.is_paused)
		return SWITCH_OPEN;
	if (!switch_windows_is_whole(w))
		return SWITCH_CLOSE;
	w->load = load_since(w, counts, now_ns);
	take_counts(w, counts, now_ns);
	return w->load > MORE * w->opts.budget ? SWITCH_CLOSE : SWITCH_STAY;
}

void switch_windows_opened(struct switch_windows *w, const struct switch_counts *counts,
			   uint64_t now_ns)
{
	take_counts(w, counts, now_ns);
	w->now.number++;
	w->now.is_paused = 0;
	if (w->is_enough) {
		open_whole(w, now_ns);
		return;
	}
	w->now.open_ns = now_ns;
	w->now.close_ns = now_ns + w->plan[0].length_ns;
	w->plan[0] = w->plan[1];
	w->n_plan--;
}

void switch_windows_closed(struct switch_windows *w, const struct switch_counts *counts,
			   uint64_t now_ns)
{
	bool was_whole = switch_windows_is_whole(w);

	if (!was_whole)
		w->load = (w->load + load_since(w, counts, now_ns)) / 2;
	w->now.is_paused = 1;
	if (!was_whole)
		return;
	w->told_ns = now_ns;
	plan(w, now_ns);
}

/* A cut comes a little late: the time not recorded since then is accounted for in the next
 * period. */
void switch_windows_cut(struct switch_windows *w, uint64_t now_ns)
{
	bool was_whole = switch_windows_is_whole(w);
	uint64_t late_ns = now_ns - w->told_ns;

	w->until_ns = now_ns + w->opts.period_ns;
	if (was_whole || now_ns < w->told_ns || late_ns > w->opts.period_ns)
		w->told_ns = now_ns;
	if (was_whole)
		return;
	w->n_plan = 0;
	w->is_enough = w->load * LESS <= w->opts.budget;
	if (!w->is_enough)
		plan(w, now_ns);
}
