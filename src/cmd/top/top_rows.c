/* The data of cresset top: recorded on this machine, of a server, or of a file. */
#include "cmd/top/top.h"

#include "base/mem.h"
#include "profile/profile.h"
#include "profile/sum.h"
#include "profile/tree/time_range.h"
#include "query/source.h"

#include <stdlib.h>

struct top_rows {
	struct source base;
	struct profile *p;
	struct source *sorted; /* NULL: not needed yet */
	int64_t shift_ns;      /* a sample's time + shift_ns is Unix time */
};

static struct top_rows *of(struct source *base)
{
	return (struct top_rows *)base;
}

static struct source *sorted(struct source *base)
{
	struct top_rows *t = of(base);
	if (!t->sorted)
		t->sorted = source_of_profile(t->p);
	t->sorted->stop = base->stop;
	t->sorted->stop_ctx = base->stop_ctx;
	return t->sorted;
}

static const struct profile *rows_catalog(struct source *base)
{
	return of(base)->p;
}

static int rows_rows(struct source *base, const bool *wanted, int64_t from_ns, int64_t to_ns,
		     source_row_fn row, void *ctx, struct err *err)
{
	const struct top_rows *t = of(base);
	const struct sample_columns *c = &t->p->samples;
	int64_t from = sum_sub(from_ns, t->shift_ns);
	int rc = 0;
	(void)err;
	for (size_t i = 0; rc == 0 && i < c->n; i++) {
		int64_t length_ns = sample_length_ns(c, i);
		if (!wanted[c->series[i]] || sum_add(c->time_ns[i], length_ns) < from)
			continue;
		struct sample_part part = { sum_add(c->time_ns[i], t->shift_ns),
					    length_ns > 0 ? length_ns : 0, c->value[i] };
		if (sample_part_cut(&part, from_ns, to_ns)) {
			struct source_row out = source_profile_row(t->p, i, &part);
			rc = row(ctx, &out);
		}
	}
	return rc;
}

static void rows_range(struct source *base, int64_t *from_ns, int64_t *to_ns)
{
	struct source *s = sorted(base);
	s->ops->range(s, from_ns, to_ns);
}

static int rows_merge(struct source *base, const bool *wanted, int64_t from_ns, int64_t to_ns,
		      struct source_merged *out, struct err *err)
{
	struct source *s = sorted(base);
	return s->ops->merge(s, wanted, from_ns, to_ns, out, err);
}

static int rows_steps(struct source *base, const uint32_t *group, int64_t from_ns, int64_t step_ns,
		      size_t steps, int64_t *sums, struct err *err)
{
	struct source *s = sorted(base);
	return s->ops->steps(s, group, from_ns, step_ns, steps, sums, err);
}

static int rows_whole(struct source *base, const bool *wanted, int64_t from_ns, int64_t to_ns,
		      source_row_fn row, void *ctx, struct err *err)
{
	struct source *s = sorted(base);
	return s->ops->whole_rows(s, wanted, from_ns, to_ns, row, ctx, err);
}

static void rows_close(struct source *base)
{
	source_close(of(base)->sorted);
	free(of(base));
}

static const struct source_ops rows_ops = {
	.catalog = rows_catalog,
	.range = rows_range,
	.merge = rows_merge,
	.steps = rows_steps,
	.rows = rows_rows,
	.whole_rows = rows_whole,
	.close = rows_close,
};

struct source *top_rows_open(struct profile *p)
{
	struct top_rows *t = xcalloc(1, sizeof *t);
	t->base.ops = &rows_ops;
	t->base.is_block = !p->samples.n;
	t->base.since_start = !p->meta.start_wall_ns;
	t->p = p;
	t->shift_ns = sum_sub(p->meta.start_wall_ns, p->meta.start_mono_ns);
	return &t->base;
}
