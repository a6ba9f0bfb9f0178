/* Sums values by stack: from summaries of blocks inside the range, detail of blocks across its
 * ends, and rows of heads. */
#include "store/day/view_state.h"

#include "base/mem.h"
#include "base/radix.h"
#include "profile/profile.h"
#include "profile/sum.h"

#include <stdlib.h>
#include <string.h>

/* --- sums by stack ---------------------------------------------------------------------------- */

/* Sums by stack, accumulated from blocks and heads.
 *
 * While little was added this is one ascending list, merged with each ascending list added, and no
 * larger than needed. Once merging has taken half as many steps as there are stacks, it becomes an
 * array with an entry for each stack, where adding is one load and one store, and the end is one
 * pass. (For 1.16 M stacks that pass alone takes 3 ms; disjoint lists of 720 are faster up to some
 * 40 of them, 0.1 ms for 8.) */

/* Parallel arrays. count and squares: NULL if each unit of a value is a sample, so that both equal
 * the value. */
struct stack_list_sums {
	size_t n;
	uint32_t *stack; /* ascending, no duplicates */
	int64_t *value;
	double *count, *squares;
};

/* The sums of a stack where sample weights vary: adjacent, so that adding touches one place. */
struct stack_weighed {
	int64_t value;
	double count, squares;
};
struct stack_sums {
	uint32_t stacks; /* ids are below */
	uint64_t steps;  /* of merging so far */
	struct stack_list_sums list;
	/* By stack; both NULL: still a list. At most one is used: value while every sample has
	 * weight 1. */
	int64_t *value;
	struct stack_weighed *weighed;
};

static void stack_list_sums_done(struct stack_list_sums *l)
{
	free(l->stack);
	free(l->value);
	free(l->count);
	free(l->squares);
	*l = (struct stack_list_sums){ 0 };
}

static void stack_sums_init(struct stack_sums *s, uint32_t stacks)
{
	*s = (struct stack_sums){ .stacks = stacks };
}

static void stack_sums_done(struct stack_sums *s)
{
	stack_list_sums_done(&s->list);
	free(s->value);
	free(s->weighed);
}

static struct stack_list_sums new_list(size_t room, bool weighted)
{
	struct stack_list_sums l = { 0 };

	room = room ? room : 1;
	l.stack = xreallocarray(NULL, room, sizeof *l.stack);
	l.value = xreallocarray(NULL, room, sizeof *l.value);
	if (weighted) {
		l.count = xreallocarray(NULL, room, sizeof *l.count);
		l.squares = xreallocarray(NULL, room, sizeof *l.squares);
	}
	return l;
}

/* --- one ascending list ----------------------------------------------------------------------- */

static void put(struct stack_list_sums *to, const struct stack_list_sums *from, size_t i)
{
	to->stack[to->n] = from->stack[i];
	to->value[to->n] = from->value[i];
	if (to->count) {
		to->count[to->n] = from->count ? from->count[i] : (double)from->value[i];
		to->squares[to->n] = from->count ? from->squares[i] : (double)from->value[i];
	}
	to->n++;
}

static void put_both(struct stack_list_sums *to, const struct stack_list_sums *a, size_t i,
		     const struct stack_list_sums *b, size_t k)
{
	int64_t value = sum_add(a->value[i], b->value[k]);

	to->stack[to->n] = a->stack[i];
	to->value[to->n] = value;
	if (to->count) {
		to->count[to->n] = (a->count ? a->count[i] : (double)a->value[i]) +
				   (b->count ? b->count[k] : (double)b->value[k]);
		to->squares[to->n] = (a->count ? a->squares[i] : (double)a->value[i]) +
				     (b->count ? b->squares[k] : (double)b->value[k]);
	}
	to->n++;
}

static void merge_lists(struct stack_sums *s, const struct stack_list_sums *b)
{
	struct stack_list_sums *a = &s->list;
	struct stack_list_sums to = new_list(a->n + b->n, a->count || b->count);
	size_t i = 0, k = 0;

	while (i < a->n && k < b->n)
		if (a->stack[i] < b->stack[k])
			put(&to, a, i++);
		else if (a->stack[i] > b->stack[k])
			put(&to, b, k++);
		else
			put_both(&to, a, i++, b, k++);
	while (i < a->n)
		put(&to, a, i++);
	while (k < b->n)
		put(&to, b, k++);
	stack_list_sums_done(a);
	*a = to;
}

/* --- an entry for each stack ------------------------------------------------------------------ */

/* Accesses are random: entries are prefetched this far ahead. */
enum { ADD_AHEAD = 12 };

static void add_values(int64_t *to, const struct stack_list_sums *from)
{
	for (size_t i = 0; i < from->n; i++) {
		if (i + ADD_AHEAD < from->n)
			__builtin_prefetch(&to[from->stack[i + ADD_AHEAD]], 1);
		int64_t *value = &to[from->stack[i]];
		*value = sum_add(*value, from->value[i]);
	}
}

static void add_weighed(struct stack_weighed *to, const struct stack_list_sums *from)
{
	for (size_t i = 0; i < from->n; i++) {
		if (i + ADD_AHEAD < from->n)
			__builtin_prefetch(&to[from->stack[i + ADD_AHEAD]], 1);
		struct stack_weighed *at = &to[from->stack[i]];
		at->value = sum_add(at->value, from->value[i]);
		at->count += from->count ? from->count[i] : (double)from->value[i];
		at->squares += from->count ? from->squares[i] : (double)from->value[i];
	}
}

/* Converts values, in which every sample had weight 1. */
static void make_weighed(struct stack_sums *s)
{
	s->weighed = xcalloc(s->stacks, sizeof *s->weighed);
	for (uint32_t i = 0; s->value && i < s->stacks; i++) {
		double value = (double)s->value[i];
		s->weighed[i] = (struct stack_weighed){ s->value[i], value, value };
	}
	free(s->value);
	s->value = NULL;
}

static void add_entries(struct stack_sums *s, const struct stack_list_sums *list)
{
	if (!s->weighed && list->count)
		make_weighed(s);
	else if (!s->weighed && !s->value)
		s->value = xcalloc(s->stacks, sizeof *s->value);
	if (s->weighed)
		add_weighed(s->weighed, list);
	else
		add_values(s->value, list);
}

static bool is_dense(const struct stack_sums *s)
{
	return s->value || s->weighed;
}

/* Adds a list, which stays the caller's. */
static void stack_sums_add(struct stack_sums *s, const struct stack_list_sums *list)
{
	if (list->n == 0)
		return;
	s->steps += s->list.n + list->n;
	if (!is_dense(s) && s->steps <= s->stacks / 2) {
		merge_lists(s, list);
		return;
	}
	if (!is_dense(s) && s->list.n) {
		add_entries(s, &s->list);
		stack_list_sums_done(&s->list);
	}
	add_entries(s, list);
}

/* --- the end ---------------------------------------------------------------------------------- */

static struct stack_list_sums pick_values(const struct stack_sums *s)
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->stacks; i++)
		n += s->value[i] != 0;
	struct stack_list_sums to = new_list(n + 1, false);
	for (uint32_t i = 0; i < s->stacks; i++) {
		to.stack[to.n] = i;
		to.value[to.n] = s->value[i];
		to.n += s->value[i] != 0;
	}
	return to;
}

static struct stack_list_sums pick_weighed(const struct stack_sums *s)
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->stacks; i++)
		n += s->weighed[i].value != 0;
	struct stack_list_sums to = new_list(n + 1, true);
	for (uint32_t i = 0; i < s->stacks; i++) {
		to.stack[to.n] = i;
		to.value[to.n] = s->weighed[i].value;
		to.count[to.n] = s->weighed[i].count;
		to.squares[to.n] = s->weighed[i].squares;
		to.n += s->weighed[i].value != 0;
	}
	return to;
}

/* Drops zeros only at the end, as more could have been added. */
static struct stack_list_sums drop_zeros(struct stack_list_sums l)
{
	size_t n = 0;

	for (size_t i = 0; i < l.n; i++) {
		l.stack[n] = l.stack[i];
		l.value[n] = l.value[i];
		if (l.count) {
			l.count[n] = l.count[i];
			l.squares[n] = l.squares[i];
		}
		n += l.value[i] != 0;
	}
	l.n = n;
	return l;
}

/* Moves the result, without zeros, to *out; s is empty afterwards. */
static void stack_sums_take(struct stack_sums *s, struct stack_list_sums *out)
{
	if (is_dense(s)) {
		*out = s->weighed ? pick_weighed(s) : pick_values(s);
	} else {
		*out = drop_zeros(s->list);
		s->list = (struct stack_list_sums){ 0 };
	}
	stack_sums_done(s);
	stack_sums_init(s, s->stacks);
}

/* --- merging blocks and heads ----------------------------------------------------------------- */

struct merge {
	struct store_view *v;
	const bool *wanted;
	int64_t from_ns, to_ns;
	struct part *part;
	bool has_detail, rounded;
	struct stack_sums sums;
	struct block_sums block;     /* reused from block to block */
	struct stack_list_sums edge; /* part of a block inside the range */
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

/* Adds values, by entry of the summary; zeros are skipped. */
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
		if (b->count) {
			/* A block has count and squares only as a whole: a part of it gets its
			 * value's share of them. */
			double share = b->total[i] ? (double)values[i] / (double)b->total[i] : 0;
			e->count[e->n] = b->count[i] * share;
			e->squares[e->n] = b->squares[i] * share;
		}
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

static int merge_whole_block(struct merge *m, const struct part_ref *ref, struct err *err)
{
	struct block_sums *b = &m->block;
	int rc = part_read_summary(m->part, ref, b, err);

	if (rc || b->n == 0)
		return rc;
	struct stack_list_sums list = { .n = b->n, .stack = b->stack, .value = b->total };
	if (b->count) {
		reserve_edge(m, b->n);
		for (uint32_t i = 0; i < b->n; i++)
			m->edge.count[i] = b->count[i];
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
		rc = view_check_stop(m->v, err);
		if (rc == 0)
			rc = merge_block(m, &refs[i], err);
	}
	free(refs);
	return rc;
}

/* --- heads ------------------------------------------------------------------------------------ */

/* Picks the rows of a head in the range, keyed by stack. Returns their number. */
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

/* out->dict stays NULL if the part is left out. */
static int merge_part(struct merge *m, struct view_part *vp, struct store_sums *out,
		      struct err *err)
{
	struct part_reader *reader;
	struct part_info info;
	struct stack_list_sums list;
	int rc = view_dict(m->v, vp, &reader, err);

	if (rc)
		return view_leave_out(m->v, vp, rc, err) ? 0 : rc;
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
		view_release_part(v, &v->parts.v[i]);
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
