// tier: test
/* When switches are recorded (collect/kernel/switch_windows.h): scripted loads and clocks. */
#include "unit.h"

#include "collect/kernel/switch_windows.h"

#include <math.h>

#define MS 1000000ull
#define S  (1000 * MS)
enum { COST_NS = 200, ALL_NS = COST_NS + 100 }; /* of a switch, as timed, and with its overhead */

struct machine {
	struct switch_windows w;
	struct switch_counts counts;
	uint64_t now_ns, looked_ns; /* looked_ns: time in windows */
	double weighed_ns;          /* the time it stands for */
	double cost_ns;
	unsigned cuts, opened;
	uint64_t late_ns; /* maximum delay of steps */
	uint64_t random;
};

static uint64_t next_random(struct machine *m)
{
	m->random = m->random * 6364136223846793005ull + 1442695040888963407ull;
	return m->random >> 33;
}

static void begin(struct machine *m, uint64_t seed)
{
	memset(m, 0, sizeof *m);
	m->now_ns = 1000 * S;
	m->random = seed;
	m->w.opts =
		(struct switch_windows_opts){ .budget = .005, .period_ns = 10 * S, .seed = seed };
	switch_windows_begin(&m->w, m->now_ns);
}

/* Lets time pass with this rate of switches. */
static void pass(struct machine *m, uint64_t until_ns, double switches_per_s)
{
	const struct switch_window *w = &m->w.now;
	double passed_s = (double)(until_ns - m->now_ns) / 1e9;

	if (!w->is_paused) {
		uint64_t from = m->now_ns > w->open_ns ? m->now_ns : w->open_ns;
		uint64_t until = until_ns < w->close_ns ? until_ns : w->close_ns;
		uint64_t n = (uint64_t)(passed_s * switches_per_s);

		m->looked_ns += until > from ? until - from : 0;
		m->weighed_ns += (until > from ? (double)(until - from) : 0) * (double)w->weight /
				 WINDOW_WEIGHT_ONE;
		m->counts.switches += n;
		m->counts.timed += n / 64;
		m->counts.timed_ns += n / 64 * COST_NS;
		m->cost_ns += passed_s * switches_per_s * ALL_NS;
	}
	m->now_ns = until_ns;
}

static void step(struct machine *m)
{
	switch (switch_windows_step(&m->w, &m->counts, m->now_ns)) {
	case SWITCH_OPEN:
		switch_windows_opened(&m->w, &m->counts, m->now_ns);
		m->opened++;
		break;
	case SWITCH_CLOSE:
		switch_windows_closed(&m->w, &m->counts, m->now_ns);
		break;
	case SWITCH_STAY:
		break;
	}
}

static void run(struct machine *m, unsigned periods, double switches_per_s)
{
	for (unsigned i = 0; i < periods; i++) {
		uint64_t cut_ns = m->w.until_ns + (m->late_ns ? next_random(m) % m->late_ns : 0);

		while (m->now_ns < cut_ns) {
			uint64_t due_ns = switch_windows_due_ns(&m->w);

			if (due_ns < m->now_ns)
				due_ns = m->now_ns;
			if (due_ns > cut_ns)
				due_ns = cut_ns;
			else if (m->late_ns)
				due_ns += next_random(m) % m->late_ns;
			pass(m, due_ns < cut_ns ? due_ns : cut_ns, switches_per_s);
			step(m);
		}
		if (!m->w.now.is_paused && !switch_windows_is_whole(&m->w))
			switch_windows_closed(&m->w, &m->counts, m->now_ns);
		switch_windows_cut(&m->w, m->now_ns);
		m->cuts++;
	}
}

START_TEST(few_switches_are_all_recorded)
{
	struct machine m;

	begin(&m, 1);
	run(&m, 10, 10000);
	ck_assert(switch_windows_is_whole(&m.w));
	ck_assert_uint_eq(m.w.now.open_ns, 0); /* earlier waits are not cut */
	ck_assert_uint_eq(m.w.now.number, 1);
	ck_assert_uint_eq(m.looked_ns, m.now_ns - 1000 * S);
	ck_assert_double_eq(m.w.share, 1);
}
END_TEST

/* All rates of the budget's bar, with a reader that is up to 20 ms late. */
static void check_cost(double rate)
{
	struct machine m;

	begin(&m, (uint64_t)rate);
	m.late_ns = 20 * MS;
	run(&m, 1, rate); /* which finds out */
	m.cost_ns = m.weighed_ns = 0;
	uint64_t from_ns = m.now_ns;
	run(&m, 1000, rate);
	double passed_ns = (double)(m.now_ns - from_ns);
	/* Windows shorter than 20 ms are not worth attaching; while closing is late, programs stay attached. */
	double least = rate * ALL_NS / 1e9 * (20 + 20) / 10000;
	ck_assert_double_lt(m.cost_ns / passed_ns, .0055 > least ? .0055 : least);
	ck_assert_double_lt(fabs(m.weighed_ns / passed_ns - 1), .01);
}

START_TEST(cost_stays_within_the_budget)
{
	check_cost(25000);
	check_cost(60000);
	check_cost(200000);
	check_cost(1000000);
	check_cost(10000000);
}
END_TEST

/* Including the time just before and after a cut: thousands of periods are cut into 20 parts each. */
START_TEST(each_moment_is_as_likely)
{
	enum { PARTS = 20, PERIODS = 4000 };
	struct machine m;
	unsigned seen[PARTS] = { 0 };

	begin(&m, 99);
	run(&m, 2, 100000);
	for (unsigned i = 0; i < PERIODS; i++) {
		uint64_t from_ns = m.now_ns;

		for (int k = 0; k < PARTS; k++) {
			uint64_t at_ns = from_ns + (2 * k + 1) * (10 * S) / (2 * PARTS);

			while (switch_windows_due_ns(&m.w) <= at_ns) {
				pass(&m, switch_windows_due_ns(&m.w), 100000);
				step(&m);
			}
			pass(&m, at_ns, 100000);
			seen[k] += !m.w.now.is_paused;
		}
		run(&m, 1, 100000);
	}
	double p = .005 / (100000 * ALL_NS / 1e9), sd = sqrt(p * (1 - p) / PERIODS);
	for (int k = 0; k < PARTS; k++)
		ck_assert_double_lt(fabs((double)seen[k] / PERIODS - p), 4.5 * sd);
}
END_TEST

START_TEST(comes_and_goes_with_the_load)
{
	struct machine m;

	begin(&m, 5);
	run(&m, 3, 1000);
	ck_assert(switch_windows_is_whole(&m.w));
	run(&m, 2, 200000);
	ck_assert(!switch_windows_is_whole(&m.w));
	ck_assert_double_lt(m.w.share, .12);
	ck_assert_uint_ge(m.opened, 1);
	run(&m, 12, 1000); /* a window that sees little halves the known rate */
	ck_assert(switch_windows_is_whole(&m.w));
	ck_assert_uint_gt(m.w.now.number, 2);
	ck_assert_uint_gt(m.w.now.open_ns, 0);
}
END_TEST

/* Within two seconds, not only at the next cut. */
START_TEST(starts_soon)
{
	struct machine m;

	begin(&m, 5);
	pass(&m, m.now_ns + 3 * S, 1000);
	step(&m);
	uint64_t from_ns = m.now_ns;
	while (switch_windows_is_whole(&m.w)) {
		pass(&m, switch_windows_due_ns(&m.w), 200000);
		step(&m);
	}
	ck_assert_uint_le(m.now_ns - from_ns, 2 * S);
	ck_assert_uint_le(m.w.n_plan, 2);
}
END_TEST

/* The rest of a period is a little longer than the shortest window: it has weight one, and still ends. */
START_TEST(a_window_that_weighs_one_ends)
{
	struct machine m;

	begin(&m, 3);
	pass(&m, m.w.until_ns - 20000500, 10000000);
	step(&m);
	pass(&m, switch_windows_due_ns(&m.w), 10000000);
	step(&m);
	ck_assert(!m.w.now.is_paused);
	ck_assert_uint_eq(m.w.now.weight, WINDOW_WEIGHT_ONE);
	ck_assert(!switch_windows_is_whole(&m.w));
	ck_assert_uint_eq(switch_windows_due_ns(&m.w), m.w.now.close_ns);
}
END_TEST

/* After a suspend, or when stopped, unobserved time belongs to nobody. */
START_TEST(unobserved_time)
{
	struct machine m;

	begin(&m, 7);
	run(&m, 5, 200000);
	m.now_ns += 3600 * S;
	if (!m.w.now.is_paused)
		switch_windows_closed(&m.w, &m.counts, m.now_ns);
	switch_windows_cut(&m.w, m.now_ns);
	ck_assert_double_lt((double)m.w.now.weight / WINDOW_WEIGHT_ONE, 2 / m.w.share);
	m.weighed_ns = 0;
	uint64_t from_ns = m.now_ns;
	run(&m, 100, 200000);
	ck_assert_double_lt(fabs(m.weighed_ns / (double)(m.now_ns - from_ns) - 1), .01);
}
END_TEST

UNIT_MAIN("switch_windows", few_switches_are_all_recorded, cost_stays_within_the_budget,
	  each_moment_is_as_likely, comes_and_goes_with_the_load, starts_soon,
	  a_window_that_weighs_one_ends, unobserved_time)
