/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/thread_time.h: what the scheduler's switches say of one thread: exact sums of its time on a CPU, blocked, stopped, and ready
 * without a CPU, and the waits that are worth a stack. No helpers and no maps: it also compiles in user space, where scripted
 * switches test it.
 *
 *     thread_begins    at its first stamp: when it is made, or when recording starts
 *     thread_leaves    it leaves its CPU
 *     thread_away      … has been away so long, until now
 *     thread_comes     it is on a CPU again
 *     thread_came      it has been on a CPU for a while: the switch was not seen
 *     wait_choose      what of that gets a stack
 *     thread_calls     it calls something that waits for a GPU, until
 *     thread_returns   that call is over
 */
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

/* Those of its times that may be in calls that wait for a GPU. long_off_ns: what wait_choose chose. */
struct call_times {
	__u64 on_ns, off_ns, long_off_ns;
};

struct thread_time {
	__u64 first_ns, last_ns; /* of the first stamp, of the last switch */
	__u64 on_ns, off_ns, run_ns, stopped_ns;
	__u64 long_off_ns, long_run_ns, long_stopped_ns; /* of that, what wait_choose chose */
	__u64 run_delay;                                 /* of sched_info, when it left the CPU */
	__u64 reported_ns;       /* until when a wait that goes on was reported */
	__u64 copied_epoch;      /* seen_epoch when its stack was copied for that; 0: not yet */
	__u32 is;                /* enum thread_is, since last_ns */
	__u32 wanted;            /* whether it was a target when its exit began */
	__u32 holds;             /* there is something in its held_waits (bpf/held_waits.h) */
	__u32 moved_asleep;      /* to the queue of another CPU, since last_ns */
	__u32 in_call;           /* one that waits for a GPU */
	struct call_times calls; /* in such calls that are over */
	struct call_times began; /* its times when the one it is in began */
	__u32 waker_tgid, waker_tid;
	__u64 waker_hash;
	char waker_comm[EVENT_COMM_LEN];
};

/* include/linux/sched.h: the bits that say why a task sleeps; others (nanosleep sets 0x2000) qualify it. A preempted task is ready
 * whatever they say: it was about to sleep. */
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
	t->is = is;
}

/* Parts of the time since it left, in this order. */
struct away {
	__u64 off_ns, stopped_ns, run_ns;
};

/* All of its time away is a wait for a CPU. (One that runs never left: switches were missed.) */
static __always_inline int thread_is_ready(const struct thread_time *t)
{
	return t->is == THREAD_READY || t->is == THREAD_FORKED || t->is == THREAD_RUNS;
}

/* queued_ns: how much of that it was in a queue for a CPU, by the scheduler. Of one that was moved asleep the scheduler counts its sleep, too,
 * and not when it woke: it counts as asleep. */
static __always_inline struct away thread_away(const struct thread_time *t, __u64 now_ns,
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

/* It has been on a CPU for ran_ns, and in a queue for one for queued_ns before that, but the switch was not seen. (Some kernels show
 * nothing of what happens in tasks of their choice: so it is when such a one hands the CPU on.) Returns how long it was away. */
static __always_inline struct away thread_came(struct thread_time *t, __u64 now_ns, __u64 ran_ns,
					       __u64 queued_ns)
{
	__u64 came_ns = ran_ns < now_ns - t->last_ns ? now_ns - ran_ns : t->last_ns;
	struct away a = thread_away(t, came_ns, queued_ns);

	thread_adds(t, &a);
	thread_comes(t, came_ns);
	return a;
}

/* --- calls that wait for a GPU ---------------------------------------------------------------------------------------- */

/* Its times until now, of a thread that runs: asked for by itself. */
static __always_inline struct call_times thread_times_now(const struct thread_time *t, __u64 now_ns)
{
	struct call_times c = { t->on_ns, t->off_ns, t->long_off_ns };

	if (t->is == THREAD_RUNS && now_ns > t->last_ns)
		c.on_ns += now_ns - t->last_ns;
	return c;
}

/* What is read while the thread runs may be of before its call. */
static __always_inline __u64 time_since(__u64 now, __u64 began)
{
	return now > began ? now - began : 0;
}

/* In calls until now, when its times are those of now. */
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

/* One whose end was not seen is over. */
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

/* What was reported while the wait went on is not reported again. */
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

/* Fills w with what is shown of the time away, and adds it to the sums. False: nothing. */
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

/* More waits than are wanted: the time that they take, one after the other, is cut into quanta; in each of these one moment is drawn,
 * and the wait that it falls into is taken, and weighs the quantum. So the expected weight of a wait is its length, and sums are off by
 * less than they would be if every wait were drawn for itself. */
#define RATE_WINDOW_NS 100000000ull
/* How many pass the filter, on one CPU. */
struct wait_rate {
	__u64 window_ns;             /* when it began */
	__u64 seen, seen_ns, sent;   /* in it */
	__u64 quantum_ns;            /* by these; 0: all are taken */
	__u64 all_seen, all_seen_ns; /* since the beginning */
	__s64 held; /* threads that hold waits and blind CPUs, with those of other CPUs */
};

struct quanta {
	__u64 quantum_ns;
	__u64 at_ns;    /* how much of the present one has passed */
	__u64 drawn_ns; /* the moment in it */
};

static __always_inline __u64 quanta_draw(__u64 quantum_ns, __u32 random)
{
	return (random * (quantum_ns >> 10)) >> 22;
}

/* What a wait shorter than the quantum weighs: 0, the quantum, or twice that where it lies across two. */
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
