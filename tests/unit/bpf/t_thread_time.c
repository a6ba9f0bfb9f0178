// tier: test
/* Scripted switches, processed by bpf/thread_time.h compiled for user space. */
#include "rand.h"
#include "unit.h"

#include "bpf/thread_time.h"

enum { MS = 1000000 };

/* prev_state of the kernel. */
enum { SLEEPS = 0x1, DISK = 0x2, STOPS = 0x4, IS_TRACED = 0x8, IDLE_BIT = 0x2000, DIES = 0x80 };

static const struct wait_filter above_1ms = { MS, 3600000ull * MS,
					      WAIT_OFF_CPU | WAIT_SCHED | WAIT_STOPPED_PART };

struct chosen {
	int any;
	struct wait_info wait;
};

/* It comes back at now, after it was queued for some of the time; run_delay is not used here: the caller of thread_off_cpu sums it. */
static struct chosen comes(struct thread_time *t, const struct wait_filter *f, uint64_t now_ns,
			   uint64_t queued_ns)
{
	struct away a = thread_off_cpu(t, now_ns, queued_ns);
	struct chosen c = { 0 };

	thread_adds(t, &a);
	if (away_passes(f, &a))
		c.any = wait_choose(f, t, &a, &c.wait);
	thread_comes(t, now_ns);
	return c;
}

static uint64_t sum_of(const struct thread_time *t)
{
	return t->on_ns + t->off_ns + t->run_ns + t->stopped_ns;
}

START_TEST(states)
{
	static const struct {
		int preempted;
		uint32_t prev_state, is;
	} cases[] = {
		{ 0, 0, THREAD_READY }, /* sched_yield */
		{ 0, SLEEPS, THREAD_BLOCKED },
		{ 0, SLEEPS | IDLE_BIT, THREAD_BLOCKED }, /* nanosleep */
		{ 0, DISK, THREAD_BLOCKED },
		{ 0, DISK | 0x100, THREAD_BLOCKED }, /* killable */
		{ 0, 0x1000, THREAD_BLOCKED },       /* a lock of PREEMPT_RT */
		{ 0, STOPS | 0x100, THREAD_STOPPED },
		{ 0, IS_TRACED | 0x100, THREAD_STOPPED },
		{ 0, 0x8000, THREAD_STOPPED }, /* frozen */
		{ 0, DIES, THREAD_DEAD },
		{ 1, SLEEPS, THREAD_READY }, /* was about to sleep */
		{ 1, DISK, THREAD_READY },
		{ 1, 0, THREAD_READY },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_uint_eq(thread_state(cases[i].preempted, cases[i].prev_state),
				  cases[i].is);
}
END_TEST

/* A life of 100 ms from fork to exit, on two CPUs. */
START_TEST(sums_are_the_life)
{
	struct thread_time t;
	struct chosen c;

	thread_begins(&t, 1000 * MS, THREAD_FORKED);
	c = comes(&t, &above_1ms, 1003 * MS, 0); /* waited 3 ms for its first CPU */
	ck_assert(c.any && c.wait.parts == WAIT_SCHED);
	ck_assert_uint_eq(c.wait.run_ns, 3 * MS);
	thread_leaves(&t, 1010 * MS, 0, thread_state(0, SLEEPS)); /* 7 on */
	c = comes(&t, &above_1ms, 1050 * MS, 2 * MS);             /* 38 off, 2 in the queue */
	ck_assert_uint_eq(c.wait.parts, WAIT_OFF_CPU | WAIT_SCHED);
	ck_assert_uint_eq(c.wait.start_ns, 1010 * MS);
	ck_assert_uint_eq(c.wait.off_ns, 38 * MS);
	ck_assert_uint_eq(c.wait.run_ns, 2 * MS);
	ck_assert_uint_eq(c.wait.weight_ns, 40 * MS);
	thread_leaves(&t, 1060 * MS, 0, thread_state(1, SLEEPS)); /* 10 on, preempted */
	c = comes(&t, &above_1ms, 1065 * MS, 0);                  /* all of it in the queue */
	ck_assert_uint_eq(c.wait.parts, WAIT_SCHED);
	ck_assert_uint_eq(c.wait.run_ns, 5 * MS);
	thread_leaves(&t, 1070 * MS, 0, thread_state(0, STOPS)); /* 5 on */
	c = comes(&t, &above_1ms, 1090 * MS, 0);
	ck_assert_uint_eq(c.wait.parts, WAIT_STOPPED_PART);
	thread_leaves(&t, 1100 * MS, 0, thread_state(0, DIES)); /* 10 on */
	ck_assert_uint_eq(t.is, THREAD_DEAD);
	ck_assert_uint_eq(sum_of(&t), 100 * MS);
	ck_assert_uint_eq(t.on_ns, 32 * MS);
	ck_assert_uint_eq(t.off_ns, 38 * MS);
	ck_assert_uint_eq(t.run_ns, 10 * MS);
	ck_assert_uint_eq(t.stopped_ns, 20 * MS);
}
END_TEST

/* The clocks of queues and of timestamps differ: the time in the queue is never more than the whole. */
START_TEST(queue_clock_runs_ahead)
{
	struct thread_time t;
	struct chosen c;

	thread_begins(&t, 0, THREAD_RUNS);
	thread_leaves(&t, 10 * MS, 0, THREAD_BLOCKED);
	c = comes(&t, &above_1ms, 15 * MS, 9 * MS);
	ck_assert_uint_eq(c.wait.parts, WAIT_SCHED);
	ck_assert_uint_eq(c.wait.run_ns, 5 * MS);
	ck_assert_uint_eq(t.off_ns, 0);
	ck_assert_uint_eq(sum_of(&t), 15 * MS);
}
END_TEST

/* Waits that do not pass are in the sums, not among the long ones; both limits apply. */
/* The scheduler's queue time counts again from the next switch on. */
START_TEST(moved_asleep)
{
	struct thread_time t;

	thread_begins(&t, 0, THREAD_RUNS);
	thread_leaves(&t, 10 * MS, 0, THREAD_BLOCKED);
	t.moved_asleep = 1;
	struct chosen c = comes(&t, &above_1ms, 110 * MS, 99 * MS);
	ck_assert_int_eq(c.any, 1);
	ck_assert_uint_eq(c.wait.parts, WAIT_OFF_CPU);
	ck_assert_uint_eq(c.wait.off_ns, 100 * MS);
	thread_leaves(&t, 120 * MS, 0, THREAD_BLOCKED);
	comes(&t, &above_1ms, 150 * MS, 20 * MS);
	ck_assert_uint_eq(t.off_ns, 110 * MS);
	ck_assert_uint_eq(t.run_ns, 20 * MS);
	ck_assert_uint_eq(sum_of(&t), 150 * MS);
}
END_TEST

START_TEST(filter)
{
	static const struct wait_filter f = { MS, 100 * MS, WAIT_OFF_CPU };
	struct thread_time t;
	uint64_t now_ns = 0;

	thread_begins(&t, now_ns, THREAD_RUNS);
	for (int i = 0; i < 1000; i++) {
		thread_leaves(&t, now_ns, 0, THREAD_BLOCKED);
		now_ns += MS - 1;
		ck_assert(!comes(&t, &f, now_ns, 0).any);
	}
	ck_assert_uint_eq(t.off_ns, 1000ull * (MS - 1));
	ck_assert_uint_eq(t.long_off_ns, 0);
	thread_leaves(&t, now_ns, 0, THREAD_BLOCKED);
	ck_assert(!comes(&t, &f, now_ns += 100 * MS + 1, 0).any);
	thread_leaves(&t, now_ns, 0, THREAD_BLOCKED);
	ck_assert(comes(&t, &f, now_ns += 100 * MS, 0).any);
	thread_leaves(&t, now_ns, 0, THREAD_BLOCKED);
	ck_assert(comes(&t, &f, now_ns += MS, 0).any);
	ck_assert_uint_eq(t.long_off_ns, 101 * MS);
	thread_leaves(&t, now_ns, 0, THREAD_READY);
	ck_assert(!comes(&t, &f, now_ns += 50 * MS, 0).any); /* waits for a CPU are not selected */
	thread_leaves(&t, now_ns, 0, THREAD_STOPPED);
	ck_assert(!comes(&t, &f, now_ns += 50 * MS, 0).any);
	ck_assert_uint_eq(sum_of(&t), now_ns);
}
END_TEST

/* Several waits in one system call keep their own lengths; a minimum of 0 takes all but those of length zero. */
START_TEST(every_wait_is_its_own)
{
	static const struct wait_filter all = { 0, 3600000ull * MS, WAIT_OFF_CPU };
	struct thread_time t;
	uint64_t now_ns = 5;

	thread_begins(&t, now_ns, THREAD_RUNS);
	for (uint64_t length = 1; length <= 5; length++) {
		thread_leaves(&t, now_ns, 0, THREAD_BLOCKED);
		struct chosen c = comes(&t, &all, now_ns + length, 0);
		ck_assert(c.any);
		ck_assert_uint_eq(c.wait.start_ns, now_ns);
		ck_assert_uint_eq(c.wait.off_ns, length);
		now_ns += length;
	}
	thread_leaves(&t, now_ns, 0, THREAD_BLOCKED);
	ck_assert(!comes(&t, &all, now_ns, 0).any);
	ck_assert_uint_eq(t.long_off_ns, 15);
}
END_TEST

/* A wait reported twice before its end: its parts add up to the whole, and the whole decides whether it passes. */
START_TEST(reported_while_pending)
{
	struct thread_time t, copy;
	struct wait_info w = { 0 };
	uint64_t shown_ns = 0;

	thread_begins(&t, 0, THREAD_RUNS);
	thread_leaves(&t, 10 * MS, 0, THREAD_BLOCKED);
	for (uint64_t now_ns = 30 * MS; now_ns <= 50 * MS; now_ns += 20 * MS) {
		struct away a = thread_off_cpu(&t, now_ns, 0);

		copy = t;
		thread_adds(&copy, &a);
		ck_assert(wait_choose(&above_1ms, &copy, &a, &w));
		ck_assert_uint_eq(w.off_ns, 20 * MS);
		ck_assert_uint_eq(w.weight_ns, 20 * MS);
		ck_assert_uint_eq(copy.off_ns, copy.long_off_ns);
		shown_ns += w.off_ns;
		t.reported_ns = now_ns;
	}
	/* It ends right after: the rest is shorter than the minimum, but shown. */
	struct chosen c = comes(&t, &above_1ms, 50 * MS + 300, 0);
	ck_assert(c.any);
	ck_assert_uint_eq(c.wait.start_ns, 50 * MS);
	ck_assert_uint_eq(c.wait.off_ns, 300);
	ck_assert_uint_eq(shown_ns + c.wait.off_ns, t.long_off_ns);
	ck_assert_uint_eq(t.long_off_ns, 40 * MS + 300);
	/* The next wait is independent of it. */
	thread_leaves(&t, 60 * MS, 0, THREAD_BLOCKED);
	c = comes(&t, &above_1ms, 65 * MS, 0);
	ck_assert_uint_eq(c.wait.off_ns, 5 * MS);
}
END_TEST

/* Missed switches (a thread that ran when recording began and is reported as running when it comes): nothing is lost. */
START_TEST(comes_without_having_left)
{
	struct thread_time t;

	thread_begins(&t, 0, THREAD_RUNS);
	comes(&t, &above_1ms, 7 * MS, 0);
	thread_leaves(&t, 9 * MS, 0, THREAD_BLOCKED);
	ck_assert_uint_eq(sum_of(&t), 9 * MS);
	ck_assert_uint_eq(t.run_ns, 7 * MS);
}
END_TEST

/* It sleeps for 100 ms and runs for 2 ms, but the switch between them is missed. */
START_TEST(leaves_without_having_come)
{
	struct thread_time t;
	struct away a;

	thread_begins(&t, 0, THREAD_RUNS);
	thread_leaves(&t, 1 * MS, 0, THREAD_BLOCKED);
	a = thread_came(&t, 103 * MS, 2 * MS, 3 * MS);
	ck_assert_uint_eq(a.off_ns, 97 * MS);
	ck_assert_uint_eq(a.run_ns, 3 * MS);
	thread_leaves(&t, 103 * MS, 0, THREAD_READY);
	ck_assert_uint_eq(t.on_ns, 3 * MS);
	ck_assert_uint_eq(t.off_ns, 97 * MS);
	ck_assert_uint_eq(t.run_ns, 3 * MS);
	/* Preempted: all of it was in the queue. By the scheduler's clock it ran for longer than it was away: it came at once. */
	a = thread_came(&t, 105 * MS, 1 * MS, 0);
	ck_assert_uint_eq(a.run_ns, 1 * MS);
	thread_leaves(&t, 105 * MS, 0, THREAD_BLOCKED);
	a = thread_came(&t, 106 * MS, 7 * MS, 0);
	ck_assert_uint_eq(a.off_ns + a.run_ns, 0);
	thread_leaves(&t, 106 * MS, 0, THREAD_DEAD);
	ck_assert_uint_eq(sum_of(&t), 106 * MS);
}
END_TEST

/* For waits of any length and any quantum, weights add up to the time that passed, within a quantum or two; a repeating pattern is sampled in its
 * shares. */
START_TEST(weights_add_up)
{
	struct rng rng = { 7 };
	struct quanta q = { 0 };
	uint64_t passed = 0, weighed = 0, taken = 0, by_turn[2] = { 0 };

	for (int i = 0; i < 200000; i++) {
		uint64_t ns = 1000 + rng_below(&rng, 400000);
		uint64_t weight = quanta_weigh(&q, 500000, ns, rng_next(&rng));

		ck_assert(weight == 0 || weight == 500000 || weight == 1000000);
		passed += ns;
		weighed += weight;
		taken += weight > 0;
		ck_assert_int_le(llabs((int64_t)(passed - weighed)), 500000);
	}
	ck_assert_uint_gt(taken, passed / 500000 * 7 / 10);
	/* Two alternating waits, 1 : 3, together half a quantum. */
	passed = weighed = 0;
	for (int i = 0; i < 200000; i++) {
		uint64_t ns = i % 2 ? 1500000 : 500000;

		by_turn[i % 2] += quanta_weigh(&q, 4000000, ns, rng_next(&rng));
		passed += ns;
	}
	ck_assert_int_le(llabs((int64_t)(passed - by_turn[0] - by_turn[1])), 2 * 4000000);
	double share = (double)by_turn[0] / passed;
	ck_assert_msg(share > .245 && share < .255, "%f", share);
}
END_TEST

/* --- calls that wait for a GPU ---------------------------------------------------------------------------------------- */

/* 3 ms of work; a call of 10 ms: 2 on the CPU, 5 blocked, 1 queued, 2 on the CPU; 4 ms of work; a call that goes on. */
START_TEST(calls)
{
	struct thread_time t = { 0 };
	struct call_times now;

	thread_begins(&t, 100 * MS, THREAD_RUNS);
	now = thread_times_now(&t, 103 * MS);
	ck_assert_uint_eq(now.on_ns, 3 * MS);
	thread_calls(&t, &now);
	thread_leaves(&t, 105 * MS, 0, THREAD_BLOCKED);
	comes(&t, &above_1ms, 111 * MS, 1 * MS);
	now = thread_times_now(&t, 113 * MS);
	struct call_times in = thread_in_calls(&t, &now);
	ck_assert_uint_eq(in.on_ns, 4 * MS);
	thread_returns(&t, &now);
	ck_assert_uint_eq(t.calls.on_ns, 4 * MS);
	ck_assert_uint_eq(t.calls.off_ns, 5 * MS);
	ck_assert_uint_eq(t.calls.long_off_ns, 5 * MS);
	now = thread_times_now(&t, 117 * MS);
	in = thread_in_calls(&t, &now);
	ck_assert_uint_eq(in.on_ns, 4 * MS); /* it is in no call */
	thread_calls(&t, &now);
	thread_leaves(&t, 118 * MS, 0, THREAD_BLOCKED);
	comes(&t, &above_1ms, 118 * MS + MS / 2, 0); /* too short for a stack */
	now = thread_times_now(&t, 119 * MS);
	in = thread_in_calls(&t, &now);
	ck_assert_uint_eq(in.on_ns, 5 * MS + MS / 2);
	ck_assert_uint_eq(in.off_ns, 5 * MS + MS / 2);
	ck_assert_uint_eq(in.long_off_ns, 5 * MS);
	thread_calls(&t, &now); /* its end was missed */
	ck_assert_uint_eq(t.calls.on_ns, 5 * MS + MS / 2);
	ck_assert_uint_eq(sum_of(&t) + 119 * MS - t.last_ns, 19 * MS);
}
END_TEST

/* Sums read at another moment than the call's are never negative. */
START_TEST(calls_read_from_elsewhere)
{
	struct thread_time t = { 0 };
	struct call_times now, before;

	thread_begins(&t, 100 * MS, THREAD_RUNS);
	before = thread_times_now(&t, 101 * MS);
	now = thread_times_now(&t, 102 * MS);
	thread_calls(&t, &now);
	ck_assert_uint_eq(thread_in_calls(&t, &before).on_ns, 0);
	ck_assert_uint_eq(thread_times_now(&t, 99 * MS).on_ns, 0); /* another CPU's clock */
}
END_TEST

/* --- windows ---------------------------------------------------------------------------------- */

static const struct switch_window second = { 1000 * MS, 1200 * MS, 10 * WINDOW_WEIGHT_ONE, 2, 0 };

/* Left at 500 ms, in the first window, after it came to its CPU at 490 ms. */
static struct thread_time left_before(void)
{
	struct thread_time t;

	thread_begins(&t, 100 * MS, THREAD_RUNS);
	t.window = 1;
	t.arrival = 490 * MS;
	thread_leaves(&t, 500 * MS, 7, THREAD_BLOCKED);
	t.reported_ns = 600 * MS;
	return t;
}

START_TEST(waits_through_a_pause)
{
	struct thread_time t = left_before();

	thread_enters(&t, &second, 0, 490 * MS, 7);
	ck_assert_uint_eq(t.window, 2);
	ck_assert_uint_eq(t.last_ns, 500 * MS);
	ck_assert_uint_eq(t.reported_ns, 600 * MS);
	struct chosen c = comes(&t, &above_1ms, 1150 * MS, 0);
	wait_in_window(&c.wait, &second);
	ck_assert_uint_eq(
		c.wait.start_ns,
		1000 * MS); /* its length counts for the filter, its part in the window as time */
	ck_assert_uint_eq(c.wait.off_ns, 150 * MS);
	ck_assert_uint_eq(c.wait.weight_ns, 1500 * MS);
	ck_assert_uint_eq(c.wait.parts, WAIT_OFF_CPU | WAIT_THINNED);
}
END_TEST

START_TEST(runs_in_a_pause)
{
	struct thread_time t = left_before();

	thread_enters(&t, &second, 0, 800 * MS, 9);
	ck_assert_uint_eq(t.last_ns, 1000 * MS);
	ck_assert_uint_eq(t.is, THREAD_BLOCKED);
	ck_assert_uint_eq(t.run_delay, 9);
	ck_assert_uint_eq(t.reported_ns, 0);
	thread_enters(&t, &second, 0, 801 * MS, 10); /* once only */
	ck_assert_uint_eq(t.arrival, 800 * MS);

	t = left_before();
	thread_enters(&t, &second, 1, 990 * MS, 9); /* it is running, since then */
	ck_assert_uint_eq(t.is, THREAD_RUNS);
	thread_leaves(&t, 1010 * MS, 9, THREAD_BLOCKED);
	ck_assert_uint_eq(t.on_ns, 410 * MS); /* 400 before the first window ended */
	ck_assert_uint_eq(t.last_ns, 1010 * MS);

	thread_begins(&t, 100 * MS, THREAD_RUNS); /* it was on a CPU when the first one ended */
	t.window = 1;
	thread_enters(&t, &second, 0, 0, 0);
	ck_assert_uint_eq(t.is, THREAD_BLOCKED);
	ck_assert_uint_eq(t.last_ns, 1000 * MS);
}
END_TEST

/* A thread created in a pause, which has never run, is ready since then. */
START_TEST(made_in_a_pause)
{
	struct thread_time t;

	thread_begins(&t, 900 * MS, THREAD_FORKED);
	thread_enters(&t, &second, 0, 0, 0);
	ck_assert_uint_eq(t.is, THREAD_FORKED);
	ck_assert_uint_eq(t.last_ns, 900 * MS);
}
END_TEST

START_TEST(parts_in_a_window)
{
	static const struct {
		uint64_t start_ms, off_ms, run_ms, want_start_ms, want_off_ms, want_run_ms;
	} cases[] = {
		{ 1010, 20, 10, 1010, 20, 10 },  { 900, 150, 20, 1000, 50, 20 },
		{ 900, 50, 100, 1000, 0, 50 },   { 1150, 100, 20, 1150, 50, 0 },
		{ 1150, 30, 100, 1150, 30, 20 }, { 500, 2000, 9, 1000, 200, 0 },
		{ 1200, 10, 10, 1200, 0, 0 },    { 100, 200, 300, 1000, 0, 0 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct wait_info w = { .start_ns = cases[i].start_ms * MS,
				       .off_ns = cases[i].off_ms * MS,
				       .run_ns = cases[i].run_ms * MS,
				       .weight_ns = (cases[i].off_ms + cases[i].run_ms) * MS,
				       .parts = WAIT_OFF_CPU | WAIT_SCHED };

		wait_in_window(&w, &second);
		ck_assert_uint_eq(w.start_ns, cases[i].want_start_ms * MS);
		ck_assert_uint_eq(w.off_ns, cases[i].want_off_ms * MS);
		ck_assert_uint_eq(w.run_ns, cases[i].want_run_ms * MS);
		ck_assert_uint_eq(w.weight_ns,
				  10 * (cases[i].want_off_ms + cases[i].want_run_ms) * MS);
	}
}
END_TEST

/* With one part shown, and with all of the time recorded. */
START_TEST(whole_window)
{
	static const struct switch_window whole = { 0, ~0ull, WINDOW_WEIGHT_ONE, 1, 0 };
	struct wait_info w = { .start_ns = 5 * MS,
			       .off_ns = 7 * MS,
			       .run_ns = 100,
			       .weight_ns = 7 * MS,
			       .parts = WAIT_OFF_CPU },
			 same = w;

	wait_in_window(&w, &whole);
	ck_assert_mem_eq(&w, &same, sizeof w);
	w.start_ns = 995 * MS;
	wait_in_window(&w, &second);
	ck_assert_uint_eq(w.off_ns, 2 * MS);
	ck_assert_uint_eq(w.weight_ns, 20 * MS);
}
END_TEST

UNIT_MAIN("thread_time", calls, calls_read_from_elsewhere, states, sums_are_the_life,
	  queue_clock_runs_ahead, moved_asleep, filter, every_wait_is_its_own,
	  reported_while_pending, comes_without_having_left, leaves_without_having_come,
	  weights_add_up, waits_through_a_pause, runs_in_a_pause, made_in_a_pause,
	  parts_in_a_window, whole_window)
