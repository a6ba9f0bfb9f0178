#include "query/row_sums.h"

#include "profile/sum.h"
#include "query/within.h"

#include <math.h>
#include <stdlib.h>

/* --- rows --- */

static uint32_t find_dict(struct row_sums *r, struct profile *dict)
{
	if (r->last_dict < r->dicts.n && r->dicts.v[r->last_dict] == dict)
		return r->last_dict;
	uint32_t i = 0;
	while (i < r->dicts.n && r->dicts.v[i] != dict)
		i++;
	if (i == r->dicts.n)
		vec_push(&r->dicts, dict);
	return r->last_dict = i;
}

struct sum_key {
	const struct row_sums *r;
	struct row_sum want;
};

static bool sum_same(const void *ctx, uint32_t id)
{
	const struct sum_key *k = ctx;
	const struct row_sum *a = &k->r->all.v[id], *b = &k->want;
	return a->dict == b->dict && a->group == b->group && a->stack == b->stack;
}

static struct row_sum *find_sum(struct row_sums *r, const struct row_sum *want)
{
	struct sum_key key = { r, *want };
	uint64_t hash = hash_mix((uint64_t)want->dict << 32 | want->group, want->stack);
	uint32_t fresh = r->all.n;
	uint32_t id = map_intern(&r->index, hash, fresh, sum_same, &key);
	if (id == fresh)
		vec_push(&r->all, *want);
	return &r->all.v[id];
}

/* A row without ids is a window's, of nobody knows how many samples. */
static struct tree_spread row_spread(const struct row_sums *r, const struct source_row *row)
{
	struct sample_weight w = r->weights[row->series];
	double value = fabs((double)row->value);
	if (w.each == 0 && row->pid == SAMPLE_NO_ID && row->tid == SAMPLE_NO_ID)
		w.each = NAN;
	double weight = row_weight(row->dict, w, row->stack, value);
	return (struct tree_spread){ value / weight, value * weight };
}

static void add_row(struct row_sums *r, const struct source_row *row, uint32_t group)
{
	struct row_sum want = { .dict = find_dict(r, row->dict),
				.group = group,
				.stack = row->stack };
	struct row_sum *sum = find_sum(r, &want);
	int64_t factor = groups_factor(r->groups, row->series);
	struct tree_spread spread = row_spread(r, row);
	sum->value = sum_add(sum->value, sum_mul(row->value, factor));
	sum->rows++;
	sum->count += spread.n;
	sum->squares += spread.squares * factor * factor;
}

static int check_memory(struct row_sums *r, size_t more)
{
	enum { CHECK_EVERY = 1 << 16 };
	size_t before = r->rows;
	r->rows += more;
	if (before / CHECK_EVERY == r->rows / CHECK_EVERY)
		return 0;
	uint64_t bytes = vec_size_bytes(&r->all) + map_size_bytes(&r->index);
	return guard_memory(r->guard, bytes, r->err);
}

static int take_row(void *ctx, const struct source_row *row)
{
	struct row_sums *r = ctx;
	if (r->snapshots && !snapshots_has(r->snapshots, row))
		return 0;
	uint32_t group = groups_of_row(r->groups, row);
	if (group == GROUP_NONE)
		return groups_check(r->groups, r->err);
	add_row(r, row, group);
	return check_memory(r, 1);
}

/* All are of one group: windows have no ids. */
static int take_columns(void *ctx, const struct source_columns *c)
{
	struct row_sums *r = ctx;
	struct source_row row = source_columns_row(c, 0);
	uint32_t group = groups_of_row(r->groups, &row);
	if (group == GROUP_NONE)
		return groups_check(r->groups, r->err);
	for (size_t i = 0; i < c->n; i++) {
		row = source_columns_row(c, i);
		if (!r->snapshots || snapshots_has(r->snapshots, &row))
			add_row(r, &row, group);
	}
	return check_memory(r, c->n);
}

static int sum_cmp(const void *a, const void *b)
{
	const struct row_sum *x = a, *y = b;
	if (x->dict != y->dict)
		return x->dict < y->dict ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static int read_part(struct row_sums *r, struct query_piece part)
{
	return groups_read(r->groups, part.from_ns, part.to_ns, take_row, take_columns, r, r->err);
}

static int read_rows(struct row_sums *r, struct snapshots *snapshots)
{
	const struct query *q = r->groups->q;
	int rc = 0;
	if (query_is_snapshot(q)) {
		snapshots_init(snapshots, q);
		r->snapshots = snapshots;
		rc = snapshots_find(snapshots, r->err);
		return rc ? rc
			  : read_part(r, (struct query_piece){ snapshots_from_ns(q), q->to_ns });
	}
	for (uint32_t i = 0; rc == 0 && i < query_pieces(q); i++)
		rc = read_part(r, query_piece_at(q, i));
	return rc;
}

int row_sums_read(struct row_sums *r, struct groups *g, const struct guard *guard, struct err *err)
{
	struct snapshots snapshots = { 0 };
	size_t n = g->catalog->series.series.n;
	*r = (struct row_sums){ .groups = g, .guard = guard, .err = err };
	r->weights = xreallocarray(NULL, n, sizeof *r->weights);
	for (uint32_t i = 0; i < n; i++)
		r->weights[i] = series_weight(g->catalog, i, true);
	int rc = read_rows(r, &snapshots);
	if (r->snapshots)
		snapshots_done(&snapshots);
	if (r->all.n)
		qsort(r->all.v, r->all.n, sizeof *r->all.v, sum_cmp);
	return rc;
}

void row_sums_done(struct row_sums *r)
{
	vec_done(&r->dicts);
	vec_done(&r->all);
	map_done(&r->index);
	free(r->weights);
}

/* --- the sums --- */

static void push_sum(struct row_sums_at *at, const struct row_sum *sum)
{
	vec_push(&at->stack, sum->stack);
	vec_push(&at->value, sum->value);
	vec_push(&at->count, sum->count);
	vec_push(&at->squares, sum->squares);
	vec_push(&at->rows, sum->rows);
}

bool row_sums_next(struct row_sums *r, struct row_sums_at *at)
{
	if (at->next == r->all.n)
		return false;
	struct row_sum first = r->all.v[at->next];
	vec_clear(&at->stack);
	vec_clear(&at->value);
	vec_clear(&at->count);
	vec_clear(&at->squares);
	vec_clear(&at->rows);
	for (; at->next < r->all.n; at->next++) {
		const struct row_sum *sum = &r->all.v[at->next];
		if (sum->dict != first.dict || sum->group != first.group)
			break;
		push_sum(at, sum);
	}
	at->dict = r->dicts.v[first.dict];
	at->group = first.group;
	at->sums = (struct stack_values){ .n = at->stack.n,
					  .stack = at->stack.v,
					  .value = at->value.v,
					  .count = at->count.v,
					  .squares = at->squares.v,
					  .rows = at->rows.v,
					  .factor = 1 };
	return true;
}

void row_sums_at_done(struct row_sums_at *at)
{
	vec_done(&at->stack);
	vec_done(&at->value);
	vec_done(&at->count);
	vec_done(&at->squares);
	vec_done(&at->rows);
}
