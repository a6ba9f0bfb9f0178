/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/thread_time.h: the times of one thread from the scheduler's switches: exact sums of its time
 * on a CPU, blocked, stopped, and ready without a CPU, and the waits that get a stack. No helpers
 * and no maps: it also compiles in user space, where scripted switches test it.
 *
 *     thread_begins    first stamp: when the thread is created, or when recording starts
 *     thread_leaves    it leaves its CPU
 *     thread_off_cpu      … and has been away until now
 *     thread_comes     it is on a CPU again
 *     thread_came      it has been on a CPU for a while: the switch was not seen
 *     wait_choose      the part of its time away that gets a stack
 *     wait_in_window   the part of a wait inside a window, where not all switches are recorded
 *     thread_calls     it enters a call that waits for a GPU
 *     thread_returns   that call is over */
#ifndef CRESSET_BPF_THREAD_TIME_H
#define CRESSET_BPF_THREAD_TIME_H

#include "bpf/event.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

enum thread_is {
	THREAD_UNKNOWN = 0,
	THREAD_RUNS,
	THREAD_FORKED, /* ready for the first time */
	THREAD_READY,
	THREAD_BLOCKED,
	THREAD_STOPPED,
	THREAD_DEAD
};

/* The times of a thread that may be spent in calls that wait for a GPU. long_off_ns: the part
 * chosen by wait_choose. */
struct call_times {
	__u64 on_ns, off_ns, long_off_ns;
};

struct thread_time {
	__u64 first_ns, last_ns; /* of the first stamp, of the last switch */
	__u64 on_ns, off_ns, run_ns, stopped_ns;
	__u64 long_off_ns, long_run_ns, long_stopped_ns; /* of those, chosen by wait_choose */
	__u64 run_delay, arrival;                        /* of sched_info, when it left the CPU */
	__u64 reported_ns;       /* end of the last report of the pending wait */
	__u64 copied_epoch;      /* seen_epoch of its copied stack; 0: not copied yet */
	__u32 is;                /* enum thread_is, since last_ns */
	__u32 wanted;            /* whether it was a target when its exit started */
	__u32 holds;             /* its held_waits are in use (bpf/off_cpu.h) */
	__u32 moved_asleep;      /* to the queue of another CPU, since last_ns */
	__u32 in_call;           /* one that waits for a GPU */
	__u32 window;            /* number of the window that its stamps belong to */
	struct call_times calls; /* in such calls that are over */
	struct call_times began; /* its times when the current call started */
	__u32 waker_tgid, waker_tid;
	__u64 waker_hash;
	char waker_comm[EVENT_COMM_LEN];
	struct lock_wait lock; /* the lock it waits for, since last_ns */
};

/* The bits of include/linux/sched.h that say why a task sleeps; other bits (nanosleep sets 0x2000)
 * qualify it. A preempted task is ready whatever its bits say: it was about to sleep. */
static __always_inline __u32 thread_state(int preempted, __u32 prev_state)
{
	enum {
		INTERRUPTIBLE = 0x1,
		UNINTERRUPTIBLE = 0x2,
		STOPPED = 0x4,
		TRACED = 0x8,
		PARKED = 0x40,
		DEAD = 0x80,
		RTLOCK = 0x1000,
		FROZEN = 0x8000,
	};

	if (preempted)
		return THREAD_READY;
	if (prev_state & DEAD)
		return THREAD_DEAD;
	if (prev_state & (STOPPED | TRACED | FROZEN))
		return THREAD_STOPPED;
	if (prev_state & (INTERRUPTIBLE | UNINTERRUPTIBLE | PARKED | RTLOCK))
		return THREAD_BLOCKED;
	return THREAD_READY;
}

static __always_inline void thread_begins(struct thread_time *t, __u64 now_ns, __u32 is)
{
	__builtin_memset(t, 0, sizeof *t);
	t->first_ns = t->last_ns = now_ns;
	t->is = is;
}

/* run_delay: of sched_info. */
static __always_inline void thread_leaves(struct thread_time *t, __u64 now_ns, __u64 run_delay,
					  __u32 is)
{
	t->on_ns += now_ns - t->last_ns;
	t->last_ns = now_ns;
	t->run_delay = run_delay;
	t->moved_asleep = 0;
	t->lock.how = LOCK_NONE;
	t->is = is;
}

/* The parts of the time since the thread left its CPU, in this order. */
struct away {
	__u64 off_ns, stopped_ns, run_ns;
};

/* All of its time away is a wait for a CPU. (A running thread never left: switches were missed.) */
static __always_inline int thread_is_ready(const struct thread_time *t)
{
	return t->is == THREAD_READY || t->is == THREAD_FORKED || t->is == THREAD_RUNS;
}

/* queued_ns: the part of that in a queue for a CPU, by the scheduler. For a thread that was moved
 * while asleep the scheduler includes its sleep and does not record when it woke: all of it counts
 * as asleep. */
static __always_inline struct away thread_off_cpu(const struct thread_time *t, __u64 now_ns,
						  __u64 queued_ns)
{
	__u64 all = now_ns - t->last_ns;
	struct away a = { 0 };

	if (t->moved_asleep)
		queued_ns = 0;
	else if (thread_is_ready(t) || queued_ns > all)
		queued_ns = all;
	a.run_ns = queued_ns;
	if (t->is == THREAD_STOPPED)
		a.stopped_ns = all - queued_ns;
	else
		a.off_ns = all - queued_ns;
	return a;
}

static __always_inline void thread_adds(struct thread_time *t, const struct away *a)
{
	t->off_ns += a->off_ns;
	t->stopped_ns += a->stopped_ns;
	t->run_ns += a->run_ns;
}

static __always_inline void thread_comes(struct thread_time *t, __u64 now_ns)
{
	t->last_ns = now_ns;
	t->is = THREAD_RUNS;
}

/* --- windows ---------------------------------------------------------------------------------- */

/* On a machine with so many switches that handling each costs too much, programs are attached only
 * for windows of time, and a wait seen in one stands for more (collect/kernel/switch_windows.h).
 * When they are attached all the time there is one window without an end. */
enum { WINDOW_WEIGHT_ONE = 1024 };
struct switch_window {
	__u64 open_ns, close_ns; /* nothing outside is shown */
	__u64 weight;            /* of the time in it, in 1/WINDOW_WEIGHT_ONE */
	__u32 number;            /* from 1 on */
	__u32 is_paused;         /* it is over, and the next one has not started */
};

/* Returns 1 if x is not 0. Without a branch: verifiers of older kernels check the code after a
 * branch once for each path to it. */
static __always_inline __u64 is_set(__u64 x)
{
	x |= -x;
	asm volatile("" : "+r"(x));
	return x >> 63;
}

/* Brings stamps from before the window up to date: at the thread's first switch in it, or when the
 * thread is reported. runs: it has been running since the window started; otherwise it has been
 * away since then. If its last arrival on a CPU (sched_info) is still the one from when it was last
 * seen to leave, it did not run in the pause either, and its stamps are still valid. */
static __always_inline void thread_enters(struct thread_time *t,
					  const volatile struct switch_window *w, const int runs,
					  __u64 arrival, __u64 run_delay)
{
	__u32 number = w->number, is = runs ? THREAD_RUNS : THREAD_BLOCKED;
	__u64 enters = is_set(t->window ^ number);
	__u64 ran = is_set(t->arrival ^ arrival) | (1 - is_set(t->is ^ THREAD_RUNS)) | runs;
	__u64 anew = -(enters & ran), keeps = ~anew;

	t->window = number;
	t->last_ns = (t->last_ns & keeps) | (w->open_ns & anew);
	t->arrival = (t->arrival & keeps) | (arrival & anew);
	t->run_delay = (t->run_delay & keeps) | (run_delay & anew);
	t->reported_ns &= keeps;
	t->moved_asleep &= (__u32)keeps;
	t->lock.how &= (__u32)keeps;
	t->is = (t->is & (__u32)keeps) | (is & (__u32)anew);
}

static __always_inline __u64 common_ns(__u64 start_ns, __u64 length_ns, __u64 from_ns,
				       __u64 until_ns)
{
	__u64 end_ns = start_ns + length_ns;

	if (start_ns < from_ns)
		start_ns = from_ns;
	if (end_ns > until_ns)
		end_ns = until_ns;
	return end_ns > start_ns ? end_ns - start_ns : 0;
}

/* Reduces a wait to its part in the window, which may be nothing (weight_ns is 0), and weighs
 * it. */
static __always_inline void wait_in_window(struct wait_info *wait,
					   const volatile struct switch_window *w)
{
	__u64 open_ns = w->open_ns, close_ns = w->close_ns, weight = w->weight;
	__u64 off = common_ns(wait->start_ns, wait->off_ns, open_ns, close_ns);
	__u64 run = common_ns(wait->start_ns + wait->off_ns, wait->run_ns, open_ns, close_ns);

	if (wait->parts & (WAIT_OFF_CPU | WAIT_STOPPED_PART))
		wait->weight_ns -= wait->off_ns - off;
	if (wait->parts & WAIT_SCHED)
		wait->weight_ns -= wait->run_ns - run;
	wait->off_ns = off;
	wait->run_ns = run;
	if (wait->start_ns < open_ns)
		wait->start_ns = open_ns;
	if (weight == WINDOW_WEIGHT_ONE)
		return;
	wait->weight_ns = wait->weight_ns * weight / WINDOW_WEIGHT_ONE;
	wait->parts |= WAIT_THINNED;
}

/* The thread has been on a CPU for ran_ns, after queued_ns in a queue, but its switch was not seen.
 * (Some kernels hide what happens in certain tasks, for example the switch when such a task hands
 * over the CPU.) Returns how long it was away. */
static __always_inline struct away thread_came(struct thread_time *t, __u64 now_ns, __u64 ran_ns,
					       __u64 queued_ns)
{
	__u64 came_ns = ran_ns < now_ns - t->last_ns ? now_ns - ran_ns : t->last_ns;
	struct away a = thread_off_cpu(t, came_ns, queued_ns);

	thread_adds(t, &a);
	thread_comes(t, came_ns);
	return a;
}

/* --- calls that wait for a GPU ---------------------------------------------------------------- */

/* Returns the thread's times until now. Only for a thread that runs and requests its own. */
static __always_inline struct call_times thread_times_now(const struct thread_time *t, __u64 now_ns)
{
	struct call_times c = { t->on_ns, t->off_ns, t->long_off_ns };

	if (t->is == THREAD_RUNS && now_ns > t->last_ns)
		c.on_ns += now_ns - t->last_ns;
	return c;
}

/* A value read while the thread runs may be older than its call. */
static __always_inline __u64 time_since(__u64 now, __u64 began)
{
	return now > began ? now - began : 0;
}

/* Returns its times in calls until now, given all its times until now. */
static __always_inline struct call_times thread_in_calls(const struct thread_time *t,
							 const struct call_times *now)
{
	struct call_times c = t->calls;

	if (t->in_call) {
		c.on_ns += time_since(now->on_ns, t->began.on_ns);
		c.off_ns += time_since(now->off_ns, t->began.off_ns);
		c.long_off_ns += time_since(now->long_off_ns, t->began.long_off_ns);
	}
	return c;
}

static __always_inline void thread_returns(struct thread_time *t, const struct call_times *now)
{
	t->calls = thread_in_calls(t, now);
	t->in_call = 0;
}

/* Ends a previous call whose end was not seen. */
static __always_inline void thread_calls(struct thread_time *t, const struct call_times *now)
{
	thread_returns(t, now);
	t->began = *now;
	t->in_call = 1;
}

/* Which waits get a stack. */
struct wait_filter {
	__u64 min_ns, max_ns;
	__u32 parts; /* bits of enum wait_part */
};

static __always_inline int wait_passes(const struct wait_filter *f, __u64 ns)
{
	return ns && ns >= f->min_ns && ns <= f->max_ns;
}

static __always_inline int away_passes(const struct wait_filter *f, const struct away *a)
{
	return wait_passes(f, a->off_ns) || wait_passes(f, a->stopped_ns) ||
	       wait_passes(f, a->run_ns);
}

/* Leaves out the part that was reported while the wait was pending. */
static __always_inline void leave_out_reported(const struct thread_time *t, struct wait_info *w)
{
	__u64 before = t->reported_ns - t->last_ns, off, run;

	if (t->reported_ns <= t->last_ns)
		return;
	off = before < w->off_ns ? before : w->off_ns;
	run = before - off < w->run_ns ? before - off : w->run_ns;
	w->start_ns += off + run;
	w->off_ns -= off;
	w->run_ns -= run;
	if (w->parts & (WAIT_OFF_CPU | WAIT_STOPPED_PART))
		w->weight_ns -= off;
	if (w->parts & WAIT_SCHED)
		w->weight_ns -= run;
}

/* Fills w with the shown part of the time away, and adds it to the sums. Returns false if there is
 * none. */
static __always_inline int wait_choose(const struct wait_filter *f, struct thread_time *t,
				       const struct away *a, struct wait_info *w)
{
	w->parts = 0;
	w->weight_ns = 0;
	if ((f->parts & WAIT_OFF_CPU) && wait_passes(f, a->off_ns)) {
		w->parts |= WAIT_OFF_CPU;
		w->weight_ns += a->off_ns;
		t->long_off_ns += a->off_ns;
	}
	if ((f->parts & WAIT_STOPPED_PART) && wait_passes(f, a->stopped_ns)) {
		w->parts |= WAIT_STOPPED_PART;
		w->weight_ns += a->stopped_ns;
		t->long_stopped_ns += a->stopped_ns;
	}
	if ((f->parts & WAIT_SCHED) && wait_passes(f, a->run_ns)) {
		w->parts |= WAIT_SCHED;
		w->weight_ns += a->run_ns;
		t->long_run_ns += a->run_ns;
	}
	w->start_ns = t->last_ns;
	w->off_ns = a->off_ns + a->stopped_ns;
	w->run_ns = a->run_ns;
	w->kernel_hash = 0;
	w->going_on = 0;
	leave_out_reported(t, w);
	return w->parts != 0;
}

/* When there are more waits than wanted, their lengths, one after the other, are cut into quanta.
 * In each quantum one moment is drawn, and the wait that contains it is taken and weighs the
 * quantum. So the expected weight of a wait is its length, and the error of sums is lower than if
 * every wait were drawn independently. */
#define RATE_WINDOW_NS 100000000ull
/* Waits that pass the filter, on one CPU. */
struct wait_rate {
	__u64 window_ns;             /* when the window started */
	__u64 seen, seen_ns, sent;   /* in it */
	__u64 quantum_ns;            /* derived from these; 0: all are taken */
	__u64 all_seen, all_seen_ns; /* since the start */
	/* threads holding waits, and blind CPUs; only the sum over all CPUs is meaningful */
	__s64 held;
	__u64 switches;        /* since the start, where requested */
	__u64 timed, timed_ns; /* switches whose cost was measured, and that cost */
};

struct quanta {
	__u64 quantum_ns;
	__u64 at_ns;    /* how much of the current one has passed */
	__u64 drawn_ns; /* the moment in it */
};

static __always_inline __u64 quanta_draw(__u64 quantum_ns, __u32 random)
{
	return (random * (quantum_ns >> 10)) >> 22;
}

/* Returns the weight of a wait shorter than the quantum: 0, the quantum, or twice that if it lies
 * across two. */
static __always_inline __u64 quanta_weigh(struct quanta *q, __u64 quantum_ns, __u64 ns,
					  __u32 random)
{
	__u64 end, weight;

	if (q->quantum_ns != quantum_ns) {
		q->quantum_ns = quantum_ns;
		q->at_ns = 0;
		q->drawn_ns = quanta_draw(quantum_ns, random);
		random = random * 0x9e3779b1u + 1;
	}
	end = q->at_ns + ns;
	weight = q->at_ns <= q->drawn_ns && q->drawn_ns < end ? quantum_ns : 0;
	if (end >= quantum_ns) {
		end -= quantum_ns;
		q->drawn_ns = quanta_draw(quantum_ns, random);
		weight += q->drawn_ns < end ? quantum_ns : 0;
	}
	q->at_ns = end;
	return weight;
}

#endif
