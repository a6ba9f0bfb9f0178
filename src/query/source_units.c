/* A source whose types are in several units of one quantity, as one in which they are one type: an
 * old store that was sent nanoseconds by one program and microseconds by another. */
#include "base/mem.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/sum.h"
#include "profile/units.h"
#include "query/source.h"

#include <stdlib.h>

struct source_units {
	struct source base;
	struct source *in;
	struct profile *catalog;
	int64_t *factors; /* by series */
	size_t n;
};

static struct source_units *units_of(struct source *s)
{
	return (struct source_units *)s;
}

static const struct profile *get_catalog(struct source *s)
{
	return units_of(s)->catalog;
}

static void get_range(struct source *s, int64_t *from_ns, int64_t *to_ns)
{
	units_of(s)->in->ops->range(units_of(s)->in, from_ns, to_ns);
}

/* --- sums: one factor after the other --- */

/* The series of the next factor among the ones that are left. */
struct factor_walk {
	const struct source_units *u;
	bool *left, *wanted;
	int64_t factor;
};

static void walk_init(struct factor_walk *w, const struct source_units *u, const bool *wanted)
{
	*w = (struct factor_walk){ .u = u,
				   .left = xcalloc(u->n + 1, sizeof(bool)),
				   .wanted = xcalloc(u->n + 1, sizeof(bool)) };
	for (size_t i = 0; i < u->n; i++)
		w->left[i] = wanted[i];
}

static void walk_done(struct factor_walk *w)
{
	free(w->left);
	free(w->wanted);
}

static bool walk_next(struct factor_walk *w)
{
	bool any = false;
	for (size_t i = 0; i < w->u->n; i++) {
		w->wanted[i] = false;
		if (!w->left[i])
			continue;
		if (!any)
			w->factor = w->u->factors[i];
		any = true;
		w->wanted[i] = w->u->factors[i] == w->factor;
		w->left[i] = !w->wanted[i];
	}
	return any;
}

/* Without counts each unit of a value was a sample: they are written out first. */
static void scale_sums(struct source_sums *s, int64_t factor)
{
	double by = (double)factor;
	if (factor != 1 && !s->count) {
		s->count = xcalloc(s->n + 1, sizeof *s->count);
		s->squares = xcalloc(s->n + 1, sizeof *s->squares);
		for (uint32_t i = 0; i < s->n; i++)
			s->count[i] = s->squares[i] = (double)s->value[i];
	}
	for (uint32_t i = 0; factor != 1 && i < s->n; i++) {
		s->value[i] = sum_mul(s->value[i], factor);
		s->squares[i] *= by * by;
	}
}

static int merge(struct source *s, const bool *wanted, int64_t from_ns, int64_t to_ns,
		 struct source_merged *out, struct err *err)
{
	struct source_units *u = units_of(s);
	VEC(struct source_sums) parts = { 0 };
	struct factor_walk w;
	bool rounded = false;
	int rc = 0;
	walk_init(&w, u, wanted);
	while (rc == 0 && walk_next(&w)) {
		struct source_merged some;
		rc = u->in->ops->merge(u->in, w.wanted, from_ns, to_ns, &some, err);
		if (rc)
			break;
		for (size_t i = 0; i < some.n; i++)
			scale_sums(&some.parts[i], w.factor);
		vec_append(&parts, some.parts, some.n);
		rounded |= some.rounded;
		free(some.parts);
	}
	walk_done(&w);
	*out = (struct source_merged){ .parts = parts.v, .n = parts.n, .rounded = rounded };
	if (rc)
		source_merged_done(out);
	return rc;
}

static int steps(struct source *s, const uint32_t *group, int64_t from_ns, int64_t step_ns,
		 size_t n_steps, int64_t *sums, struct err *err)
{
	struct source_units *u = units_of(s);
	bool *wanted = xcalloc(u->n + 1, sizeof *wanted);
	uint32_t *some = xcalloc(u->n + 1, sizeof *some);
	struct factor_walk w;
	size_t n = 0;
	int rc = 0;
	for (size_t i = 0; i < u->n; i++) {
		wanted[i] = group[i] != UINT32_MAX;
		if (wanted[i] && group[i] >= n)
			n = (size_t)group[i] + 1;
	}
	n *= n_steps;
	int64_t *part = xreallocarray(NULL, n + 1, sizeof *part);
	walk_init(&w, u, wanted);
	while (rc == 0 && walk_next(&w)) {
		for (size_t i = 0; i < u->n; i++)
			some[i] = w.wanted[i] ? group[i] : UINT32_MAX;
		memset(part, 0, n * sizeof *part);
		rc = u->in->ops->steps(u->in, some, from_ns, step_ns, n_steps, part, err);
		for (size_t i = 0; i < n; i++)
			sums[i] = sum_add(sums[i], sum_mul(part[i], w.factor));
	}
	walk_done(&w);
	free(part);
	free(some);
	free(wanted);
	return rc;
}

/* --- rows --- */

struct units_rows {
	const struct source_units *u;
	source_row_fn row;
	source_columns_fn columns;
	source_same_fn same;
	void *ctx;
	VEC(int64_t) values;
};

static int give_row(void *ctx, const struct source_row *r)
{
	const struct units_rows *c = ctx;
	struct source_row scaled = *r;
	scaled.value = sum_mul(r->value, c->u->factors[r->series]);
	return c->row(c->ctx, &scaled);
}

static int give_columns(void *ctx, const struct source_columns *columns)
{
	struct units_rows *c = ctx;
	struct source_columns scaled = *columns;
	int64_t factor = c->u->factors[columns->series];
	if (factor == 1)
		return c->columns(c->ctx, columns);
	vec_clear(&c->values);
	for (size_t i = 0; i < columns->n; i++)
		vec_push(&c->values, sum_mul(columns->value[i], factor));
	scaled.value = c->values.v;
	return c->columns(c->ctx, &scaled);
}

static bool ask_same(void *ctx, struct profile *dict, const uint32_t *stacks, uint32_t n)
{
	const struct units_rows *c = ctx;
	return c->same(c->ctx, dict, stacks, n);
}

static int rows(struct source *s, const bool *wanted, int64_t from_ns, int64_t to_ns,
		source_row_fn row, void *ctx, struct err *err)
{
	struct source_units *u = units_of(s);
	struct units_rows c = { .u = u, .row = row, .ctx = ctx };
	return u->in->ops->rows(u->in, wanted, from_ns, to_ns, give_row, &c, err);
}

static int whole_rows(struct source *s, const bool *wanted, int64_t from_ns, int64_t to_ns,
		      source_row_fn row, void *ctx, struct err *err)
{
	struct source_units *u = units_of(s);
	struct units_rows c = { .u = u, .row = row, .ctx = ctx };
	const struct source_ops *in = u->in->ops;
	return (in->whole_rows ? in->whole_rows : in->rows)(u->in, wanted, from_ns, to_ns, give_row,
							    &c, err);
}

static int columns(struct source *s, const bool *wanted, int64_t from_ns, int64_t to_ns,
		   source_row_fn row, source_columns_fn fn, source_same_fn same, void *ctx,
		   struct err *err)
{
	struct source_units *u = units_of(s);
	struct units_rows c = { .u = u, .row = row, .columns = fn, .same = same, .ctx = ctx };
	int rc = source_columns(u->in, wanted, from_ns, to_ns, give_row, give_columns,
				same ? ask_same : NULL, &c, err);
	vec_done(&c.values);
	return rc;
}

/* --- the rest --- */

/* Metrics are not converted. */
static int points(struct source *s, uint32_t series, int64_t from_ns, int64_t to_ns,
		  source_points_fn fn, void *ctx, struct err *err)
{
	struct source *in = units_of(s)->in;
	return in->ops->points ? in->ops->points(in, series, from_ns, to_ns, fn, ctx, err) : 0;
}

static uint32_t left_out(struct source *s, struct err *why)
{
	struct source *in = units_of(s)->in;
	return in->ops->left_out ? in->ops->left_out(in, why) : 0;
}

static bool is_stopped(void *ctx)
{
	return source_is_stopped(ctx);
}

static void close_units(struct source *s)
{
	struct source_units *u = units_of(s);
	source_close(u->in);
	profile_free(u->catalog);
	free(u->factors);
	free(u);
}

struct source *source_unify_units(struct source *in)
{
	static const struct source_ops ops = {
		.catalog = get_catalog,
		.range = get_range,
		.merge = merge,
		.steps = steps,
		.rows = rows,
		.columns = columns,
		.whole_rows = whole_rows,
		.points = points,
		.left_out = left_out,
		.close = close_units,
	};
	int64_t *factors;
	struct profile *catalog = catalog_unify_units(in->ops->catalog(in), &factors);
	if (!catalog)
		return in;
	struct source_units *u = xcalloc(1, sizeof *u);
	u->base = *in;
	u->base.ops = &ops;
	u->base.stop = NULL;
	u->in = in;
	u->catalog = catalog;
	u->factors = factors;
	u->n = catalog->series.series.n;
	in->stop = is_stopped;
	in->stop_ctx = &u->base;
	return &u->base;
}
