// tier: test
/* Samples of `wall` add up to the exact times of their threads. */
#include "unit.h"

#include "collect/walker/account.h"
#include "profile/profile.h"
#include "profile/state.h"

enum { MS = 1000000, PERIOD = 10 * MS };

static struct profile *p;
static struct accounts accounts;
static uint32_t series, stacks[3];
static struct account_series of_thread;
static int64_t now_ns; /* of the samples */

static void setup(bool wall)
{
	now_ns = 50 * MS;
	p = profile_new();
	struct sink *s = profile_sink(p);
	struct type t = { .name = sink_string(s, "wall"), .sample_type = sink_string(s, "wall") };
	struct series of = { .type = s->ops->type(s, &t) };

	series = s->ops->series(s, &of);
	of_thread = (struct account_series){ series, series, series };
	for (uint32_t i = 0; i < 3; i++) {
		struct frame f = { .mapping = MAPPING_NONE,
				   .function = sink_string(s, i ? i == 1 ? "b" : "c" : "a") };
		uint32_t frame = s->ops->frame(s, &f);

		stacks[i] = s->ops->stack(s, &frame, 1);
	}
	accounts_init(&accounts,
		      &(struct account_opts){ .sink = s, .wall = wall, .min_block_ns = MS });
}

static void teardown(void)
{
	accounts_done(&accounts);
	profile_free(p);
}

static void add(uint32_t tid, uint32_t stack, int64_t value, enum account_part part)
{
	struct sample s = { .time_ns = now_ns,
			    .value = value,
			    .series = series,
			    .stack = stacks[stack],
			    .tid = tid };

	account_sample(&accounts, &s, part);
}

static struct event_thread thread_of(uint32_t tid, uint64_t until_ns)
{
	return (struct event_thread){ .sample = { .kind = EVENT_THREAD,
						  .tgid = 1,
						  .tid = tid,
						  .time_ns = until_ns,
						  .comm = "t" },
				      .first_ns = 100 };
}

/* A thread's value of the stack whose only frame has this name. */
static int64_t value_of(uint32_t tid, const char *name)
{
	int64_t sum = 0;

	for (size_t i = 0; i < p->samples.n; i++) {
		uint32_t leaf = stack_leaf(&p->stacks, p->samples.stack[i]);
		const struct frame *f = &p->frames.frames.v[leaf];

		if (p->samples.tid[i] == tid && strcmp(profile_str(p, f->function), name) == 0)
			sum += p->samples.value[i];
	}
	return sum;
}

static int64_t total_of(uint32_t tid)
{
	int64_t sum = 0;

	for (size_t i = 0; i < p->samples.n; i++)
		sum += p->samples.tid[i] == tid ? p->samples.value[i] : 0;
	return sum;
}

/* 7 samples of 10 ms stand for 61 ms and some, in proportion; a part without samples gets a leaf. */
START_TEST(samples_are_scaled)
{
	setup(true);
	for (int i = 0; i < 7; i++)
		add(5, i % 2, PERIOD, ACCOUNT_ON_CPU);
	add(5, 2, 20 * MS, ACCOUNT_OFF_CPU);
	ck_assert_uint_eq(p->samples.n, 0);
	struct event_thread t = thread_of(5, 200 * MS);
	t.on_ns = 61 * MS + 7;
	t.off_ns = 23 * MS;
	t.long_off_ns = 20 * MS;
	t.run_ns = 4 * MS;
	account_thread(&accounts, &t, &of_thread);
	t = thread_of(6, 200 * MS); /* never sampled */
	t.on_ns = 3 * MS;
	t.stopped_ns = 2 * MS;
	account_thread(&accounts, &t, &of_thread);
	accounts_flush(&accounts);
	ck_assert_int_eq(value_of(5, "a") + value_of(5, "b"), 61 * MS + 7);
	ck_assert_int_le(llabs(value_of(5, "a") * 7 - 4ll * (61 * MS + 7)), 7);
	ck_assert_int_eq(value_of(5, "c"), 20 * MS);
	ck_assert_int_eq(value_of(5, "[off-CPU below 1ms]"), 3 * MS);
	ck_assert_int_eq(value_of(5, "[sched-wait]"), 4 * MS);
	ck_assert_int_eq(total_of(5), 61 * MS + 7 + 27 * MS);
	ck_assert_int_eq(value_of(6, "[on-CPU, not sampled]"), 3 * MS);
	ck_assert_int_eq(value_of(6, "[blocked: stopped]"), 2 * MS);
	ck_assert_uint_eq(p->threads.all.n, 2);
	ck_assert_int_eq(p->threads.all.v[0].on_ns, 61 * MS + 7);
	teardown();
}
END_TEST

/* Calls that wait for a GPU have their time, on and off the CPU, in proportion to their samples; the rest keeps its own. */
START_TEST(gpu_waits)
{
	setup(true);
	struct sink *s = profile_sink(p);
	struct series other = { .type = p->series.series.v[series].type, .period = 1 };
	of_thread.spin = s->ops->series(s, &other);
	add(5, 0, PERIOD, ACCOUNT_ON_CPU);
	add(5, 1, PERIOD, ACCOUNT_GPU_SPIN);
	add(5, 2, PERIOD, ACCOUNT_GPU_SPIN);
	add(5, 2, 30 * MS, ACCOUNT_GPU_SLEEP);
	struct event_thread t = thread_of(5, 200 * MS);
	t.on_ns = 50 * MS + 3;
	t.gpu_on_ns = 44 * MS + 1;
	t.off_ns = 45 * MS;
	t.long_off_ns = 40 * MS;
	t.gpu_off_ns = 34 * MS;
	t.long_gpu_off_ns = 30 * MS;
	t.run_ns = 2 * MS;
	account_thread(&accounts, &t, &of_thread);
	t = thread_of(6, 200 * MS); /* no sample met it */
	t.on_ns = t.gpu_on_ns = 3 * MS;
	account_thread(&accounts, &t, &of_thread);
	accounts_flush(&accounts);
	ck_assert_int_eq(value_of(5, "a"), 6 * MS + 2);
	ck_assert_int_eq(value_of(5, "b") + value_of(5, "c"), 44 * MS + 1 + 30 * MS);
	ck_assert_int_eq(value_of(5, "b"), 22 * MS);
	ck_assert_int_eq(value_of(5, "[waiting for GPU below 1ms]"), 4 * MS);
	ck_assert_int_eq(value_of(5, "[off-CPU below 1ms]"), 1 * MS);
	ck_assert_int_eq(value_of(5, "[off-CPU, not sampled]"), 10 * MS);
	ck_assert_int_eq(total_of(5), 50 * MS + 3 + 45 * MS + 2 * MS);
	ck_assert_int_eq(value_of(6, "[waiting for GPU]"), 3 * MS);
	for (size_t i = 0; i < p->samples.n; i++)
		if (p->samples.tid[i] == 6)
			ck_assert_uint_eq(p->samples.series[i], of_thread.spin);
	teardown();
}
END_TEST

/* A call whose time was read too short while its thread ran gets the rest in the next interval: nothing is taken back. */
START_TEST(gpu_wait_read_short)
{
	setup(true);
	struct event_thread t = thread_of(5, 100 * MS);
	t.on_ns = 50 * MS;
	t.gpu_on_ns = 10 * MS;
	account_thread(&accounts, &t, &of_thread);
	accounts_flush(&accounts);
	t.sample.time_ns = 200 * MS;
	t.on_ns = 60 * MS;
	t.gpu_on_ns = 25 * MS; /* it was in the call all the time, with 5 ms from before */
	account_thread(&accounts, &t, &of_thread);
	accounts_flush(&accounts);
	ck_assert_int_eq(value_of(5, "[on-CPU, not sampled]"), 40 * MS);
	ck_assert_int_eq(value_of(5, "[waiting for GPU]"), 25 * MS);
	t.sample.time_ns = 300 * MS;
	t.on_ns = 80 * MS;
	account_thread(&accounts, &t, &of_thread);
	accounts_flush(&accounts);
	ck_assert_int_eq(value_of(5, "[on-CPU, not sampled]"), 55 * MS);
	ck_assert_int_eq(total_of(5), 80 * MS);
	teardown();
}
END_TEST

/* A requested limit is in the name of the part beyond it. */
START_TEST(beyond_both_limits)
{
	setup(true);
	accounts.opts.max_block_ns = 50 * MS;
	struct event_thread t = thread_of(5, 200 * MS);
	t.off_ns = 60 * MS;
	account_thread(&accounts, &t, &of_thread);
	accounts_flush(&accounts);
	ck_assert_int_eq(value_of(5, "[off-CPU below 1ms or above 50ms]"), 60 * MS);
	teardown();
}
END_TEST

/* Waits of which only some were sent, each with a weight, and lost waits. */
START_TEST(waits_are_exact_in_sum)
{
	setup(true);
	for (int i = 0; i < 10; i++)
		add(5, 2, 12 * MS, ACCOUNT_OFF_CPU);
	struct event_thread t = thread_of(5, 200 * MS);
	t.off_ns = t.long_off_ns = 101 * MS;
	t.run_ns = t.long_run_ns = 5 * MS; /* its samples got lost */
	account_thread(&accounts, &t, &of_thread);
	accounts_flush(&accounts);
	ck_assert_int_eq(value_of(5, "c"), 101 * MS);
	ck_assert_int_eq(value_of(5, "[sched-wait]"), 5 * MS);
	teardown();
}
END_TEST

/* After a second flush the sums continue; a thread id that is reused is another account. */
START_TEST(intervals_and_reused_ids)
{
	setup(true);
	struct event_thread t = thread_of(5, 100 * MS);

	add(5, 0, PERIOD, ACCOUNT_ON_CPU);
	t.on_ns = 12 * MS;
	t.off_ns = 5 * MS;
	account_thread(&accounts, &t, &of_thread);
	accounts_flush(&accounts);
	ck_assert_int_eq(total_of(5), 17 * MS);
	add(5, 1, PERIOD, ACCOUNT_ON_CPU);
	t.sample.time_ns = 200 * MS;
	t.on_ns = 20 * MS;
	t.off_ns = 6 * MS;
	t.ended = 1;
	account_thread(&accounts, &t, &of_thread);
	t = thread_of(5, 300 * MS); /* the next thread 5 */
	t.first_ns = 250 * MS;
	now_ns = 260 * MS;
	t.on_ns = 40 * MS;
	add(5, 2, PERIOD, ACCOUNT_ON_CPU);
	account_thread(&accounts, &t, &of_thread);
	accounts_flush(&accounts);
	ck_assert_int_eq(value_of(5, "a"), 12 * MS);
	ck_assert_int_eq(value_of(5, "b"), 8 * MS);
	ck_assert_int_eq(value_of(5, "c"), 40 * MS);
	ck_assert_int_eq(value_of(5, "[off-CPU below 1ms]"), 6 * MS);
	ck_assert_int_eq(total_of(5), 66 * MS);
	ck_assert_uint_eq(p->threads.all.n, 2);
	teardown();
}
END_TEST

/* A sample read after its thread's end belongs to that thread, not to the next one with this id. */
START_TEST(late_samples)
{
	setup(true);
	struct event_thread t = thread_of(5, 100 * MS);
	struct sample s = { .time_ns = 90 * MS, .value = PERIOD, .series = series, .tid = 5 };

	t.on_ns = 30 * MS;
	t.ended = 1;
	account_thread(&accounts, &t, &of_thread);
	s.stack = stacks[0];
	account_sample(&accounts, &s, ACCOUNT_ON_CPU);
	s.stack = stacks[1];
	s.time_ns = 150 * MS;
	account_sample(&accounts, &s, ACCOUNT_ON_CPU);
	accounts_flush(&accounts);
	ck_assert_int_eq(value_of(5, "a"), 30 * MS);
	ck_assert_int_eq(value_of(5, "b"), PERIOD);
	teardown();
}
END_TEST

/* A thread whose end was lost keeps its samples as they are. */
START_TEST(times_that_never_came)
{
	setup(true);
	add(5, 0, PERIOD, ACCOUNT_ON_CPU);
	accounts_flush(&accounts);
	ck_assert_int_eq(total_of(5), PERIOD);
	teardown();
}
END_TEST

/* Other types are unaffected: samples pass at once, short waits are summed, ended threads do not pile up. */
START_TEST(without_wall)
{
	setup(false);
	add(5, 0, 7, ACCOUNT_NONE);
	ck_assert_uint_eq(p->samples.n, 1);
	for (uint32_t tid = 1; tid <= 10000; tid++) {
		struct event_thread t = thread_of(tid, 100 * MS);

		t.off_ns = 3;
		t.long_off_ns = 1;
		t.ended = 1;
		account_thread(&accounts, &t, &of_thread);
	}
	ck_assert_int_eq(accounts.short_off_ns, 20000);
	ck_assert_uint_lt(accounts.all.n, 5000);
	accounts_flush(&accounts);
	ck_assert_uint_eq(p->samples.n, 1);
	teardown();
}
END_TEST

UNIT_MAIN("account", samples_are_scaled, gpu_waits, gpu_wait_read_short, beyond_both_limits,
	  waits_are_exact_in_sum, intervals_and_reused_ids, late_samples, times_that_never_came,
	  without_wall)
