/* Compares the wall clock with CLOCK_BOOTTIME. */
#include "store/codec/clock_watch.h"

#include "profile/sum.h"

/* A smaller boot_ns means a reboot since; without one both clocks run at the same rate. */
static bool was_set(const struct clock_watch *w, int64_t boot_ns, int64_t moved_ns)
{
	int64_t ahead_ns = boot_ns < w->boot_ns ? CLOCK_WATCH_HOLD_NS : CLOCK_WATCH_HOUR_NS;

	return w->wall_ns && (moved_ns > ahead_ns || moved_ns < -CLOCK_WATCH_HOUR_NS);
}

bool clock_watch_look(struct clock_watch *w, int64_t wall_ns, int64_t boot_ns, int64_t *moved_ns)
{
	int64_t ran_ns = boot_ns > w->boot_ns ? boot_ns - w->boot_ns : 0;
	int64_t apart_ns = sum_sub(sum_sub(wall_ns, w->wall_ns), ran_ns);
	bool is_set = was_set(w, boot_ns, apart_ns);

	if (w->hold_ns)
		w->unset_ns += ran_ns;
	else if (is_set)
		w->unset_ns = sum_add(w->wall_ns, ran_ns);
	if (is_set) {
		w->hold_ns = CLOCK_WATCH_HOLD_NS;
		*moved_ns = apart_ns;
	} else {
		w->hold_ns = w->hold_ns > ran_ns ? w->hold_ns - ran_ns : 0;
	}
	if (!w->hold_ns)
		w->unset_ns = 0;
	w->wall_ns = wall_ns;
	w->boot_ns = boot_ns;
	return is_set;
}
