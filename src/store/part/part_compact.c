/* Compaction: merges the blocks of one series in one slot. Reading costs a summary per block, and
 * the summary of four hours costs little more than that of one. */
#include "base/err.h"
#include "base/vec.h"
#include "store/part/part_file.h"

#include <errno.h>
#include <string.h>

enum {
	MERGE_MAX_ROWS = 1 << 20,  /* of a merged block: 32 MiB in memory, twice */
	STEP_MIN_ROWS = 64 * 1024, /* small slots share a transaction up to this number of rows */
	LEVEL_OLD = 3,             /* of zstd */
};

/* --- merging rows ----------------------------------------------------------------------------- */

/* One of the blocks to merge. */
struct merge_source {
	struct part_ref ref;
	struct block_sums sums;
	struct block_row *rows;
	size_t n, at;
	uint32_t at_sum, first_window; /* in the slot */
};
struct merge {
	VEC(struct merge_source) sources; /* by time */
	VEC(struct block_row) rows;
	int64_t slot_ns;
	uint32_t windows;
	bool weighted;
};

static void merge_clear(struct merge *m)
{
	for (size_t i = 0; i < m->sources.n; i++) {
		block_sums_done(&m->sources.v[i].sums);
		free(m->sources.v[i].rows);
	}
	vec_clear(&m->sources);
	vec_clear(&m->rows);
}

static void merge_done(struct merge *m)
{
	merge_clear(m);
	vec_done(&m->sources);
	vec_done(&m->rows);
}

/* Finds the lowest next stack of all sources; returns false at the end. */
static bool next_stack(const struct merge *m, uint32_t *stack)
{
	bool any = false;

	for (size_t i = 0; i < m->sources.n; i++) {
		const struct merge_source *s = &m->sources.v[i];
		if (s->at == s->n)
			continue;
		if (!any || s->rows[s->at].stack < *stack)
			*stack = s->rows[s->at].stack;
		any = true;
	}
	return any;
}

static int row_cmp(const void *a, const void *b)
{
	const struct block_row *x = a, *y = b;

	return (x->window > y->window) - (x->window < y->window);
}

/* Sorts the n rows of one stack at v by window, sums those of one window, and drops zeros. They are
 * sorted already unless some arrived late. */
static size_t join_windows(struct block_row *v, size_t n)
{
	size_t kept = 0;
	bool ordered = true;

	for (size_t i = 1; i < n; i++)
		ordered &= v[i - 1].window < v[i].window;
	if (ordered)
		return n;
	qsort(v, n, sizeof *v, row_cmp);
	for (size_t i = 0; i < n; i++) {
		if (kept && v[kept - 1].window == v[i].window)
			v[kept - 1].value =
				(int64_t)((uint64_t)v[kept - 1].value + (uint64_t)v[i].value);
		else
			v[kept++] = v[i];
		if (v[kept - 1].value == 0 && (i + 1 == n || v[i + 1].window != v[i].window))
			kept--;
	}
	return kept;
}

/* Adds the rows of a stack from the source, and their weights to *weights. */
static void take_stack(struct merge *m, struct merge_source *s, uint32_t stack,
		       struct block_row *weights)
{
	for (; s->at < s->n && s->rows[s->at].stack == stack; s->at++) {
		struct block_row row = s->rows[s->at];
		row.window += s->first_window;
		vec_push(&m->rows, row);
	}
	while (s->at_sum < s->sums.n && s->sums.stack[s->at_sum] < stack)
		s->at_sum++;
	if (!m->weighted || s->at_sum == s->sums.n || s->sums.stack[s->at_sum] != stack)
		return;
	uint32_t n = s->sums.count[s->at_sum];
	weights->n = n > UINT32_MAX - weights->n ? UINT32_MAX : weights->n + n;
	weights->squares += s->sums.squares[s->at_sum];
}

/* Blocks store weights by stack, not by row: the first row may have them all. */
static void merge_rows(struct merge *m)
{
	uint32_t stack = 0;

	while (next_stack(m, &stack)) {
		struct block_row weights = { 0 };
		size_t first = m->rows.n;
		for (size_t i = 0; i < m->sources.n; i++)
			take_stack(m, &m->sources.v[i], stack, &weights);
		m->rows.n = first + join_windows(m->rows.v + first, m->rows.n - first);
		if (m->rows.n == first)
			continue;
		m->rows.v[first].n = weights.n;
		m->rows.v[first].squares = weights.squares;
	}
}

/* --- finding slots to merge ------------------------------------------------------------------- */

/* Slots with several blocks, in the order of the index. */
struct slots {
	const struct part *p;
	VEC(struct part_ref) refs;
	size_t first;  /* of the current slot */
	uint64_t rows; /* of the slots before it */
	int64_t slot_ns;
	struct part_ref next; /* where the search ended */
	bool full;
};

static int64_t slot_of(const struct part_ref *r, int64_t slot_ns)
{
	return r->from_ns - r->from_ns % slot_ns;
}

static bool share_slot(const struct part_ref *a, const struct part_ref *b, int64_t slot_ns)
{
	return a->series == b->series && slot_of(a, slot_ns) == slot_of(b, slot_ns);
}

static bool lies_in_slot(const struct part_ref *r, int64_t slot_ns)
{
	int64_t end = r->from_ns + r->windows * BLOCK_WINDOW_NS;

	return end <= slot_of(r, slot_ns) + slot_ns;
}

/* Ends a slot; retains it if it has several blocks and not too many rows. */
static void end_slot(struct slots *s)
{
	uint64_t rows = 0;

	for (size_t i = s->first; i < s->refs.n; i++)
		rows += s->refs.v[i].rows;
	if (s->refs.n - s->first < 2 || rows > MERGE_MAX_ROWS) {
		s->refs.n = s->first;
		return;
	}
	s->first = s->refs.n;
	s->rows += rows;
}

static int collect(void *ctx, const struct part_ref *r)
{
	struct slots *s = ctx;

	if (s->refs.n > s->first && !share_slot(r, &s->refs.v[s->first], s->slot_ns))
		end_slot(s);
	if (s->rows >= STEP_MIN_ROWS && s->refs.n == s->first) {
		s->full = true;
		s->next = *r;
		return 1;
	}
	if (lies_in_slot(r, s->slot_ns) && !part_is_damaged(s->p, r->id))
		vec_push(&s->refs, *r);
	return 0;
}

/* --- one slot --------------------------------------------------------------------------------- */

/* Reads a block. A damaged one is counted and stays where it is. */
static int read_source(struct part *p, struct merge *m, const struct part_ref *ref, struct err *err)
{
	struct merge_source s = { .ref = *ref };
	int rc = part_get_summary(p, ref, &s.sums, err);

	if (rc == 0)
		rc = part_get_detail(p, ref, &s.sums, &s.rows, &s.n, err);
	if (rc) {
		block_sums_done(&s.sums);
		if (rc == -EBADMSG)
			part_mark_damaged(p, ref->id);
		return rc == -EBADMSG ? 0 : rc;
	}
	s.first_window = (uint32_t)((ref->from_ns - m->slot_ns) / BLOCK_WINDOW_NS);
	m->weighted |= s.sums.count != NULL;
	vec_push(&m->sources, s);
	return 0;
}

static int read_sources(struct part *p, struct merge *m, const struct part_ref *refs, size_t n,
			struct err *err)
{
	int rc = 0;

	merge_clear(m);
	m->weighted = false;
	m->slot_ns = slot_of(refs, m->windows * BLOCK_WINDOW_NS);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = read_source(p, m, &refs[i], err);
	return rc;
}

/* Blocks without weights imply a weight of 1 per unit of value, which is not stored, so they are
 * not merged with weighted ones. */
static bool are_alike(const struct merge *m)
{
	for (size_t i = 0; i < m->sources.n; i++)
		if ((m->sources.v[i].sums.count != NULL) != m->weighted)
			return false;
	return true;
}

static int replace_sources(struct part *p, struct part_change *c, const struct merge *m,
			   struct err *err)
{
	const struct part_block block = {
		.series = m->sources.v[0].ref.series,
		.from_ns = m->slot_ns,
		.windows = m->windows,
		.weighted = m->weighted,
		.rows = m->rows.v,
		.n = m->rows.n,
	};
	int rc = part_change_add(p, c, &block, LEVEL_OLD, err);

	for (size_t i = 0; rc == 0 && i < m->sources.n; i++)
		rc = part_change_remove(p, c, &m->sources.v[i].ref, err);
	return rc;
}

/* --- one step --------------------------------------------------------------------------------- */

struct step {
	struct part *p;
	struct part_change change;
	struct merge merge;
	VEC(int64_t) superseded;
};

static int merge_slot(struct step *st, const struct part_ref *refs, size_t n, struct err *err)
{
	struct merge *m = &st->merge;
	int rc = read_sources(st->p, m, refs, n, err);

	if (rc || m->sources.n < 2 || !are_alike(m))
		return rc;
	merge_rows(m);
	for (size_t i = 0; i < m->sources.n; i++)
		vec_push(&st->superseded, m->sources.v[i].ref.id);
	return replace_sources(st->p, &st->change, m, err);
}

static int merge_slots(struct step *st, const struct slots *s, struct err *err)
{
	int rc = 0;

	for (size_t i = 0, k; rc == 0 && i < s->refs.n; i += k) {
		for (k = 1; i + k < s->refs.n; k++)
			if (!share_slot(&s->refs.v[i], &s->refs.v[i + k], s->slot_ns))
				break;
		rc = merge_slot(st, s->refs.v + i, k, err);
	}
	return rc;
}

/* Returns 1 if at least one block was merged. */
static int change_slots(struct part *p, const struct slots *s, uint32_t windows, struct err *err)
{
	struct step st = { .p = p, .merge.windows = windows };
	int rc = part_change_begin(p, &st.change, err);

	if (rc)
		return rc;
	rc = part_change_end(p, &st.change, merge_slots(&st, s, err), err);
	if (rc == 0)
		vec_append(&p->superseded, st.superseded.v, st.superseded.n);
	if (rc == 0 && st.superseded.n)
		rc = 1;
	merge_done(&st.merge);
	vec_done(&st.superseded);
	return rc;
}

static int compact(struct part *p, uint32_t windows, struct slots *s, struct err *err)
{
	struct part_slot_cursor *at = &p->compacted;
	int rc;

	if (at->windows != windows)
		*at = (struct part_slot_cursor){ .windows = windows };
	rc = part_each_ref(p, at->series, at->from_ns, collect, s, err);
	if (rc < 0)
		return rc;
	if (s->refs.n > s->first)
		end_slot(s);
	rc = s->refs.n ? change_slots(p, s, windows, err) : 0;
	if (rc < 0)
		return rc;
	/* At the end the search starts over, as blocks may have been added in the meantime. */
	*at = (struct part_slot_cursor){ s->full ? s->next.series : 0, windows,
					 s->full ? s->next.from_ns : 0 };
	return s->full || rc ? 1 : part_clean_detail(p, err);
}

int part_compact_step(struct part *p, uint32_t windows, struct err *err)
{
	struct slots slots = { .p = p, .slot_ns = windows * BLOCK_WINDOW_NS };
	struct err local;

	err = err ? err : &local;
	if (!p->detail)
		return 0;
	int rc = compact(p, windows, &slots, err);
	vec_done(&slots.refs);
	return rc;
}
