/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/cycle_clock.h: the time that a tick of the event `cycles` stands for. No helpers and no maps:
 * it also compiles in user space, where scripted ticks test it.
 *
 * The kernel aims at F ticks a second, whatever the load: on a CPU that is busy for a twentieth of
 * the time, a tick comes after a twentieth of the cycles. So a tick is worth the cycles since the
 * previous one (its period), and cycles are converted to time: the run time of the CPU's tasks, by
 * the scheduler, divided by the cycles of the ticks in them. This rate is measured again in each
 * window of busy time, as turbo and governors change it. A window also makes up for what the
 * previous one gave too much or too little. So the sum is the CPU's busy time even when the rate
 * changes, when others have the counter and cycles are not counted, and though the scheduler's
 * clock is up to a tick old.
 *
 * A sample stands for a whole number of periods of 1/F s of busy time, like a sample of
 * `cpu-clock`: a tick in which no period ends is not sent. So samples, their sums and their
 * statistics mean the same with either clock, and a CPU that is hardly busy costs hardly
 * anything. */
#ifndef CRESSET_BPF_CYCLE_CLOCK_H
#define CRESSET_BPF_CYCLE_CLOCK_H

#include <linux/types.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

enum { CYCLE_RATE_BITS = 20, CYCLE_MAX_PERIODS = 1 << 12 };
#define CYCLE_WINDOW_NS  200000000ull /* of busy time */
/* A window whose rate is off by this much ends early, but not before the minimum. */
#define CYCLE_OFF_NS     40000000ull
#define CYCLE_LEAST_NS   10000000ull
/* Bounds, so that they can be multiplied. */
#define CYCLE_MAX_CYCLES (1ull << 37)
#define CYCLE_MAX_RATE   (1ull << 26)
/* More busy time than this many periods plus CYCLE_GAP_NS before a tick: no ticks came, and it is
 * unknown whose time it was. */
enum { CYCLE_GAP_PERIODS = 16 };
#define CYCLE_GAP_NS 50000000ull

struct cycle_clock {
	__u64 rate;      /* ns in 2^CYCLE_RATE_BITS cycles; 0: unknown yet */
	__u64 begin_ns;  /* busy time when counting started, plus what was forgotten */
	__u64 given_ns;  /* since then, by ticks */
	__u64 window_ns; /* busy time when the window started */
	__u64 cycles;    /* of ticks in it */
	__u64 in_ns;     /* given by ticks in it */
	__u64 last_ns;   /* busy time at the last tick */
	__u64 owed_ns;   /* given, but not yet sent: less than a period */
	__u64 lost_ns;   /* busy time without a tick; the caller takes it */
};

static __always_inline void cycle_forget(struct cycle_clock *c, __u64 ns)
{
	c->lost_ns += ns;
	c->begin_ns += ns;
	c->window_ns += ns;
}

/* Ends a window: measures its rate, adjusted by at most half to make up the difference. */
static __always_inline void cycle_next_window(struct cycle_clock *c, __u64 busy_ns)
{
	__u64 window_ns = busy_ns - c->window_ns, most_ns = window_ns / 2, rate, change;
	__s64 behind_ns = (__s64)(busy_ns - c->begin_ns - c->given_ns);

	rate = (window_ns << CYCLE_RATE_BITS) / (c->cycles ? c->cycles : 1);
	if (rate > CYCLE_MAX_RATE)
		rate = CYCLE_MAX_RATE;
	change = behind_ns < 0 ? -behind_ns : behind_ns;
	change = rate / 2 * (change < most_ns ? change : most_ns) / most_ns;
	rate = behind_ns < 0 ? rate - change : rate + change;
	c->rate = rate;
	c->window_ns = busy_ns;
	c->cycles = c->in_ns = 0;
}

static __always_inline int cycle_window_ends(const struct cycle_clock *c, __u64 busy_ns)
{
	__u64 passed_ns = busy_ns > c->window_ns ? busy_ns - c->window_ns : 0;

	if (passed_ns < CYCLE_LEAST_NS)
		return 0;
	return passed_ns >= CYCLE_WINDOW_NS || c->in_ns > passed_ns + CYCLE_OFF_NS ||
	       passed_ns > c->in_ns + CYCLE_OFF_NS;
}

/* Handles a tick in a task. cycles: since the previous tick; busy_ns: how long the CPU's tasks have
 * run so far. Returns the number of periods that a sample of this tick stands for. */
static __always_inline __u32 cycle_tick(struct cycle_clock *c, __u64 cycles, __u64 busy_ns,
					__u64 period_ns)
{
	const __u64 gap_ns = CYCLE_GAP_PERIODS * period_ns + CYCLE_GAP_NS;
	__u64 passed_ns, ns, n;

	if (cycles > CYCLE_MAX_CYCLES)
		cycles = CYCLE_MAX_CYCLES;
	if (!c->begin_ns) {
		c->begin_ns = c->window_ns = c->last_ns = busy_ns ? busy_ns : 1;
		return 0;
	}
	/* When it is read in the middle of a switch it may be too high, once. */
	passed_ns = busy_ns > c->last_ns ? busy_ns - c->last_ns : 0;
	c->last_ns = busy_ns;
	if (passed_ns > gap_ns) {
		cycle_forget(c, passed_ns - period_ns);
		passed_ns = period_ns;
	}
	c->cycles += cycles;
	/* Before there is a rate: the time itself. */
	ns = c->rate ? cycles * c->rate >> CYCLE_RATE_BITS : passed_ns;
	c->given_ns += ns;
	c->in_ns += ns;
	if (cycle_window_ends(c, busy_ns))
		cycle_next_window(c, busy_ns);
	c->owed_ns += ns;
	n = c->owed_ns / period_ns;
	c->owed_ns -= n * period_ns;
	return n < CYCLE_MAX_PERIODS ? n : CYCLE_MAX_PERIODS;
}

#endif
