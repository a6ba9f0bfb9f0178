/* Matches functions, and computes the interval of each change. */
#include "profile/change/diff.h"

#include "base/err.h"
#include "base/mem.h"
#include "profile/change/interval.h"
#include "profile/frame.h"
#include "profile/identity.h"
#include "profile/sum.h"
#include "profile/tree/top.h"
#include "profile/tree/tree_match.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- unseen parts --- */

enum { SEEN, CUT_STACK, NAMELESS };

static unsigned char how_unseen(const struct tree *t, const struct tree_func *f)
{
	static const char cut[] = "[truncated";
	const char *name = strtab_get(&t->strings, f->name);
	if (f->kind == FRAME_MARKER)
		return strncmp(name, cut, strlen(cut)) == 0 ? CUT_STACK : SEEN;
	if (*strtab_get(&t->strings, f->binary))
		return SEEN;
	bool is_unknown = identity_is_unknown(name, strlen(name)) || strcmp(name, NO_NAMES) == 0;
	return is_unknown ? NAMELESS : SEEN;
}

bool unseen_func(const struct tree *t, const struct tree_func *f)
{
	return how_unseen(t, f) != SEEN;
}

static void part_add(struct unseen_part *to, int64_t value, struct tree_spread spread)
{
	to->value = sum_add(to->value, value);
	tree_spread_add(&to->spread, spread);
}

struct unseen unseen_of(const struct tree *t)
{
	struct unseen u = { 0 };
	unsigned char *how = xcalloc(t->funcs.n + 1, sizeof *how);
	for (size_t i = 1; i < t->funcs.n; i++)
		how[i] = how_unseen(t, &t->funcs.v[i]);
	for (size_t i = 1; i < t->nodes.n; i++) {
		const struct tree_node *n = &t->nodes.v[i];
		if (how[n->func] != SEEN && n->self)
			part_add(&u.self, n->self, t->spreads.v[i].self);
		if (how[n->func] == CUT_STACK)
			part_add(&u.total, n->total, t->spreads.v[i].total);
	}
	free(how);
	return u;
}

const char *const diff_norm_names[DIFF_NORMS] = { "share", "rate", "abs" };

/* --- sides in a common unit --- */

/* A value of one side, in the common unit. */
struct amount {
	struct sampled v;
	double n; /* samples */
};
struct side {
	struct amount whole;
	struct amount unseen_self, unseen_total;
	double scale;   /* from the tree's unit to the common one */
	double seconds; /* 0 = unknown */
	double weight;  /* of every sample, in the common unit; 0: varying; NaN: unknown */
};
struct compare {
	struct diff *d;
	struct side newer, older;
	double z;      /* for each interval */
	double z_many; /* corrected for all comparisons */
};

static struct amount amount(const struct side *s, int64_t value, struct tree_spread spread)
{
	return (struct amount){ { value * s->scale, spread.squares * s->scale * s->scale },
				spread.n };
}

/* Returns the weight of all samples, 0 if they vary. By the Cauchy-Schwarz inequality n·Σw²
 * equals (Σw)² only if all weights are equal. */
static double common_weight(const struct amount *whole)
{
	double sum = whole->v.sum, squares = whole->n * whole->v.squares;
	if (isnan(squares))
		return NAN;
	return fabs(squares - sum * sum) <= 1e-9 * squares ? whole->v.squares / sum : 0;
}

static struct side side_init(const struct diff_side *in, double scale)
{
	struct side s = { .scale = scale, .seconds = in->seconds };
	const struct tree *t = in->tree;
	s.whole = amount(&s, t->nodes.v[TREE_ROOT].total, t->spreads.v[TREE_ROOT].total);
	s.weight = s.whole.n ? common_weight(&s.whole) : NAN;
	struct unseen unseen = unseen_of(t);
	s.unseen_self = amount(&s, unseen.self.value, unseen.self.spread);
	s.unseen_total = amount(&s, unseen.total.value, unseen.total.spread);
	return s;
}

static const char *common_unit(const struct tree *t)
{
	return t->scaled_unit ? t->scaled_unit : t->unit;
}

int diff_check_units(const struct tree *newer, const struct tree *older, struct err *err)
{
	if (strcmp(newer->unit, older->unit) == 0 ||
	    strcmp(common_unit(newer), common_unit(older)) == 0)
		return 0;
	return err_set(err, EINVAL, "the older side counts %s (%s), the newer %s (%s)", older->unit,
		       older->type_name, newer->unit, newer->type_name);
}

/* Compares values in their own unit if the periods are equal, else in the periods' unit. */
static int meet_units(struct compare *c, const struct diff_side *newer,
		      const struct diff_side *older, struct err *err)
{
	const struct tree *a = older->tree, *b = newer->tree;
	const char *a_unit = common_unit(a), *b_unit = common_unit(b);
	bool is_same = a->scale == b->scale && strcmp(a->unit, b->unit) == 0;
	bool is_scaled = !is_same && strcmp(a_unit, b_unit) == 0;
	if (diff_check_units(b, a, err) < 0)
		return -EINVAL;
	c->d->period_missing = !is_same && !is_scaled;
	c->d->unit = is_scaled ? b_unit : b->unit;
	c->newer = side_init(newer, is_scaled && b->scale > 0 ? b->scale : 1);
	c->older = side_init(older, is_scaled && a->scale > 0 ? a->scale : 1);
	/* A side without samples takes the weight of the other. */
	if (c->older.whole.n == 0)
		c->older.weight = c->newer.weight;
	if (c->newer.whole.n == 0)
		c->newer.weight = c->older.weight;
	return 0;
}

/* --- one change --- */

static void change_shares(const struct compare *c, const struct amount *b, const struct amount *a,
			  struct diff_change *out, double z)
{
	const struct side *newer = &c->newer, *older = &c->older;
	double n_b = newer->weight > 0 ? newer->whole.n : 0;
	double n_a = older->weight > 0 ? older->whole.n : 0;
	out->newer = newer->whole.v.sum ? 100 * b->v.sum / newer->whole.v.sum : 0;
	out->older = older->whole.v.sum ? 100 * a->v.sum / older->whole.v.sum : 0;
	out->change = out->growth = out->newer - out->older;
	out->interval = interval_shares(b->v, newer->whole.v, n_b, a->v, older->whole.v, n_a, z);
	out->interval.low *= 100;
	out->interval.high *= 100;
}

static struct sampled times(struct sampled v, double factor)
{
	return (struct sampled){ v.sum * factor, v.squares * factor * factor };
}

static double per(const struct side *s, enum diff_norm norm)
{
	return norm == DIFF_RATE ? 1 / s->seconds : 1;
}

static void change_sums(const struct compare *c, enum diff_norm norm, const struct amount *b,
			const struct amount *a, struct diff_change *out, double z)
{
	double per_b = per(&c->newer, norm), per_a = per(&c->older, norm);
	double whole = c->older.whole.v.sum * per_a;
	out->newer = b->v.sum * per_b;
	out->older = a->v.sum * per_a;
	out->change = out->newer - out->older;
	out->growth = out->change ? 100 * out->change / whole : 0;
	out->interval = interval_sums(times(b->v, per_b), times(a->v, per_a),
				      c->newer.weight * per_b, c->older.weight * per_a, z);
}

/* Returns the probability that samples of equal weight change this much by chance, in one
 * direction. */
static double chance(const struct compare *c, enum diff_norm norm, const struct amount *b,
		     const struct amount *a, bool grew)
{
	const struct side *newer = grew ? &c->newer : &c->older;
	const struct side *older = grew ? &c->older : &c->newer;
	const struct amount *more = grew ? b : a, *less = grew ? a : b;
	if (norm == DIFF_SHARE)
		return chance_of_share(more->n, newer->whole.n, less->n, older->whole.n);
	double x = 1 / (per(newer, norm) * newer->weight),
	       y = 1 / (per(older, norm) * older->weight);
	return chance_of_count(more->n, less->n, x / (x + y));
}

static void change_values(const struct compare *c, enum diff_norm norm, const struct amount *b,
			  const struct amount *a, struct diff_change *out, double z)
{
	if (norm == DIFF_SHARE)
		change_shares(c, b, a, out, z);
	else
		change_sums(c, norm, b, a, out, z);
}

static bool is_off_zero(struct interval i)
{
	return i.low > 0 || i.high < 0;
}

static bool is_sure(const struct compare *c, enum diff_norm norm, const struct amount *b,
		    const struct amount *a, bool grew)
{
	double level = (1 - c->d->confidence) / 2 / c->d->n_compared;
	if (c->newer.weight > 0 && c->older.weight > 0)
		return chance(c, norm, b, a, grew) <= level;
	struct diff_change strict;
	change_values(c, norm, b, a, &strict, c->z_many);
	return is_off_zero(strict.interval);
}

/* The values of one side and the other. */
struct two {
	struct amount newer, older;
};
/* The values of one function, and the ones with the least and the greatest change that they may
 * have if the samples that one side saw less of are counted otherwise. */
struct bounds {
	struct two seen, least, most;
	bool is_wider; /* than chance alone */
};

static struct diff_change compare_bounds(const struct compare *c, enum diff_norm norm,
					 const struct bounds *v)
{
	struct diff_change out = { 0 }, other;
	change_values(c, norm, &v->seen.newer, &v->seen.older, &out, c->z);
	if (v->is_wider) {
		change_values(c, norm, &v->least.newer, &v->least.older, &other, c->z);
		out.interval.low = other.interval.low;
		change_values(c, norm, &v->most.newer, &v->most.older, &other, c->z);
		out.interval.high = other.interval.high;
	}
	if (isnan(out.interval.low) || isnan(out.interval.high)) {
		out.interval = (struct interval){ NAN, NAN };
		out.certainty = CHANGE_UNKNOWN;
	} else if (!is_off_zero(out.interval)) {
		out.certainty = CHANGE_CHANCE;
	} else {
		bool grew = out.change > 0;
		const struct two *of = grew ? &v->least : &v->most;
		out.certainty = is_sure(c, norm, &of->newer, &of->older, grew) ? CHANGE_SURE
									       : CHANGE_LIKELY;
	}
	return out;
}

static struct diff_change compare_amounts(const struct compare *c, enum diff_norm norm,
					  struct amount b, struct amount a)
{
	struct two seen = { b, a };
	return compare_bounds(c, norm, &(struct bounds){ seen, seen, seen, false });
}

/* --- what one side saw less of --- */

static double under_norm(const struct side *s, enum diff_norm norm, double value)
{
	if (norm != DIFF_SHARE)
		return value * per(s, norm);
	return s->whole.v.sum ? value / s->whole.v.sum : 0;
}

static double within(double v, double most)
{
	return v < 0 ? 0 : v < most ? v : most;
}

/* Returns v with (sign 1) or without (-1) the part of `unseen` that the other side has not. */
static struct amount moved(const struct side *s, struct amount v, enum diff_norm norm,
			   const struct amount *unseen, double others, int sign)
{
	double own = under_norm(s, norm, unseen->v.sum);
	double part = own > others && own > 0 ? sign * (own - others) / own : 0;
	if (part == 0)
		return v;
	v.n = within(v.n + part * unseen->n, s->whole.n);
	v.v.sum = within(v.v.sum + part * unseen->v.sum, s->whole.v.sum);
	v.v.squares = within(v.v.squares + part * unseen->v.squares, s->whole.v.squares);
	return v;
}

/* What one side saw less of than the other may belong to any function. */
static struct diff_change compare_seen(const struct compare *c, struct amount b, struct amount a,
				       bool is_total, bool is_function)
{
	enum diff_norm norm = c->d->norm;
	const struct side *newer = &c->newer, *older = &c->older;
	const struct amount *unseen_b = is_total ? &newer->unseen_total : &newer->unseen_self;
	const struct amount *unseen_a = is_total ? &older->unseen_total : &older->unseen_self;
	double of_b = under_norm(newer, norm, unseen_b->v.sum);
	double of_a = under_norm(older, norm, unseen_a->v.sum);
	int sign = is_function ? 1 : -1;
	struct amount other_b = moved(newer, b, norm, unseen_b, of_a, sign);
	struct amount other_a = moved(older, a, norm, unseen_a, of_b, sign);
	struct bounds v = { { b, a }, { b, other_a }, { other_b, a }, of_a != of_b };
	if (!is_function) {
		v.least = (struct two){ other_b, a };
		v.most = (struct two){ b, other_a };
	}
	return compare_bounds(c, norm, &v);
}

/* --- all functions --- */

/* Both sides by function of names. */
struct pairs {
	struct tree_match match;
	struct top_row *newer, *older;
};

static bool has_values(const struct top_row *r)
{
	return r->self || r->total;
}

static struct top_row *sum_side(const struct pairs *p, const struct tree *t, const uint32_t *func)
{
	struct top_row *rows = xcalloc(p->match.n, sizeof *rows);
	top_sums(t, func, rows, p->match.n);
	return rows;
}

static void pairs_init(struct pairs *p, const struct tree *newer, const struct tree *older,
		       bool is_strict)
{
	tree_match_init(&p->match, newer, older, is_strict);
	p->newer = sum_side(p, newer, p->match.newer);
	p->older = sum_side(p, older, p->match.older);
}

static void pairs_done(struct pairs *p)
{
	tree_match_done(&p->match);
	free(p->newer);
	free(p->older);
}

static void count_compared(struct diff *d, const struct pairs *p)
{
	d->n_compared = 1;
	for (uint32_t i = 0; i < p->match.n; i++) {
		if (!has_values(&p->newer[i]) && !has_values(&p->older[i]))
			continue;
		bool has_self = p->newer[i].self || p->older[i].self;
		d->n_self += has_self;
		d->n_compared += 1 + has_self;
	}
}

static void add_row(struct compare *c, uint32_t func, const struct pairs *p)
{
	const struct top_row *b = &p->newer[func], *a = &p->older[func];
	const struct side *newer = &c->newer, *older = &c->older;
	bool is_function = !unseen_func(c->d->names, &c->d->names->funcs.v[func]);
	bool has_self = b->self || a->self;
	struct diff_row row = {
		.func = func,
		.older_func = p->match.of_older[func],
		.match = p->match.how[func],
		.older_self = a->self,
		.newer_self = b->self,
		.older_total = a->total,
		.newer_total = b->total,
		.self = compare_seen(c, amount(newer, b->self, b->spread.self),
				     amount(older, a->self, a->spread.self), false, is_function),
		.total = compare_seen(c, amount(newer, b->total, b->spread.total),
				      amount(older, a->total, a->spread.total),
				      is_function || !has_self, is_function),
	};
	vec_push(&c->d->rows, row);
}

static int row_cmp(const void *a, const void *b, void *ctx)
{
	const struct tree *names = ctx;
	const struct diff_row *x = a, *y = b;
	double self = fabs(y->self.change) - fabs(x->self.change);
	double total = fabs(y->total.change) - fabs(x->total.change);
	if (self != 0 || total != 0)
		return (self != 0 ? self : total) > 0 ? 1 : -1;
	int order = strcmp(strtab_get(&names->strings, names->funcs.v[x->func].name),
			   strtab_get(&names->strings, names->funcs.v[y->func].name));
	return order ? order : x->func < y->func ? -1 : 1;
}

static void compare_funcs(struct compare *c, const struct pairs *pairs)
{
	for (uint32_t func = 0; func < pairs->match.n; func++)
		if (has_values(&pairs->newer[func]) || has_values(&pairs->older[func]))
			add_row(c, func, pairs);
	if (c->d->rows.n)
		qsort_r(c->d->rows.v, c->d->rows.n, sizeof *c->d->rows.v, row_cmp, c->d->names);
}

static void compare_whole(struct compare *c)
{
	struct diff *d = c->d;
	bool has_times = c->newer.seconds > 0 && c->older.seconds > 0;
	d->whole_norm = has_times && d->norm != DIFF_ABS ? DIFF_RATE : DIFF_ABS;
	d->whole_unit = d->unit;
	d->whole = compare_amounts(c, d->whole_norm, c->newer.whole, c->older.whole);
	d->whole_ratio =
		interval_ratio(times(c->newer.whole.v, per(&c->newer, d->whole_norm)),
			       times(c->older.whole.v, per(&c->older, d->whole_norm)), c->z);
}

static const char *own_text(struct tree *t, const char *s)
{
	return strtab_get(&t->strings, strtab_put(&t->strings, s));
}

static void diff_run(struct compare *c, struct pairs *pairs)
{
	struct diff *d = c->d;
	count_compared(d, pairs);
	c->z = interval_z((1 - d->confidence) / 2);
	c->z_many = interval_z((1 - d->confidence) / 2 / d->n_compared);
	d->names = pairs->match.names;
	pairs->match.names = NULL;
	d->unit = own_text(d->names, d->unit);
	compare_whole(c);
	compare_funcs(c, pairs);
	if (d->norm == DIFF_SHARE)
		d->unit = own_text(d->names, "%");
}

static int check_duration(struct diff_side s, const char *which, struct err *err)
{
	if (s.seconds > 0)
		return 0;
	err_set(err, EINVAL, "the %s side has no duration: cannot calculate a rate", which);
	return err_hint(err, "compare shares or values: --norm share, --norm abs");
}

int diff_build(struct diff_side newer, struct diff_side older, const struct diff_opts *opts,
	       struct diff **out, struct err *err)
{
	struct diff *d = xcalloc(1, sizeof *d);
	struct compare c = { .d = d };
	d->norm = opts->norm;
	d->confidence = opts->confidence;
	int rc = opts->norm == DIFF_RATE ? check_duration(newer, "newer", err) : 0;
	if (rc == 0 && opts->norm == DIFF_RATE)
		rc = check_duration(older, "older", err);
	if (rc == 0)
		rc = meet_units(&c, &newer, &older, err);
	if (rc < 0) {
		diff_free(d);
		return -EINVAL;
	}
	struct pairs pairs;
	pairs_init(&pairs, newer.tree, older.tree, opts->is_strict);
	diff_run(&c, &pairs);
	pairs_done(&pairs);
	*out = d;
	return 0;
}

void diff_free(struct diff *d)
{
	if (!d)
		return;
	tree_free(d->names);
	vec_done(&d->rows);
	free(d);
}
