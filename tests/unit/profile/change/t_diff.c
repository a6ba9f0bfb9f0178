// tier: test
/* Differences of two profiles: their numbers under each norm, the samples behind them, and how often chance alone makes them report a change. */
#include "unit.h"

#include "base/err.h"
#include "profile/change/diff.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/strtab.h"
#include "profile/tree/tree.h"
#include "rand.h"

#include <errno.h>
#include <math.h>

/* --- profiles: one stack "main;NAME" per function --- */

struct made {
	struct profile *p;
	uint32_t type;
};
struct kind {
	const char *name, *sample_type, *unit, *period_type, *period_unit;
	int64_t period;
};
static const struct kind cpu = { "cpu", "samples", "count", "cpu", "nanoseconds", 10000000 };

static uint32_t frame_of(struct sink *s, const char *name)
{
	struct frame f = { .mapping = MAPPING_NONE, .function = sink_string(s, name) };
	return s->ops->frame(s, &f);
}

static struct made make(const struct kind *k)
{
	struct made m = { .p = profile_new() };
	struct sink *s = profile_sink(m.p);
	struct type type = { .name = sink_string(s, k->name),
			     .sample_type = sink_string(s, k->sample_type),
			     .unit = sink_string(s, k->unit),
			     .period_type = sink_string(s, k->period_type),
			     .period_unit = sink_string(s, k->period_unit) };
	m.type = s->ops->type(s, &type);
	return m;
}

static void add_stack(struct made *m, const uint32_t *frames, int64_t value, int64_t period,
		      int64_t time_ns)
{
	struct sink *s = profile_sink(m->p);
	struct series series = { .type = m->type, .period = period };
	struct sample sample = { .time_ns = time_ns,
				 .value = value,
				 .series = s->ops->series(s, &series),
				 .stack = s->ops->stack(s, frames, 2),
				 .pid = SAMPLE_NO_ID,
				 .tid = SAMPLE_NO_ID,
				 .cpu = SAMPLE_NO_ID };
	s->ops->sample(s, &sample);
}

static void add(struct made *m, const char *name, int64_t value, int64_t period, int64_t time_ns)
{
	struct sink *s = profile_sink(m->p);
	add_stack(m, (uint32_t[]){ frame_of(s, "main"), frame_of(s, name) }, value, period,
		  time_ns);
}

/* A stack without its callers. */
static void add_cut(struct made *m, const char *name, int64_t value)
{
	struct sink *s = profile_sink(m->p);
	struct frame marker = { .mapping = MAPPING_NONE,
				.kind = FRAME_MARKER,
				.function = sink_string(s, "[truncated: no frame pointer]") };
	add_stack(m, (uint32_t[]){ s->ops->frame(s, &marker), frame_of(s, name) }, value,
		  cpu.period, 0);
}

static struct tree *tree_of(struct made *m)
{
	struct tree_opts opts = { .type = m->type, .with_spread = true };
	struct tree *t = NULL;
	ck_assert_int_eq(tree_build(m->p, &opts, &t, NULL), 0);
	return t;
}

/* Frees the profiles. */
static struct diff *diff_of(struct made newer, double newer_s, struct made older, double older_s,
			    enum diff_norm norm)
{
	struct tree *b = tree_of(&newer), *a = tree_of(&older);
	struct diff_opts opts = { .norm = norm, .confidence = 0.95 };
	struct diff *d = NULL;
	struct err err = { 0 };
	int rc = diff_build((struct diff_side){ b, newer_s }, (struct diff_side){ a, older_s },
			    &opts, &d, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	tree_free(a);
	tree_free(b);
	profile_free(newer.p);
	profile_free(older.p);
	return d;
}

static const struct diff_row *row_of(const struct diff *d, const char *name)
{
	for (size_t i = 0; i < d->rows.n; i++)
		if (!strcmp(strtab_get(&d->names->strings,
				       d->names->funcs.v[d->rows.v[i].func].name),
			    name))
			return &d->rows.v[i];
	ck_abort_msg("there is no %s", name);
	return NULL;
}

/* --- numbers --- */

/* f 100 → 300, g 100 → 100, gone 20 → 0, fresh 0 → 30; twice as long. */
static struct diff *example(enum diff_norm norm)
{
	struct made older = make(&cpu), newer = make(&cpu);
	add(&older, "f", 100, cpu.period, 0);
	add(&older, "g", 100, cpu.period, 0);
	add(&older, "gone", 20, cpu.period, 0);
	add(&newer, "f", 300, cpu.period, 0);
	add(&newer, "g", 100, cpu.period, 0);
	add(&newer, "fresh", 30, cpu.period, 0);
	return diff_of(newer, 2, older, 1, norm);
}

static void check_change(const struct diff_change *c, double older, double newer, double growth)
{
	ck_assert_double_eq_tol(c->older, older, 1e-9);
	ck_assert_double_eq_tol(c->newer, newer, 1e-9);
	ck_assert_double_eq_tol(c->change, newer - older, 1e-9);
	ck_assert_double_eq_tol(c->growth, growth, 1e-9);
	ck_assert(c->interval.low <= c->change && c->change <= c->interval.high);
}

START_TEST(norms)
{
	struct diff *d = example(DIFF_ABS);
	check_change(&row_of(d, "f")->self, 100, 300, 100 * 200 / 220.0);
	check_change(&row_of(d, "main")->total, 220, 430, 100 * 210 / 220.0);
	check_change(&row_of(d, "gone")->self, 20, 0, -100 * 20 / 220.0);
	ck_assert_int_eq(row_of(d, "gone")->self.certainty, CHANGE_SURE);
	ck_assert_int_eq(row_of(d, "g")->self.certainty, CHANGE_CHANCE);
	ck_assert_str_eq(d->unit, "samples");
	diff_free(d);
	d = example(DIFF_RATE);
	check_change(&row_of(d, "f")->self, 100, 150, 100 * 50 / 220.0);
	check_change(&row_of(d, "g")->self, 100, 50, -100 * 50 / 220.0);
	check_change(&row_of(d, "fresh")->total, 0, 15, 100 * 15 / 220.0);
	diff_free(d);
	d = example(DIFF_SHARE);
	check_change(&row_of(d, "f")->self, 100 / 2.2, 300 / 4.3, 300 / 4.3 - 100 / 2.2);
	check_change(&row_of(d, "main")->total, 100, 100, 0);
	check_change(&d->whole, 220, 215, -100 * 5 / 220.0); /* always by rate */
	ck_assert_uint_eq(d->n_self, 4);
	ck_assert_uint_eq(d->n_compared, 4 + 5 + 1);
	ck_assert_uint_eq(d->rows.v[0].func, row_of(d, "f")->func); /* by |change| */
	diff_free(d);
}
END_TEST

START_TEST(the_other_way_round_is_the_same)
{
	for (int norm = 0; norm < DIFF_NORMS; norm++) {
		struct made a = make(&cpu), b = make(&cpu), a2 = make(&cpu), b2 = make(&cpu);
		for (int i = 0; i < 2; i++) {
			add(i ? &a2 : &a, "f", 40, cpu.period, 0);
			add(i ? &b2 : &b, "f", 70, cpu.period, 0);
			add(i ? &a2 : &a, "g", 60, cpu.period, 0);
			add(i ? &b2 : &b, "g", 20, cpu.period, 0);
		}
		struct diff *d = diff_of(b, 3, a, 2, norm), *back = diff_of(a2, 2, b2, 3, norm);
		const struct diff_change *x = &row_of(d, "f")->self, *y = &row_of(back, "f")->self;
		ck_assert_double_eq_tol(x->change, -y->change, 1e-9);
		ck_assert_double_eq_tol(x->interval.low, -y->interval.high, 1e-9);
		ck_assert_int_eq(x->certainty, y->certainty);
		diff_free(d);
		diff_free(back);
	}
}
END_TEST

/* The same program at 100 samples a second and at 200. */
START_TEST(periods_are_made_up_for)
{
	struct made older = make(&cpu), newer = make(&cpu);
	add(&older, "f", 1000, 10000000, 0);
	add(&newer, "f", 2000, 5000000, 0);
	struct diff *d = diff_of(newer, 10, older, 10, DIFF_RATE);
	const struct diff_change *c = &row_of(d, "f")->self;
	ck_assert_str_eq(d->unit, "nanoseconds");
	check_change(c, 1e9, 1e9, 0);
	/* ±z·√(1000 · 10 ms² + 2000 · 5 ms²) in 10 s */
	ck_assert_double_eq_tol(c->interval.high, 1.96e7 / 10 * sqrt(1500), 2e6);
	diff_free(d);
	/* Both rates on one side. */
	older = make(&cpu);
	newer = make(&cpu);
	add(&older, "f", 1000, 10000000, 0);
	add(&newer, "f", 500, 10000000, 0);
	add(&newer, "f", 1000, 5000000, 0);
	d = diff_of(newer, 10, older, 10, DIFF_ABS);
	check_change(&row_of(d, "f")->self, 1e10, 1e10, 0);
	diff_free(d);
}
END_TEST

static struct err refuse(struct made newer, double newer_s, struct made older, enum diff_norm norm)
{
	struct tree *b = tree_of(&newer), *a = tree_of(&older);
	struct diff_opts opts = { .norm = norm, .confidence = 0.95 };
	struct diff *d = NULL;
	struct err err = { 0 };
	ck_assert_int_eq(diff_build((struct diff_side){ b, newer_s }, (struct diff_side){ a, 1 },
				    &opts, &d, &err),
			 -EINVAL);
	ck_assert_ptr_null(d);
	tree_free(a);
	tree_free(b);
	profile_free(newer.p);
	profile_free(older.p);
	return err;
}

START_TEST(incomparable_profiles)
{
	static const struct kind bytes = { "alloc", "alloc_space", "bytes", "", "", 0 };
	struct made older = make(&cpu), newer = make(&cpu);
	add(&older, "f", 1, cpu.period, 0);
	add(&newer, "f", 1, cpu.period, 0);
	struct err err = refuse(newer, 0, older, DIFF_RATE);
	ck_assert_ptr_nonnull(strstr(err.text, "no duration"));
	older = make(&bytes);
	newer = make(&cpu);
	add(&older, "f", 1, 0, 0);
	add(&newer, "f", 1, cpu.period, 0);
	err = refuse(newer, 1, older, DIFF_SHARE);
	ck_assert_ptr_nonnull(strstr(err.text, "bytes"));
}
END_TEST

START_TEST(an_empty_side)
{
	for (int norm = 0; norm < DIFF_NORMS; norm++) {
		struct made older = make(&cpu), newer = make(&cpu);
		add(&newer, "f", 50, cpu.period, 0);
		struct diff *d = diff_of(newer, 1, older, 1, norm);
		const struct diff_change *c = &row_of(d, "f")->self;
		ck_assert_double_eq(c->older, 0);
		/* There is no share of nothing. */
		ck_assert_int_eq(c->certainty, norm == DIFF_SHARE ? CHANGE_UNKNOWN : CHANGE_SURE);
		diff_free(d);
		d = diff_of(make(&cpu), 1, make(&cpu), 1, norm);
		ck_assert_uint_eq(d->rows.n, 0);
		diff_free(d);
	}
}
END_TEST

/* --- how many samples a value stands for --- */

/* Of function "f" with these values, each in its own row. */
static struct tree_spread spread_of(const struct kind *k, const int64_t *values, size_t n,
				    bool with_times)
{
	struct made m = make(k);
	for (size_t i = 0; i < n; i++)
		add(&m, "f", values[i], k->period, with_times ? (int64_t)i + 1 : 0);
	struct tree *t = tree_of(&m);
	ck_assert_uint_eq(t->spreads.n, t->nodes.n);
	struct tree_spread s = t->spreads.v[TREE_ROOT].total;
	tree_free(t);
	profile_free(m.p);
	return s;
}

static void check_spread(const struct kind *k, bool with_times, double n, double squares)
{
	static const int64_t values[] = { 3000000, 1000000 };
	struct tree_spread s = spread_of(k, values, 2, with_times);
	ck_assert_msg(s.n == n || (isnan(s.n) && isnan(n)), "%s/%s: n %g", k->sample_type, k->unit,
		      s.n);
	ck_assert_msg(s.squares == squares || (isnan(s.squares) && isnan(squares)),
		      "%s/%s: squares %g", k->sample_type, k->unit, s.squares);
}

START_TEST(weight_of_a_sample)
{
	static const struct kind
		folded = { "samples", "samples", "count", "", "", 0 },
		cpu_ns = { "cpu", "cpu", "nanoseconds", "cpu", "nanoseconds", 1000000 },
		heap = { "space", "alloc_space", "bytes", "space", "bytes", 500000 },
		every = { "space", "alloc_space", "bytes", "space", "bytes", 1 },
		objects = { "space", "alloc_objects", "count", "space", "bytes", 500000 },
		off_cpu = { "off-cpu", "off-cpu", "nanoseconds", "", "", 0 };
	check_spread(&folded, false, 4e6, 4e6);
	check_spread(&cpu, true, 4e6, 4e6);
	check_spread(&cpu_ns, false, 4, 4e12);
	check_spread(&heap, false, 8, 4e6 * 5e5);
	check_spread(&every, false, NAN, NAN);
	check_spread(&objects, false, NAN, NAN);
	check_spread(&off_cpu, false, NAN, NAN);
	check_spread(&off_cpu, true, 2, 1e13);
}
END_TEST

START_TEST(unknown_is_reported)
{
	static const struct kind us = { "off-cpu", "off-cpu", "microseconds", "", "", 0 };
	for (int norm = 0; norm < DIFF_NORMS; norm++) {
		struct made older = make(&us), newer = make(&us);
		add(&older, "f", 1000, 0, 0);
		add(&newer, "f", 9000, 0, 0);
		add(&newer, "g", 9000, 0, 0);
		struct diff *d = diff_of(newer, 1, older, 1, norm);
		ck_assert_int_eq(row_of(d, "f")->self.certainty, CHANGE_UNKNOWN);
		ck_assert(isnan(row_of(d, "f")->self.interval.high));
		ck_assert_int_eq(d->whole.certainty, CHANGE_UNKNOWN);
		diff_free(d);
	}
}
END_TEST

/* --- chance --- */

static double uniform(struct rng *r)
{
	return ((rng_next(r) >> 11) + 0.5) / 9007199254740992.0;
}

enum { FUNCTIONS = 60 };

/* A second has 100 samples; function k has a share that falls like 0.9^k, the first one multiplied by `factor`. With times, samples weigh between
 * nothing and 2 ms. */
static struct made record(struct rng *r, double seconds, double factor, bool weighted)
{
	static const struct kind waits = { "off-cpu", "off-cpu", "nanoseconds", "", "", 0 };
	struct made m = make(weighted ? &waits : &cpu);
	double first = (1 - 0.9) * factor, sum = first + 0.9;
	for (double t = 0; t < seconds; t -= log(uniform(r)) / (100 * sum)) {
		double u = uniform(r) * sum;
		int k = u < first ? 0 : 1 + (int)(log(1 - (u - first) / 0.9) / log(0.9));
		char name[16];
		snprintf(name, sizeof name, "f%d", k < FUNCTIONS ? k : FUNCTIONS);
		int64_t weight_ns = 1 + uniform(r) * 2000000;
		add(&m, name, weighted ? weight_ns : 1, weighted ? 0 : cpu.period, t * 1e9 + 1);
	}
	return m;
}

/* The number of pairs of recordings of the same load in which a growth is reported as sure. */
static int false_alarms(struct rng *r, int rounds, double newer_s, double older_s,
			enum diff_norm norm, bool weighted)
{
	int alarms = 0;
	for (int i = 0; i < rounds; i++) {
		struct made newer = record(r, newer_s, 1, weighted);
		struct diff *d =
			diff_of(newer, newer_s, record(r, older_s, 1, weighted), older_s, norm);
		bool grew = false;
		for (size_t k = 0; k < d->rows.n; k++)
			for (int total = 0; total < 2; total++) {
				const struct diff_change *c =
					total ? &d->rows.v[k].total : &d->rows.v[k].self;
				grew |= c->certainty == CHANGE_SURE && c->growth > 0;
			}
		alarms += grew;
		diff_free(d);
	}
	return alarms;
}

/* Growth has half of the 5 %: 10 of 400 pairs, plus or minus √10; the tests are on the safe side of that. */
START_TEST(chance_alone_gives_no_alarm)
{
	struct rng r = { 77 };
	for (int norm = 0; norm < 2; norm++) {
		ck_assert_int_le(false_alarms(&r, 400, 10, 10, norm, false), 10);
		ck_assert_int_le(false_alarms(&r, 200, 3, 30, norm, false), 5);
		ck_assert_int_le(false_alarms(&r, 200, 10, 10, norm, true), 5);
	}
}
END_TEST

/* 20 % more in a function with a share of 10 %, in five minutes. */
START_TEST(a_real_change_is_found)
{
	struct rng r = { 78 };
	for (int i = 0; i < 20; i++) {
		struct made newer = record(&r, 300, 1.2, false);
		struct diff *d = diff_of(newer, 300, record(&r, 300, 1, false), 300, DIFF_RATE);
		ck_assert_str_eq(
			strtab_get(&d->names->strings, d->names->funcs.v[d->rows.v[0].func].name),
			"f0");
		ck_assert_int_eq(d->rows.v[0].self.certainty, CHANGE_SURE);
		ck_assert_double_eq_tol(d->rows.v[0].self.growth, 2, 1.2);
		diff_free(d);
	}
}
END_TEST

/* --- cut stacks --- */

/* Returns the diff of 100 samples of main;f and 5 of them with 2 that do not have their callers. */
static struct diff *cut_example(const char *leaf, bool in_newer)
{
	struct made some = make(&cpu), all = make(&cpu);
	add(&some, "f", 5, cpu.period, 0);
	add_cut(&some, leaf, 2);
	add(&all, "f", 100, cpu.period, 0);
	return in_newer ? diff_of(some, 1, all, 1, DIFF_SHARE)
			: diff_of(all, 1, some, 1, DIFF_SHARE);
}

START_TEST(cut_stacks_change_nothing)
{
	for (int in_newer = 0; in_newer < 2; in_newer++) {
		struct diff *d = cut_example("[unknown]", in_newer);
		const struct diff_row *main_row = row_of(d, "main"), *f = row_of(d, "f");
		ck_assert_double_eq_tol(fabs(main_row->total.change), 100 * 2 / 7.0, 1e-9);
		ck_assert_int_eq(main_row->total.certainty, CHANGE_CHANCE);
		ck_assert_int_eq(f->self.certainty, CHANGE_CHANCE);
		ck_assert_int_eq(f->total.certainty, CHANGE_CHANCE);
		ck_assert_int_eq(row_of(d, "[no names]")->self.certainty, CHANGE_CHANCE);
		diff_free(d);
		/* Its callers are unknown, the function itself is known. */
		d = cut_example("g", in_newer);
		ck_assert_int_eq(row_of(d, "main")->total.certainty, CHANGE_CHANCE);
		ck_assert_int_eq(row_of(d, "g")->self.certainty, CHANGE_LIKELY);
		diff_free(d);
	}
}
END_TEST

/* Equally many cut stacks on both sides hide nothing; few of them little. */
START_TEST(changes_with_cut_stacks)
{
	for (int both = 0; both < 2; both++) {
		struct made older = make(&cpu), newer = make(&cpu);
		add(&older, "f", 100, cpu.period, 0);
		add(&older, "g", 400, cpu.period, 0);
		add_cut(&older, "[unknown]", both ? 250 : 10);
		add(&newer, "f", 200, cpu.period, 0);
		add(&newer, "g", 300, cpu.period, 0);
		if (both)
			add_cut(&newer, "[unknown]", 250);
		struct diff *d = diff_of(newer, 1, older, 1, DIFF_SHARE);
		ck_assert_int_eq(row_of(d, "f")->self.certainty, CHANGE_SURE);
		ck_assert_int_eq(row_of(d, "f")->total.certainty, CHANGE_SURE);
		ck_assert_int_eq(row_of(d, "g")->self.certainty, CHANGE_SURE);
		diff_free(d);
	}
}
END_TEST

/* On a busy machine up to 20 % of the stacks of one side are cut. */
static void cut_some(struct rng *r, struct made *m)
{
	int n = (int)(uniform(r) * 25);
	if (n)
		add_cut(m, "[unknown]", n);
}

START_TEST(cut_stacks_give_no_alarm)
{
	struct rng r = { 79 };
	int alarms = 0;
	for (int i = 0; i < 400; i++) {
		struct made newer = record(&r, 1, 1, false), older = record(&r, 1, 1, false);
		cut_some(&r, i % 2 ? &newer : &older);
		struct diff *d = diff_of(newer, 1, older, 1, DIFF_SHARE);
		bool grew = false;
		for (size_t k = 0; k < d->rows.n; k++) {
			const struct diff_row *row = &d->rows.v[k];
			grew |= (row->self.certainty == CHANGE_SURE && row->self.growth > 0) ||
				(row->total.certainty == CHANGE_SURE && row->total.growth > 0);
		}
		alarms += grew;
		diff_free(d);
	}
	ck_assert_int_le(alarms, 10);
}
END_TEST

/* Recursion and inlining: totals count once, and so do the samples behind them. */
START_TEST(recursion_counts_once)
{
	struct made newer = make(&cpu);
	add(&newer, "main", 50, cpu.period, 0); /* main;main */
	struct diff *d = diff_of(newer, 1, make(&cpu), 1, DIFF_ABS);
	ck_assert_double_eq(row_of(d, "main")->total.newer, 50);
	ck_assert_double_eq_tol(row_of(d, "main")->total.interval.high,
				row_of(d, "main")->self.interval.high, 1e-9);
	diff_free(d);
}
END_TEST

UNIT_MAIN("diff", norms, the_other_way_round_is_the_same, periods_are_made_up_for,
	  incomparable_profiles, an_empty_side, weight_of_a_sample, unknown_is_reported,
	  chance_alone_gives_no_alarm, a_real_change_is_found, cut_stacks_change_nothing,
	  changes_with_cut_stacks, cut_stacks_give_no_alarm, recursion_counts_once)
