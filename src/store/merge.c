/* Values by stack: summaries of the blocks that lie in the range, detail of those that it cuts, rows of the heads. */
#include "store/view_state.h"

#include "base/mem.h"
#include "base/radix.h"
#include "profile/sum.h"
#include "store/stack_sums.h"

#include <stdlib.h>

struct merge {
	struct store_view *v;
	const bool *wanted;
	int64_t from_ns, to_ns;
	struct part *part;
	bool has_detail, rounded;
	struct stack_sums sums;
	struct block_sums block;     /* kept from block to block */
	struct stack_list_sums edge; /* likewise; of what a range cuts off */
	size_t edge_cap;
};

static void merge_done(struct merge *m)
{
	stack_sums_done(&m->sums);
	block_sums_done(&m->block);
	stack_list_sums_done(&m->edge);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void reserve_edge(struct merge *m, size_t n)
{
	struct stack_list_sums *e = &m->edge;

	if (n <= m->edge_cap)
		return;
	m->edge_cap = n + n / 2;
	e->stack = xreallocarray(e->stack, m->edge_cap, sizeof *e->stack);
	e->value = xreallocarray(e->value, m->edge_cap, sizeof *e->value);
	e->count = xreallocarray(e->count, m->edge_cap, sizeof *e->count);
	e->squares = xreallocarray(e->squares, m->edge_cap, sizeof *e->squares);
}

/* A block has number and squares for the whole of it only: a piece gets the share that its value has. */
static void weigh_edge(struct stack_list_sums *e, const struct block_sums *b, uint32_t i,
		       int64_t value)
{
	double share = b->total[i] ? (double)value / (double)b->total[i] : 0;

	e->count[e->n] = b->count[i] * share;
	e->squares[e->n] = b->squares[i] * share;
}

/* values: by entry of the summary; entries without are left out. */
static void add_edge(struct merge *m, const int64_t *values)
{
	const struct block_sums *b = &m->block;
	struct stack_list_sums *e = &m->edge, list;

	e->n = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		if (!values[i])
			continue;
		e->stack[e->n] = b->stack[i];
		e->value[e->n] = values[i];
		if (b->count)
			weigh_edge(e, b, i, values[i]);
		e->n++;
	}
	list = *e;
	if (!b->count)
		list.count = list.squares = NULL;
	stack_sums_add(&m->sums, &list);
}

static int merge_cut_block(struct merge *m, const struct part_ref *ref, struct window_range w,
			   struct err *err)
{
	int rc = part_read_summary(m->part, ref, &m->block, err);

	if (rc || m->block.n == 0)
		return rc;
	reserve_edge(m, m->block.n);
	int64_t *values = xcalloc(m->block.n, sizeof *values);
	rc = part_read_window_range(m->part, ref, &m->block, w.from, w.to, values, err);
	if (rc == 0)
		add_edge(m, values);
	free(values);
	return rc;
}

static void add_counts(struct merge *m)
{
	const struct block_sums *b = &m->block;
	struct stack_list_sums *e = &m->edge;

	reserve_edge(m, b->n);
	for (uint32_t i = 0; i < b->n; i++)
		e->count[i] = b->count[i];
}

static int merge_whole_block(struct merge *m, const struct part_ref *ref, struct err *err)
{
	struct block_sums *b = &m->block;
	int rc = part_read_summary(m->part, ref, b, err);

	if (rc || b->n == 0)
		return rc;
	struct stack_list_sums list = { .n = b->n, .stack = b->stack, .value = b->total };
	if (b->count) {
		add_counts(m);
		list.count = m->edge.count;
		list.squares = b->squares;
	}
	stack_sums_add(&m->sums, &list);
	return 0;
}

static int merge_block(struct merge *m, const struct part_ref *ref, struct err *err)
{
	struct window_range w = window_range_of(ref->from_ns, ref->windows, m->from_ns, m->to_ns);

	if (w.from == w.to || ref->series >= view_series(m->v))
		return 0;
	if (w.from == 0 && w.to == ref->windows)
		return merge_whole_block(m, ref, err);
	if (m->has_detail)
		return merge_cut_block(m, ref, w, err);
	m->rounded = true;
	uint32_t middle = ref->windows / 2;
	return middle >= w.from && middle < w.to ? merge_whole_block(m, ref, err) : 0;
}

static int merge_blocks(struct merge *m, struct err *err)
{
	struct part_ref *refs = NULL;
	size_t n = 0;
	int rc = part_find(m->part, m->wanted, view_series(m->v), m->from_ns, m->to_ns, &refs, &n,
			   err);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = view_go_on(m->v, err);
		if (rc == 0)
			rc = merge_block(m, &refs[i], err);
	}
	free(refs);
	return rc;
}

/* --- heads ------------------------------------------------------------------------------------ */

/* The rows of a head that are in the range, by stack. Returns how many there are. */
static size_t pick_rows(const struct view_head *h, struct window_range w, struct radix_key *room)
{
	size_t n = 0;

	for (size_t i = 0; i < h->rows; i++) {
		const struct head_row *r = &h->head->rows.v[i];

		if (r->window >= w.from && r->window < w.to)
			room[n++] = (struct radix_key){ r->stack, i };
	}
	return n;
}

static void add_row(struct stack_list_sums *e, const struct head *h, uint32_t row)
{
	const struct head_row *r = &h->rows.v[row];

	if (e->n == 0 || e->stack[e->n - 1] != r->stack) {
		e->stack[e->n] = r->stack;
		e->value[e->n] = 0;
		e->count[e->n] = e->squares[e->n] = 0;
		e->n++;
	}
	size_t last = e->n - 1;
	e->value[last] = sum_add(e->value[last], r->value);
	if (h->weighted) {
		e->count[last] += h->weights.v[row].n;
		e->squares[last] += h->weights.v[row].squares;
	}
}

static void merge_head(void *ctx, const struct view_head *h)
{
	struct merge *m = ctx;
	struct window_range w =
		window_range_of(h->head->from_ns, HEAD_WINDOWS, m->from_ns, m->to_ns);
	uint32_t series = h->head->series;

	if (w.from == w.to || series >= view_series(m->v) || (m->wanted && !m->wanted[series]))
		return;
	struct radix_key *room = xreallocarray(NULL, h->rows, 2 * sizeof *room);
	size_t n = pick_rows(h, w, room);
	const struct radix_key *keys = radix_sort(room, n);
	reserve_edge(m, n);
	m->edge.n = 0;
	for (size_t i = 0; i < n; i++)
		add_row(&m->edge, h->head, keys[i].row);
	struct stack_list_sums list = m->edge;
	if (!h->head->weighted)
		list.count = list.squares = NULL;
	stack_sums_add(&m->sums, &list);
	free(room);
}

/* --- parts ------------------------------------------------------------------------------------ */

/* out->dict stays NULL: the part is left out. */
static int merge_part(struct merge *m, struct view_part *vp, struct store_sums *out,
		      struct err *err)
{
	struct part_reader *reader;
	struct part_info info;
	struct stack_list_sums list;
	int rc = view_dict(m->v, vp, &reader, err);

	if (rc)
		return view_leaves_out(m->v, vp, rc, err) ? 0 : rc;
	struct profile *dict = part_dict(reader->part);
	m->part = reader->part;
	part_get_info(m->part, &info);
	m->has_detail = info.has_detail;
	stack_sums_init(&m->sums, dict->stacks.stacks.n);
	rc = merge_blocks(m, err);
	if (rc == 0)
		view_heads(m->v, vp, m->from_ns, m->to_ns, merge_head, m);
	stack_sums_take(&m->sums, &list);
	if (rc == 0 && list.n)
		rc = view_name_stacks(m->v, reader, list.stack, list.n, err);
	*out = (struct store_sums){ .dict = dict,
				    .n = list.n,
				    .stack = list.stack,
				    .value = list.value,
				    .count = list.count,
				    .squares = list.squares };
	return rc;
}

static int merge_parts(struct merge *m, struct store_merged *out, struct err *err)
{
	struct store_view *v = m->v;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < v->parts.n; i++) {
		struct store_sums sums = { 0 };

		if (!view_part_touches(&v->parts.v[i], m->from_ns, m->to_ns))
			continue;
		rc = merge_part(m, &v->parts.v[i], &sums, err);
		if (sums.dict)
			out->parts[out->n++] = sums;
	}
	return rc;
}

int store_merge(struct store_view *v, const bool *wanted, int64_t from_ns, int64_t to_ns,
		struct store_merged *out, struct err *err)
{
	struct merge m = { .v = v, .wanted = wanted, .from_ns = from_ns, .to_ns = to_ns };
	struct store_merged merged = { .parts = xcalloc(v->parts.n + 1, sizeof *merged.parts) };
	int rc = view_names(v, err);

	if (rc == 0)
		rc = merge_parts(&m, &merged, err);
	merged.rounded = m.rounded;
	merge_done(&m);
	if (rc)
		store_merged_done(&merged);
	else
		*out = merged;
	return rc;
}

static void sums_done(struct store_sums *sums)
{
	free(sums->stack);
	free(sums->value);
	free(sums->count);
	free(sums->squares);
}

int store_merge_each(struct store_view *v, const bool *wanted, int64_t from_ns, int64_t to_ns,
		     int (*part)(void *ctx, const struct store_sums *sums), void *ctx,
		     bool *rounded, struct err *err)
{
	struct merge m = { .v = v, .wanted = wanted, .from_ns = from_ns, .to_ns = to_ns };
	int rc = view_names(v, err);

	for (size_t i = 0; rc == 0 && i < v->parts.n; i++) {
		struct store_sums sums = { 0 };

		if (!view_part_touches(&v->parts.v[i], from_ns, to_ns))
			continue;
		rc = merge_part(&m, &v->parts.v[i], &sums, err);
		if (rc == 0 && sums.dict)
			rc = part(ctx, &sums);
		sums_done(&sums);
		view_done_with(v, &v->parts.v[i]);
	}
	*rounded = m.rounded;
	merge_done(&m);
	return rc;
}

void store_merged_done(struct store_merged *m)
{
	for (size_t i = 0; i < m->n; i++)
		sums_done(&m->parts[i]);
	free(m->parts);
	*m = (struct store_merged){ 0 };
}
