/* The common path of all queries: series, rows, results. */
#include "query/plan.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/change/diff.h"
#include "profile/sink.h"
#include "profile/sum.h"
#include "profile/tree/tree_sums.h"
#include "profile/weight.h"
#include "query/groups.h"
#include "query/query.h"
#include "query/selector.h"
#include "query/snapshots.h"
#include "query/source.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- rows of a source, summed by group and stack ---
 *
 * Used if a row's group does not follow from its series, or if only the last snapshot counts. */

struct row_sum {
	uint32_t dict, group, stack;
	int64_t value; /* in the response's unit */
	double count, squares;
	uint32_t rows;
};
struct row_sums {
	struct groups *groups;
	const struct guard *guard;
	struct snapshots *snapshots; /* NULL: everything counts */
	VEC(struct profile *) dicts;
	VEC(struct row_sum) all;
	struct map index;
	struct sample_weight *weights; /* by series */
	uint32_t last_dict;
	uint64_t rows;
	struct err *err;
};

struct row_sums_at {
	size_t next;
	struct profile *dict;
	uint32_t group;
	struct stack_values sums;
	VEC(uint32_t) stack;
	VEC(int64_t) value;
	VEC(double) count, squares;
	VEC(uint32_t) rows;
};

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

/* A row without ids is a window, with an unknown number of samples. */
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

/* All rows are in one group, as windows have no ids. */
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

/* Reads everything that the query selects. r must be done in any case. */
static int row_sums_read(struct row_sums *r, struct groups *g, const struct guard *guard,
			 struct err *err)
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

static void row_sums_done(struct row_sums *r)
{
	vec_done(&r->dicts);
	vec_done(&r->all);
	map_done(&r->index);
	free(r->weights);
}

/* Returns the sums of the next dictionary and group, by dictionary, then group; stacks ascending.
 * Returns false at the end. The iterator owns the arrays. */
static bool row_sums_next(struct row_sums *r, struct row_sums_at *at)
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
		vec_push(&at->stack, sum->stack);
		vec_push(&at->value, sum->value);
		vec_push(&at->count, sum->count);
		vec_push(&at->squares, sum->squares);
		vec_push(&at->rows, sum->rows);
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

static void row_sums_at_done(struct row_sums_at *at)
{
	vec_done(&at->stack);
	vec_done(&at->value);
	vec_done(&at->count);
	vec_done(&at->squares);
	vec_done(&at->rows);
}

/* --- types --- */

/* Types with stacks come before metrics. */
static bool is_better(const struct profile *catalog, uint32_t type, uint32_t than)
{
	const struct type *t = catalog->series.types.v;
	return !type_is_metric(&t[type]) && type_is_metric(&t[than]);
}

uint32_t query_pick_type(const struct profile *catalog, const struct selector *s, uint32_t *others)
{
	uint32_t picked = profile_pick_type(catalog, NULL), n = 0;
	if (picked != UINT32_MAX && s && !selector_takes_type(s, catalog, picked))
		picked = UINT32_MAX;
	if (picked != UINT32_MAX && type_is_metric(&catalog->series.types.v[picked]))
		picked = UINT32_MAX;
	for (uint32_t i = 0; i < catalog->series.types.n; i++) {
		if (s && !selector_takes_type(s, catalog, i))
			continue;
		if (picked == UINT32_MAX || is_better(catalog, i, picked))
			picked = i;
	}
	for (uint32_t i = 0; picked != UINT32_MAX && i < catalog->series.types.n; i++)
		n += i != picked && (!s || selector_takes_type(s, catalog, i)) &&
		     !is_better(catalog, picked, i);
	*others = n;
	return picked;
}

double query_seconds(const struct query *q)
{
	int64_t from_ns, to_ns;
	q->source->ops->range(q->source, &from_ns, &to_ns);
	double seconds = 0;
	for (uint32_t i = 0; i < query_pieces(q); i++) {
		struct query_piece part = query_piece_at(q, i);
		part.from_ns = from_ns > part.from_ns ? from_ns : part.from_ns;
		part.to_ns = to_ns < part.to_ns ? to_ns : part.to_ns;
		if (part.to_ns > part.from_ns)
			seconds += ((double)part.to_ns - part.from_ns) / 1e9;
	}
	return seconds;
}

/* --- trees --- */

/* State of building the tree of a query. */
struct planting {
	const struct query *q;
	struct guard guard;
	struct groups groups;
	struct tree_sums sums;
	bool *has_any; /* by group */
	bool rounded;
	uint64_t held_bytes; /* memory of the source's answer */
	struct err *err;
};

/* "comm" and "process" as tree_opts.by writes them: without blanks. */
static void root_text(struct buf *b, const char *key, const char *value)
{
	bool is_name = strcmp(key, "comm") == 0 || strcmp(key, "process") == 0;
	buf_clear(b);
	if (!*value)
		value = "?";
	if (strcmp(key, "cpu") == 0)
		buf_adds(b, "cpu");
	for (const char *s = value; *s; s++)
		buf_addc(b, is_name && *s == ' ' ? '_' : *s);
}

static uint32_t group_root(struct planting *t, uint32_t group)
{
	const char *names[QUERY_BY_MAX];
	char *own[QUERY_BY_MAX];
	struct buf b = { 0 };
	for (uint32_t i = 0; i < t->q->n_by; i++) {
		root_text(&b, t->q->by[i], groups_text(&t->groups, group, i));
		names[i] = own[i] = xstrdup(buf_cstr(&b));
	}
	uint32_t root = tree_sums_root(&t->sums, names, t->q->n_by);
	for (uint32_t i = 0; i < t->q->n_by; i++)
		free(own[i]);
	buf_done(&b);
	return root;
}

static uint64_t tree_bytes(const struct tree *t)
{
	return vec_size_bytes(&t->nodes) + vec_size_bytes(&t->funcs) + vec_size_bytes(&t->spreads) +
	       t->strings.arena.total + map_size_bytes(&t->child_index);
}

static int plant(struct planting *t, struct profile *dict, uint32_t root,
		 const struct stack_values *sums)
{
	int rc = guard_check(&t->guard, t->err);
	if (rc == 0)
		tree_sums_add(&t->sums, dict, root, sums);
	return rc ? rc
		  : guard_memory(&t->guard,
				 t->held_bytes + tree_bytes(t->sums.t) + tree_sums_bytes(&t->sums),
				 t->err);
}

static uint64_t sums_bytes(const struct source_sums *s)
{
	uint64_t bytes = s->n * (sizeof *s->stack + sizeof *s->value);
	if (s->rows)
		bytes += s->n * sizeof *s->rows;
	if (s->count)
		bytes += s->n * (sizeof *s->count + sizeof *s->squares);
	return bytes;
}

/* A group, and the factor of its sums. */
struct group_sums {
	struct planting *t;
	uint32_t group;
	int64_t factor;
};

static int plant_part(const struct group_sums *g, const struct source_sums *part)
{
	struct stack_values sums = { .n = part->n,
				     .stack = part->stack,
				     .value = part->value,
				     .count = part->count,
				     .squares = part->squares,
				     .rows = part->rows,
				     .factor = g->factor };
	if (!part->n)
		return 0;
	g->t->has_any[g->group] = true;
	return plant(g->t, part->dict, group_root(g->t, g->group), &sums);
}

static int plant_each(void *ctx, const struct source_sums *part)
{
	const struct group_sums *g = ctx;
	g->t->held_bytes = sums_bytes(part);
	return plant_part(g, part);
}

static int merge_all(const struct group_sums *g, const bool *wanted, struct query_piece part)
{
	struct planting *t = g->t;
	struct source *s = t->q->source;
	struct source_merged m = { 0 };
	int rc = s->ops->merge(s, wanted, part.from_ns, part.to_ns, &m, t->err);
	if (rc == 0) {
		t->rounded |= m.rounded;
		t->held_bytes = 0;
		for (size_t i = 0; i < m.n; i++)
			t->held_bytes += sums_bytes(&m.parts[i]);
		for (size_t i = 0; rc == 0 && i < m.n; i++)
			rc = plant_part(g, &m.parts[i]);
	}
	source_merged_done(&m);
	return rc;
}

/* If small nodes are left out, dictionaries are needed again at the end
 * (profile/tree/tree_sums.h). */
static int merge_part(struct group_sums *g, const bool *wanted, struct query_piece part)
{
	struct planting *t = g->t;
	const struct query *q = t->q;
	bool rounded = false;
	if (part.to_ns == part.from_ns && q->within)
		return 0;
	if (!q->source->ops->merge_each || q->tree.min_share > 0)
		return merge_all(g, wanted, part);
	int rc = q->source->ops->merge_each(q->source, wanted, part.from_ns, part.to_ns, plant_each,
					    g, &rounded, t->err);
	t->rounded |= rounded;
	return rc;
}

static int merge_wanted(struct planting *t, uint32_t group, int64_t factor, const bool *wanted)
{
	struct group_sums g = { t, group, factor };
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < query_pieces(t->q); i++)
		rc = merge_part(&g, wanted, query_piece_at(t->q, i));
	return rc;
}

/* Selects the next series of a group with the same factor: all, or those of one period. done:
 * series selected before. */
static bool next_series(const struct groups *g, uint32_t group, bool *done, bool *wanted,
			int64_t *factor)
{
	size_t n = g->catalog->series.series.n;
	bool any = false;
	memset(wanted, false, n * sizeof *wanted);
	for (uint32_t i = 0; i < n; i++) {
		if (done[i] || g->of_series[i] != group)
			continue;
		if (!any)
			*factor = groups_factor(g, i);
		any = true;
		if (groups_factor(g, i) == *factor)
			done[i] = wanted[i] = true;
	}
	return any;
}

static int plant_groups(struct planting *t)
{
	size_t n = t->groups.catalog->series.series.n;
	bool *done = xcalloc(n, sizeof *done), *wanted = xcalloc(n, sizeof *wanted);
	int64_t factor = 1;
	int rc = 0;
	for (uint32_t group = 0; rc == 0 && group < t->groups.n; group++)
		while (rc == 0 && next_series(&t->groups, group, done, wanted, &factor))
			rc = merge_wanted(t, group, factor, wanted);
	free(done);
	free(wanted);
	return rc;
}

static int plant_rows(struct planting *t)
{
	struct row_sums rows;
	struct row_sums_at at = { 0 };
	int rc = row_sums_read(&rows, &t->groups, &t->guard, t->err);
	t->has_any = xreallocarray(t->has_any, t->groups.n, sizeof *t->has_any);
	memset(t->has_any, false, t->groups.n * sizeof *t->has_any);
	t->held_bytes = vec_size_bytes(&rows.all) + map_size_bytes(&rows.index);
	t->rounded = t->q->source->is_block && rows.all.n;
	while (rc == 0 && row_sums_next(&rows, &at)) {
		t->has_any[at.group] = true;
		rc = plant(t, at.dict, group_root(t, at.group), &at.sums);
	}
	row_sums_at_done(&at);
	row_sums_done(&rows);
	return rc;
}

static int answer_tree(struct planting *t, struct query_tree *out)
{
	int rc = groups_init(&t->groups, t->q, t->err);
	if (rc == 0)
		rc = tree_sums_begin(&t->sums, &t->q->tree, t->err);
	if (rc < 0)
		return rc;
	const struct profile *catalog = t->groups.catalog;
	tree_sums_unit(&t->sums, profile_type_name(catalog, t->q->type), &t->groups.scale);
	t->has_any = xcalloc(t->groups.n, sizeof *t->has_any);
	rc = t->groups.by_rows || query_is_snapshot(t->q) ? plant_rows(t) : plant_groups(t);
	struct tree *tree = tree_sums_end(&t->sums);
	if (rc < 0) {
		tree_free(tree);
		return rc;
	}
	*out = (struct query_tree){ .tree = tree,
				    .series = t->groups.n_series,
				    .rounded = t->rounded,
				    .ids_missing = t->groups.ids_missing };
	for (uint32_t i = 0; i < t->groups.n; i++)
		out->groups += t->has_any[i];
	return 0;
}

int query_tree(const struct query *q, struct query_tree *out, struct err *err)
{
	struct planting t = { .q = q, .err = err };
	guard_begin(&t.guard, &q->limits, q->source);
	int rc = answer_tree(&t, out);
	guard_end(&t.guard, q->source);
	groups_done(&t.groups);
	free(t.has_any);
	return rc;
}

/* --- differences --- */

static int side_tree(const struct query *q, struct query_tree *out, struct err *err)
{
	struct query side = *q;
	side.tree.with_spread = true;
	side.tree.merges_builds = false; /* both sides are examined together */
	return query_tree(&side, out, err);
}

int query_diff(const struct query *newer, const struct query *older, const struct diff_opts *opts,
	       struct query_sides *out, struct err *err)
{
	struct query_sides s = { 0 };
	int rc = side_tree(newer, &s.newer, err);
	if (rc == 0)
		rc = side_tree(older, &s.older, err);
	if (rc == 0)
		rc = diff_build((struct diff_side){ s.newer.tree, query_seconds(newer) },
				(struct diff_side){ s.older.tree, query_seconds(older) }, opts,
				&s.diff, err);
	if (rc == 0)
		*out = s;
	else
		query_sides_done(&s);
	return rc;
}

int query_overlay(const struct query *newer, const struct query *older, struct tree **out,
		  struct err *err)
{
	struct query_tree n = { 0 }, o = { 0 };
	int rc = side_tree(newer, &n, err);
	if (rc == 0)
		rc = side_tree(older, &o, err);
	if (rc == 0)
		rc = diff_check_units(n.tree, o.tree, err);
	if (rc == 0)
		tree_diff(n.tree, o.tree, newer->tree.is_strict);
	tree_free(o.tree);
	if (rc < 0)
		tree_free(n.tree);
	else
		*out = n.tree;
	return rc;
}

void query_sides_done(struct query_sides *s)
{
	diff_free(s->diff);
	tree_free(s->newer.tree);
	tree_free(s->older.tree);
	*s = (struct query_sides){ 0 };
}
