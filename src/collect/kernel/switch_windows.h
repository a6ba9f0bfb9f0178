/* collect/kernel/switch_windows.h: decides when the programs at switches are attached. Where
 * recording every switch costs more than the budget, they are attached in windows of time, and
 * waits in a window get a higher weight (bpf/thread_time.h).
 *
 * Time is divided into periods, from one cut to the next. The windows of a period are together as
 * long as the budget allows. They start at a random place, so that each moment of the period is
 * equally likely to be in a window: a window that would reach beyond the period continues at its
 * start. Waits in windows of total length w have the weight period/w. So the expected sum of
 * any waits is their time, and a thread that waits all the time has exactly that.
 *
 *     switch_windows_begin     one window without an end
 *     switch_windows_due_ns    when to ask again
 *     switch_windows_step      what to do now: attach and call …_opened, or report, detach and
 *                              call …_closed
 *     switch_windows_cut       ends a period; a window that does not cover all of it must be closed
 *
 * No clocks, no randomness, no kernel: tests script all of them. */
#ifndef CRESSET_COLLECT_KERNEL_SWITCH_WINDOWS_H
#define CRESSET_COLLECT_KERNEL_SWITCH_WINDOWS_H

#include "bpf/thread_time.h"

#include <stdbool.h>
#include <stdint.h>

struct switch_windows_opts {
	double budget;      /* share of one CPU's time for recording switches, > 0 */
	uint64_t period_ns; /* > 0 */
	uint64_t seed;
};
/* Sums over all CPUs since the start, as in struct wait_rate. */
struct switch_counts {
	uint64_t switches, timed, timed_ns;
};
struct switch_window_plan {
	uint64_t from_ns, length_ns;
};
enum switch_step { SWITCH_STAY, SWITCH_OPEN, SWITCH_CLOSE };

struct switch_windows {
	struct switch_windows_opts opts;
	struct switch_counts counts; /* when the window opened, or at the last look */
	struct switch_window now;
	struct switch_window_plan plan[2];
	unsigned n_plan;
	uint64_t counted_ns; /* when counts were taken */
	uint64_t until_ns;   /* end of the period */
	uint64_t told_ns;    /* all time before this is accounted for */
	bool is_enough;      /* the budget covers all time: the next window has no end */
	double load;         /* of a CPU: cost of recording every switch */
	double share;        /* of the period that is in windows; 1: all of it */
	uint64_t random;
};

/* w: zeros except opts. The first window is open. */
void switch_windows_begin(struct switch_windows *w, uint64_t now_ns);
uint64_t switch_windows_due_ns(const struct switch_windows *w);
enum switch_step switch_windows_step(struct switch_windows *w, const struct switch_counts *counts,
				     uint64_t now_ns);
/* Call it when all programs are attached: w->now is then what they are to use. */
void switch_windows_opened(struct switch_windows *w, const struct switch_counts *counts,
			   uint64_t now_ns);
void switch_windows_closed(struct switch_windows *w, const struct switch_counts *counts,
			   uint64_t now_ns);
void switch_windows_cut(struct switch_windows *w, uint64_t now_ns);

/* Returns whether all time is recorded. */
static inline bool switch_windows_is_whole(const struct switch_windows *w)
{
	return !w->now.is_paused && w->now.close_ns == UINT64_MAX;
}

#endif
