/* Reads values over time: totals by step, from windows alone, and rows, from detail. */
#include "store/day/view_state.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/sink.h"
#include "profile/sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- steps ------------------------------------------------------------------------------------ */

struct steps {
	struct store_view *v;
	const uint32_t *group;
	int64_t from_ns, step_ns, to_ns;
	size_t steps;
	int64_t *sums;
	int64_t windows[BLOCK_MAX_WINDOWS];
};

/* Returns the step of a time in the range. */
static size_t step_at(const struct steps *t, int64_t time_ns)
{
	return (uint64_t)(time_ns - t->from_ns) / (uint64_t)t->step_ns;
}

/* Returns the number of a block's windows, at most `most`, that start before end_ns, which is not
 * before the block. */
static uint32_t windows_before(const struct part_ref *ref, uint32_t most, int64_t end_ns)
{
	uint64_t n = ((uint64_t)(end_ns - ref->from_ns) + BLOCK_WINDOW_NS - 1) / BLOCK_WINDOW_NS;

	return n < most ? (uint32_t)n : most;
}

/* Adds windows step by step, with one division: a day of some hundred series has millions of
 * windows. */
static void add_windows(struct steps *t, const struct part_ref *ref, struct window_range w)
{
	size_t step = step_at(t, ref->from_ns + w.from * BLOCK_WINDOW_NS);
	int64_t *sum = &t->sums[t->group[ref->series] * t->steps + step];
	int64_t end_ns = t->from_ns + (int64_t)(step + 1) * t->step_ns;

	for (uint32_t i = w.from; i < w.to; sum++, end_ns = sum_add(end_ns, t->step_ns)) {
		uint32_t end = windows_before(ref, w.to, end_ns);
		int64_t total = *sum;

		for (; i < end; i++)
			total = sum_add(total, t->windows[i]);
		*sum = total;
	}
}

static int step_block(struct steps *t, struct part *part, const struct part_ref *ref,
		      struct err *err)
{
	struct window_range w = window_range_of(ref->from_ns, ref->windows, t->from_ns, t->to_ns);

	if (w.from == w.to)
		return 0;
	int rc = part_read_windows(part, ref, t->windows, err);
	if (rc == 0)
		add_windows(t, ref, w);
	return rc;
}

static void step_head(void *ctx, const struct view_head *h)
{
	struct steps *t = ctx;
	struct window_range w =
		window_range_of(h->head->from_ns, HEAD_WINDOWS, t->from_ns, t->to_ns);
	uint32_t series = h->head->series;

	if (series >= view_series(t->v) || t->group[series] == UINT32_MAX)
		return;
	int64_t *sums = &t->sums[t->group[series] * t->steps];

	for (size_t i = 0; i < h->rows; i++) {
		const struct head_row *r = &h->head->rows.v[i];
		int64_t time_ns = h->head->from_ns + r->window * BLOCK_WINDOW_NS;

		if (r->window >= w.from && r->window < w.to)
			sums[step_at(t, time_ns)] = sum_add(sums[step_at(t, time_ns)], r->value);
	}
}

static int step_part(struct steps *t, struct view_part *vp, const bool *wanted, struct err *err)
{
	struct part_reader *reader;
	struct part_ref *refs = NULL;
	size_t n = 0;
	int rc = view_reader(t->v, vp, &reader, err);

	if (rc)
		return view_leave_out(t->v, vp, rc, err) ? 0 : rc;
	rc = part_find(reader->part, wanted, view_series(t->v), t->from_ns, t->to_ns, &refs, &n,
		       err);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = view_check_stop(t->v, err);
		if (rc == 0)
			rc = step_block(t, reader->part, &refs[i], err);
	}
	free(refs);
	if (rc == 0)
		view_heads(t->v, vp, t->from_ns, t->to_ns, step_head, t);
	return rc;
}

static int64_t steps_end(int64_t from_ns, int64_t step_ns, size_t steps)
{
	return sum_add(from_ns, sum_mul(step_ns, steps < INT64_MAX ? (int64_t)steps : INT64_MAX));
}

int store_steps(struct store_view *v, const uint32_t *group, int64_t from_ns, int64_t step_ns,
		size_t steps, int64_t *sums, struct err *err)
{
	struct steps *t = xcalloc(1, sizeof *t);
	bool *wanted = xcalloc(view_series(v) + 1, sizeof *wanted);
	int rc = 0;

	*t = (struct steps){ .v = v,
			     .group = group,
			     .from_ns = from_ns,
			     .step_ns = step_ns,
			     .to_ns = steps_end(from_ns, step_ns, steps),
			     .steps = steps,
			     .sums = sums };
	for (uint32_t i = 0; i < view_series(v); i++)
		wanted[i] = group[i] != UINT32_MAX;
	for (size_t i = 0; rc == 0 && i < v->parts.n; i++)
		if (view_part_touches(&v->parts.v[i], t->from_ns, t->to_ns))
			rc = step_part(t, &v->parts.v[i], wanted, err);
	free(wanted);
	free(t);
	return rc;
}

/* --- rows ------------------------------------------------------------------------------------- */

struct rows {
	struct store_view *v;
	const bool *wanted;
	int64_t from_ns, to_ns;
	struct part *part;
	bool has_detail;
	struct store_taker taker;
	struct block_sums block; /* reused from block to block, as rows is */
	struct block_columns rows;
	VEC(int64_t) sums;
	/* Rows of one part's heads, copied so that the callback runs without the lock. */
	VEC(struct store_row) copied;
};

static struct store_row window_row(const struct rows *t, uint32_t series)
{
	return (struct store_row){ .dict = part_dict(t->part),
				   .series = series,
				   .is_window = true,
				   .length_ns = BLOCK_WINDOW_NS,
				   .pid = SAMPLE_NO_ID,
				   .tid = SAMPLE_NO_ID,
				   .cpu = SAMPLE_NO_ID };
}

static int give_row(const struct rows *t, const struct store_row *row)
{
	return t->taker.row(t->taker.ctx, row);
}

static bool is_hot(const struct rows *t, const struct part_ref *ref, uint32_t window)
{
	return view_hot_has(t->v, ref->from_ns + window * BLOCK_WINDOW_NS);
}

/* Returns the first window of the next full hour. */
static uint32_t hour_end(const struct part_ref *ref, uint32_t window)
{
	uint64_t since_hour = ((uint64_t)ref->from_ns / BLOCK_WINDOW_NS + window) % HEAD_WINDOWS;

	return window + HEAD_WINDOWS - (uint32_t)since_hour;
}

/* Finds the next windows, from w->to on and before end, of hours not read as exact rows. Returns
 * false if none exists. */
static bool next_windows(const struct rows *t, const struct part_ref *ref, uint32_t end,
			 struct window_range *w)
{
	uint32_t at = w->to;

	if (!t->v->hot.n) {
		*w = (struct window_range){ at, end };
		return at < end;
	}
	while (at < end && is_hot(t, ref, at))
		at = hour_end(ref, at);
	w->from = at;
	while (at < end && !is_hot(t, ref, at))
		at = hour_end(ref, at);
	w->to = at < end ? at : end;
	return w->from < w->to;
}

static int give_columns(const struct rows *t, const struct part_ref *ref, struct store_row row)
{
	const struct block_columns *c = &t->rows;
	const struct store_columns columns = { row.dict, ref->series, ref->from_ns, c->n,
					       c->stack, c->window,   c->value };
	int rc = 0;

	if (t->taker.columns)
		return c->n ? t->taker.columns(t->taker.ctx, &columns) : 0;
	for (size_t i = 0; rc == 0 && i < c->n; i++) {
		row.time_ns = ref->from_ns + c->window[i] * BLOCK_WINDOW_NS;
		row.stack = c->stack[i];
		row.value = c->value[i];
		rc = give_row(t, &row);
	}
	return rc;
}

/* Sets *same if any of a block's stacks may stand for all; t->block then has them. */
static int find_same(struct rows *t, const struct part_ref *ref, bool *same, struct err *err)
{
	*same = false;
	if (!t->taker.same)
		return 0;
	int rc = part_read_summary(t->part, ref, &t->block, err);
	if (rc == 0 && t->block.n)
		*same = t->taker.same(t->taker.ctx, part_dict(t->part), t->block.stack, t->block.n);
	return rc;
}

/* Reads sums of windows, with the first of the block's stacks. */
static int read_whole_windows(struct rows *t, const struct part_ref *ref, struct window_range w,
			      struct err *err)
{
	struct block_columns *c = &t->rows;

	if (!block_columns_reserve(c, w.to - w.from))
		return err_set(err, ENOMEM, "no memory for the windows of a block");
	vec_reserve(&t->sums, ref->windows);
	int rc = part_read_windows(t->part, ref, t->sums.v, err);
	c->n = 0;
	for (uint32_t i = w.from; rc == 0 && i < w.to; i++) {
		if (!t->sums.v[i])
			continue;
		c->stack[c->n] = t->block.stack[0];
		c->window[c->n] = i;
		c->value[c->n++] = t->sums.v[i];
	}
	return rc;
}

static int give_detail(struct rows *t, const struct part_ref *ref, struct window_range w,
		       struct store_row row, struct err *err)
{
	struct window_range some = { w.from, w.from };
	bool same;
	int rc = find_same(t, ref, &same, err);

	while (rc == 0 && next_windows(t, ref, w.to, &some)) {
		rc = same ? read_whole_windows(t, ref, some, err)
			  : part_read_columns(t->part, ref, some.from, some.to, &t->rows, err);
		if (rc == 0)
			rc = give_columns(t, ref, row);
	}
	return rc;
}

/* Without detail all values are in the middle, as for store_merge. */
static int give_summary(struct rows *t, const struct part_ref *ref, struct window_range w,
			struct store_row row, struct err *err)
{
	uint32_t middle = ref->windows / 2;
	int rc;

	if (middle < w.from || middle >= w.to)
		return 0;
	rc = part_read_summary(t->part, ref, &t->block, err);
	row.time_ns = ref->from_ns + middle * BLOCK_WINDOW_NS;
	for (uint32_t i = 0; rc == 0 && i < t->block.n; i++) {
		row.stack = t->block.stack[i];
		row.value = t->block.total[i];
		rc = give_row(t, &row);
	}
	return rc;
}

static int give_block(struct rows *t, const struct part_ref *ref, struct err *err)
{
	struct window_range w = window_range_of(ref->from_ns, ref->windows, t->from_ns, t->to_ns);
	struct store_row row = window_row(t, ref->series);

	if (w.from == w.to || ref->series >= view_series(t->v))
		return 0;
	return t->has_detail ? give_detail(t, ref, w, row, err) : give_summary(t, ref, w, row, err);
}

static void copy_head(void *ctx, const struct view_head *h)
{
	struct rows *t = ctx;
	struct window_range w =
		window_range_of(h->head->from_ns, HEAD_WINDOWS, t->from_ns, t->to_ns);
	uint32_t series = h->head->series;

	if (series >= view_series(t->v) || (t->wanted && !t->wanted[series]))
		return;
	for (size_t i = 0; i < h->rows; i++) {
		const struct head_row *r = &h->head->rows.v[i];
		int64_t time_ns = h->head->from_ns + r->window * BLOCK_WINDOW_NS;

		if (r->window < w.from || r->window >= w.to || view_hot_has(t->v, time_ns))
			continue;
		struct store_row row = window_row(t, series);
		row.time_ns = time_ns;
		row.value = r->value;
		row.stack = r->stack;
		vec_push(&t->copied, row);
	}
}

static int give_part(struct rows *t, struct view_part *vp, struct err *err)
{
	struct part_reader *reader;
	struct part_info info;
	struct part_ref *refs = NULL;
	size_t n = 0;
	int rc = view_dict(t->v, vp, &reader, err);

	if (rc)
		return view_leave_out(t->v, vp, rc, err) ? 0 : rc;
	t->part = reader->part;
	part_get_info(t->part, &info);
	t->has_detail = info.has_detail;
	rc = view_name_stacks(t->v, reader, NULL, 0, err);
	if (rc == 0)
		rc = part_find(t->part, t->wanted, view_series(t->v), t->from_ns, t->to_ns, &refs,
			       &n, err);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = view_check_stop(t->v, err);
		if (rc == 0)
			rc = give_block(t, &refs[i], err);
	}
	free(refs);
	if (rc)
		return rc;
	vec_clear(&t->copied);
	view_heads(t->v, vp, t->from_ns, t->to_ns, copy_head, t);
	for (size_t i = 0; rc == 0 && i < t->copied.n; i++)
		rc = give_row(t, &t->copied.v[i]);
	return rc;
}

static int give_rows(struct store_view *v, const struct view_hot_ask *ask,
		     const struct store_taker *taker, struct err *err)
{
	struct rows t = { .v = v,
			  .wanted = ask->wanted,
			  .from_ns = ask->from_ns,
			  .to_ns = ask->to_ns,
			  .taker = *taker };
	int64_t from_ns = ask->from_ns, to_ns = ask->to_ns;
	int rc = view_names(v, err);

	if (rc == 0)
		rc = view_hot_decide(v, from_ns, to_ns, err);
	for (size_t i = 0; rc == 0 && i < v->parts.n; i++)
		if (view_part_touches(&v->parts.v[i], from_ns, to_ns))
			rc = give_part(&t, &v->parts.v[i], err);
	block_sums_done(&t.block);
	block_columns_done(&t.rows);
	vec_done(&t.sums);
	vec_done(&t.copied);
	return rc ? rc : view_hot_rows(v, ask, err);
}

int store_rows(struct store_view *v, const bool *wanted, int64_t from_ns, int64_t to_ns,
	       int (*row)(void *ctx, const struct store_row *row), void *ctx, struct err *err)
{
	const struct view_hot_ask ask = { wanted, from_ns, to_ns, false, row, ctx };

	return give_rows(v, &ask, &(struct store_taker){ .row = row, .ctx = ctx }, err);
}

int store_columns(struct store_view *v, const bool *wanted, int64_t from_ns, int64_t to_ns,
		  const struct store_taker *taker, struct err *err)
{
	const struct view_hot_ask ask = { wanted, from_ns, to_ns, false, taker->row, taker->ctx };

	return give_rows(v, &ask, taker, err);
}

int store_whole_rows(struct store_view *v, const bool *wanted, int64_t from_ns, int64_t to_ns,
		     int (*row)(void *ctx, const struct store_row *row), void *ctx, struct err *err)
{
	const struct view_hot_ask ask = { wanted, from_ns, to_ns, true, row, ctx };

	return give_rows(v, &ask, &(struct store_taker){ .row = row, .ctx = ctx }, err);
}
