// tier: test
/* How many waits CPUs may take, from the number each has seen (collect/kernel/wait_pace.h). */
#include "unit.h"

#include "bpf/thread_time.h"
#include "collect/kernel/wait_pace.h"

enum { CPUS = 8, PER_WINDOW = 2000 };
static uint64_t cpu_ns[CPUS];
static struct wait_rate cpus[CPUS];
static struct wait_pace pace;

static void begin(size_t n_cpus)
{
	memset(cpus, 0, sizeof cpus);
	memset(cpu_ns, 0, sizeof cpu_ns);
	pace = (struct wait_pace){ .per_window = PER_WINDOW, .cpu_ns = cpu_ns, .n_cpus = n_cpus };
	wait_pace_look(&pace, cpus, 1000000000);
}

/* On a CPU in the next windows. */
static void see(size_t cpu, uint64_t waits, uint64_t each_ns)
{
	cpus[cpu].all_seen += waits;
	cpus[cpu].all_seen_ns += waits * each_ns;
}

static struct wait_limits look(uint64_t windows)
{
	return wait_pace_look(&pace, cpus, pace.looked_ns + windows * RATE_WINDOW_NS);
}

START_TEST(the_requested_rate_is_taken)
{
	begin(CPUS);
	for (size_t i = 0; i < CPUS; i++)
		see(i, 2 * PER_WINDOW / CPUS, 1000000);
	struct wait_limits l = look(2);
	ck_assert_uint_eq(l.quantum_ns, 0);
}
END_TEST

/* The number of quanta in the time of all waits. */
START_TEST(more_are_sampled_on_all_cpus_together)
{
	begin(CPUS);
	for (size_t i = 0; i < CPUS; i++)
		see(i, 10 * PER_WINDOW, 3000);
	struct wait_limits l = look(2);
	ck_assert_uint_eq(l.quantum_ns, 10ull * PER_WINDOW * 3000 * CPUS / (2 * PER_WINDOW));
	ck_assert_uint_eq(l.cpu_waits, 2 * PER_WINDOW / CPUS);
	l = look(2); /* nothing more */
	ck_assert_uint_eq(l.quantum_ns, 0);
}
END_TEST

/* The limit of one CPU does not restrict what all may take: what it sees alone is less than twice its share. */
START_TEST(one_busy_cpu_may_take_all)
{
	begin(CPUS);
	see(3, 50 * PER_WINDOW, 1000);
	struct wait_limits l = look(5);
	ck_assert_uint_eq(l.quantum_ns, 50ull * PER_WINDOW * 1000 / (5 * PER_WINDOW));
	ck_assert_uint_eq(l.cpu_waits, PER_WINDOW);
}
END_TEST

START_TEST(before_the_first_look)
{
	const struct wait_pace one = { .per_window = 10, .n_cpus = 1 },
			       two = { .per_window = PER_WINDOW, .n_cpus = 2 },
			       many = { .per_window = PER_WINDOW, .n_cpus = 384 },
			       few = { .per_window = 1, .n_cpus = 384 };

	ck_assert_uint_eq(wait_pace_begin(&one).cpu_waits, 10);
	ck_assert_uint_eq(wait_pace_begin(&two).cpu_waits, PER_WINDOW);
	ck_assert_uint_eq(wait_pace_begin(&many).cpu_waits, PER_WINDOW / 8);
	ck_assert_uint_eq(wait_pace_begin(&few).cpu_waits, 1);
	ck_assert_uint_eq(wait_pace_begin(&many).quantum_ns, 0);
}
END_TEST

/* As many turns as needed to report WAIT_PACE_AT_ONCE each time, but no more than fit into the time that stacks are kept. */
START_TEST(turns)
{
	enum { AT_ONCE = WAIT_PACE_AT_ONCE, MOST = WAIT_PACE_TURNS_MOST };
	const struct {
		uint64_t pending, period_ns, max_ns;
		uint32_t turns;
	} cases[] = {
		{ 0, 10, 1000, 1 },
		{ AT_ONCE, 10, 1000, 1 },
		{ AT_ONCE + 1, 10, 1000, 2 },
		{ 3 * AT_ONCE, 10, 1000, 3 },
		{ 1000 * AT_ONCE, 10, 1000, MOST },
		{ UINT64_MAX, 10, 1000, MOST },
		{ 1000 * AT_ONCE, 100, 1000, 10 },
		{ 1000 * AT_ONCE, 600, 1000, 1 },
		{ 1000 * AT_ONCE, 5000, 1000, 1 },
		{ 1000 * AT_ONCE, 0, 1000, 1 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_uint_eq(
			wait_pace_turns(cases[i].pending, cases[i].period_ns, cases[i].max_ns),
			cases[i].turns);
}
END_TEST

UNIT_MAIN("wait_pace", the_requested_rate_is_taken, more_are_sampled_on_all_cpus_together,
	  one_busy_cpu_may_take_all, before_the_first_look, turns)
