/* Estimates the variance of sums from differences between adjacent stretches of time. */
#include "profile/change/estimate.h"

#include "base/mem.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/strtab.h"
#include "profile/sum.h"
#include "profile/tree/tree.h"

#include <stdbool.h>
#include <stdlib.h>

enum { STRETCH_PERIODS = 10, MIN_STRETCHES = 4, MAX_STRETCHES = 64 };

struct thin_row {
	int64_t time_ns, value, period_ns;
	uint32_t node, stretch;
};
/* The sums of a function. */
struct sums {
	double self, total;             /* variances by chance alone */
	double self_steps, total_steps; /* squares of differences between adjacent stretches */
	int64_t self_all, total_all;
	int64_t first_ns, last_ns, period_ns;                   /* of its rows */
	int64_t self_now, total_now, self_before, total_before; /* of a stretch */
	uint32_t stretch;                                       /* current one + 1; 0: none yet */
	uint64_t seen;                                          /* the last row that reached it */
};
struct spreading {
	const struct tree *tree;
	VEC(struct thin_row) rows;
	struct sums *by_func;
	uint32_t n_stretches; /* 0: too few periods */
	uint64_t n_seen;
};

static int64_t period_of(const struct profile *p, uint32_t key, uint32_t row)
{
	uint32_t set = p->series.series.v[p->samples.series[row]].labels;
	const struct label *l = label_find(&p->series, set, key);

	return l && !l->is_num ? (int64_t)(1e9 * strtod(profile_str(p, l->str), NULL)) : 0;
}

static int by_time(const void *a, const void *b)
{
	const struct thin_row *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static int64_t take_rows(struct spreading *s, const struct profile *p,
			 const struct tree_samples *rows)
{
	uint32_t key = strtab_find(&p->strings, WINDOWS_LABEL);
	int64_t sum = 0;

	for (size_t i = 0; key != UINT32_MAX && i < rows->rows.n; i++) {
		const struct tree_sample *r = &rows->rows.v[i];
		int64_t period_ns = period_of(p, key, r->row);
		int64_t time_ns = p->samples.time_ns ? p->samples.time_ns[r->row] : 0;

		if (period_ns <= 0)
			continue;
		vec_push(&s->rows, (struct thin_row){ time_ns, r->value, period_ns, r->node, 0 });
		sum = sum_add(sum, r->value);
	}
	if (s->rows.n)
		qsort(s->rows.v, s->rows.n, sizeof *s->rows.v, by_time);
	return sum;
}

static void cut_stretches(struct spreading *s)
{
	int64_t begin_ns = s->rows.v[0].time_ns, period_ns = 0;
	int64_t range_ns = s->rows.v[s->rows.n - 1].time_ns - begin_ns;

	for (size_t i = 0; i < s->rows.n; i++)
		if (s->rows.v[i].period_ns > period_ns)
			period_ns = s->rows.v[i].period_ns;
	int64_t n = range_ns / (STRETCH_PERIODS * period_ns);
	if (n < MIN_STRETCHES)
		return;
	s->n_stretches = n < MAX_STRETCHES ? n : MAX_STRETCHES;
	int64_t length_ns = range_ns / s->n_stretches + 1;
	for (size_t i = 0; i < s->rows.n; i++)
		s->rows.v[i].stretch = (s->rows.v[i].time_ns - begin_ns) / length_ns;
}

static double squared(int64_t a, int64_t b)
{
	double apart = (double)a - (double)b;

	return apart * apart;
}

static void add_step(struct sums *f, int64_t self_before, int64_t total_before)
{
	f->self_steps += squared(f->self_now, self_before);
	f->total_steps += squared(f->total_now, total_before);
}

/* Advances a function to its next stretch with rows, or past the last. */
static void step_to(struct sums *f, uint32_t stretch)
{
	if (f->stretch == stretch + 1)
		return;
	bool follows = f->stretch && f->stretch == stretch;
	if (f->stretch > 1)
		add_step(f, f->self_before, f->total_before);
	if (f->stretch && !follows)
		add_step(f, 0, 0);
	f->self_before = follows ? f->self_now : 0;
	f->total_before = follows ? f->total_now : 0;
	f->self_now = f->total_now = 0;
	f->stretch = stretch + 1;
}

/* A row without a time is a sum of unknown rows: returns the largest variance that waits of this
 * sum can have. */
static double variance_of(const struct thin_row *r)
{
	double v = (double)r->value, period = (double)r->period_ns, part = v / period;

	if (r->time_ns || part < 2. / 3)
		return part < 1 ? v * v * (1 - part) : 0;
	return 2. / 9 * v * period;
}

/* A function counts once on a path to the root. */
static void add_row(struct spreading *s, const struct thin_row *r)
{
	const struct tree_node *nodes = s->tree->nodes.v;
	double variance = variance_of(r);
	struct sums *leaf = &s->by_func[nodes[r->node].func];

	step_to(leaf, r->stretch);
	leaf->self += variance;
	leaf->self_now = sum_add(leaf->self_now, r->value);
	leaf->self_all = sum_add(leaf->self_all, r->value);
	s->n_seen++;
	for (uint32_t node = r->node; node != TREE_NONE; node = nodes[node].parent) {
		struct sums *f = &s->by_func[nodes[node].func];

		if (f->seen == s->n_seen)
			continue;
		f->seen = s->n_seen;
		step_to(f, r->stretch);
		f->period_ns = r->period_ns;
		f->first_ns = f->first_ns ? f->first_ns : r->time_ns; /* rows are in order */
		f->last_ns = r->time_ns;
		f->total += variance;
		f->total_now = sum_add(f->total_now, r->value);
		f->total_all = sum_add(f->total_all, r->value);
	}
}

/* Waits whose end was never seen are not known to 1 in 1000: the standard deviation is at least
 * LEAST of the sum. */
#define LEAST .0025

static double at_once(const struct sums *f, int64_t sum)
{
	double lasted = (double)(f->last_ns - f->first_ns + f->period_ns);

	return f->first_ns && lasted > 0 ? (double)sum / lasted : 1;
}

static double larger(const struct sums *f, double chance, double steps, uint32_t n, int64_t sum)
{
	double seen = n ? steps / 2 * n / (n - 1) : 0;
	double least = LEAST * LEAST * (double)sum * (double)sum;

	if (!sum)
		return 0;
	if (chance < seen)
		chance = seen;
	/* A start or end in the middle of a period appears to be at the period's boundary: twice
	 * T²/12, for all threads concerned. */
	double period = (double)f->period_ns, threads = at_once(f, sum);
	return (chance > least ? chance : least) + period * period / 6 * threads * threads;
}

int64_t window_spread(const struct profile *p, const struct tree *t,
		      const struct tree_samples *rows, struct window_spread *of)
{
	struct spreading s = { .tree = t };
	int64_t sum = take_rows(&s, p, rows);

	if (s.rows.n) {
		s.by_func = xcalloc(t->funcs.n + 1, sizeof *s.by_func);
		cut_stretches(&s);
		for (size_t i = 0; i < s.rows.n; i++)
			add_row(&s, &s.rows.v[i]);
		for (uint32_t i = 0; i < t->funcs.n; i++) {
			struct sums *f = &s.by_func[i];

			if (!f->stretch)
				continue;
			step_to(f, s.n_stretches);
			of[i] = (struct window_spread){
				larger(f, f->self, f->self_steps, s.n_stretches, f->self_all),
				larger(f, f->total, f->total_steps, s.n_stretches, f->total_all)
			};
		}
		free(s.by_func);
	}
	vec_done(&s.rows);
	return sum;
}
