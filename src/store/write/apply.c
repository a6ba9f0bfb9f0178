/* Adds rows and points of a batch to heads. Their place depends on the batch alone (store_state.h,
 * 3). */
#include "base/err.h"
#include "base/mem.h"
#include "profile/tree/time_range.h"
#include "store/catalog/catalog.h"
#include "store/codec/hot_block.h"
#include "store/day/batch_rows.h"
#include "store/day/hot.h"
#include "store/day/store_state.h"
#include "store/write/write.h"

#include <errno.h>
#include <string.h>

/* --- times ------------------------------------------------------------------------------------ */

static int64_t day_of(int64_t time_ns)
{
	return time_ns / STORE_DAY_NS * STORE_DAY_NS;
}

static bool is_kept(const struct store *s, int64_t time_ns)
{
	return time_ns >= 0 && time_ns >= s->kept_from_ns;
}

static bool add_day(int64_t *days, size_t *n, int64_t day_ns)
{
	for (size_t i = *n; i--;)
		if (days[i] == day_ns)
			return true;
	if (*n == STORE_BATCH_DAYS)
		return false;
	days[(*n)++] = day_ns;
	return true;
}

int store_batch_days(const struct store *s, const struct profile *p, int64_t received_ns,
		     int64_t *days, size_t *n, struct err *err)
{
	struct batch_clock clock = batch_clock_of(p, received_ns);
	int64_t last_ns = -1;
	bool fits = true;

	*n = 0;
	for (size_t i = 0; i < p->samples.n && fits; i++) {
		int64_t from = batch_time_ns(&clock, p->samples.time_ns[i]);
		int64_t covered = batch_covered_ns(&p->samples, i),
			to = covered > 0 ? from + covered - 1 : from;
		if (!is_kept(s, from) || (day_of(from) == last_ns && day_of(to) == last_ns))
			continue;
		last_ns = day_of(from);
		fits = add_day(days, n, last_ns) && add_day(days, n, day_of(to));
	}
	if (!fits)
		return err_set(err, EINVAL, "the samples of one batch are from more than %d days",
			       STORE_BATCH_DAYS);
	return 0;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Cache for one of the batch's series: its head of the last hour. */
struct series_at {
	bool is_known, is_weighted, has_head;
	uint32_t head; /* in heads.all */
	int64_t hour_ns;
};

struct applied_batch {
	struct store *s;
	const struct batch_rows *r;
	struct series_at *series; /* by the batch's */
	struct hot_cursor hot;
	uint64_t spread_left; /* number of rows left for spreading waits */
	/* Of the current day. */
	struct store_part *sp;
	const uint32_t *stack; /* by row */
	int64_t from_ns, to_ns;
	uint64_t rows;
};

static struct head *head_of(struct applied_batch *b, uint32_t series, int64_t time_ns)
{
	struct series_at *at = &b->series[series];
	struct heads *heads = &b->sp->heads;
	int64_t hour_ns = time_ns / HEAD_SLOT_NS * HEAD_SLOT_NS;

	if (!at->is_known)
		at->is_weighted = catalog_is_weighted(b->s->catalog, b->r->series[series]);
	at->is_known = true;
	if (at->has_head && at->hour_ns == hour_ns)
		return &heads->all.v[at->head];
	struct head *h = heads_get(heads, b->r->series[series], hour_ns, at->is_weighted);
	at->head = h - heads->all.v;
	at->hour_ns = hour_ns;
	at->has_head = true;
	return h;
}

static void add_row(struct applied_batch *b, size_t row, int64_t time_ns, int64_t value,
		    struct head_weight weight)
{
	struct head *h = head_of(b, b->r->samples->series[row], time_ns);
	uint32_t window = (time_ns - h->from_ns) / BLOCK_WINDOW_NS;
	uint32_t stack = b->stack[row];

	if (h->weighted)
		head_add_weighted(h, stack, window, value, weight);
	else
		head_add(h, stack, window, value);
	b->rows++;
}

static bool is_in_day(const struct applied_batch *b, int64_t time_ns)
{
	return time_ns >= b->from_ns && time_ns < b->to_ns;
}

/* Spreads a sample over the windows that it covers, by time (profile/tree/time_range.h); it counts
 * as a sample in the first one. */
static void spread_row(struct applied_batch *b, size_t row, int64_t from_ns, int64_t length_ns,
		       struct head_weight weight)
{
	int64_t value = b->r->samples->value[row], end_ns = from_ns + length_ns, before = 0;

	for (int64_t t = from_ns; t < end_ns;) {
		int64_t next = (t / BLOCK_WINDOW_NS + 1) * BLOCK_WINDOW_NS;
		next = next < end_ns ? next : end_ns;
		int64_t worth = sample_worth_up_to(value, length_ns, next - from_ns);
		if (is_in_day(b, t) && worth != before)
			add_row(b, row, t, worth - before, weight);
		if (worth != before)
			weight = (struct head_weight){ 0 };
		before = worth;
		t = next;
	}
}

/* Returns whether a sample extends past its first window and may be spread. */
static bool is_spread(const struct applied_batch *b, int64_t from_ns, int64_t length_ns)
{
	int64_t window = from_ns / BLOCK_WINDOW_NS;

	return length_ns > 0 && (from_ns + length_ns - 1) / BLOCK_WINDOW_NS != window &&
	       b->spread_left >= (uint64_t)(length_ns / BLOCK_WINDOW_NS);
}

/* One sample of a weighted series. */
static struct head_weight weight_of(const struct sample_columns *c, size_t row)
{
	double value = c->value[row];

	return (struct head_weight){ .n = 1, .squares = value * value };
}

/* Adds the exact sample to the hot tier. */
static void take_exact(struct applied_batch *b, size_t row, int64_t from_ns, int64_t length_ns)
{
	const struct sample_columns *c = b->r->samples;
	uint32_t link = sample_link(c, row);
	const struct hot_row exact = { .time_ns = from_ns,
				       .length_ns = length_ns,
				       .value = c->value[row],
				       .series = b->r->series[c->series[row]],
				       .stack = b->stack[row],
				       .pid = c->pid[row],
				       .tid = c->tid[row],
				       .cpu = c->cpu[row] };

	store_hot_take(&b->hot, &exact, link ? &b->r->links[link - 1] : NULL,
		       is_spread(b, from_ns, length_ns));
}

static bool has_row(const struct applied_batch *b, size_t row)
{
	return b->stack[row] != BATCH_NO_STACK &&
	       b->r->series[b->r->samples->series[row]] != BATCH_NO_SERIES;
}

static void apply_row(struct applied_batch *b, size_t row)
{
	const struct sample_columns *c = b->r->samples;
	int64_t from_ns = batch_time_ns(&b->r->clock, c->time_ns[row]);
	int64_t length_ns = batch_covered_ns(c, row);

	if (!is_kept(b->s, from_ns) || !has_row(b, row))
		return;
	if (from_ns < b->to_ns && from_ns + length_ns >= b->from_ns)
		take_exact(b, row, from_ns, length_ns);
	if (is_spread(b, from_ns, length_ns)) {
		b->spread_left -= length_ns / BLOCK_WINDOW_NS;
		spread_row(b, row, from_ns, length_ns, weight_of(c, row));
	} else if (is_in_day(b, from_ns)) {
		add_row(b, row, from_ns, c->value[row], weight_of(c, row));
	}
}

static void apply_day(struct applied_batch *b, const struct batch_part *part, uint64_t seq)
{
	b->sp = part->sp;
	b->stack = part->stack;
	b->from_ns = b->sp->day_ns;
	b->to_ns = b->sp->day_ns + STORE_DAY_NS;
	b->rows = 0;
	b->spread_left = (uint64_t)b->r->samples->n * 8 + (1 << 20);
	b->hot = (struct hot_cursor){ .s = b->s, .sp = b->sp, .seq = seq };
	for (size_t i = 0; i < b->r->n_series; i++)
		b->series[i].has_head = false;
	for (size_t i = 0; part->stack && i < b->r->samples->n; i++)
		apply_row(b, i);
	store_part_note(b->s, b->sp, seq, b->rows);
}

static void count_rows(struct store *s, const struct batch_rows *r)
{
	for (size_t i = 0; i < r->samples->n; i++) {
		int64_t t = batch_time_ns(&r->clock, r->samples->time_ns[i]);
		bool kept = is_kept(s, t);
		s->stats.expired_rows += !kept;
		s->stats.late_rows += kept && r->clock.received_ns - t > HEAD_SLOT_NS;
	}
	s->stats.batches++;
}

/* Also takes the names of a batch whose rows are all in blocks: it may be in the inbox only for
 * them. */

/* --- points of metrics ------------------------------------------------------------------------ */

/* A point further in the future comes from a wrong clock: it counts at its time of arrival. */
static int64_t point_time_ns(const struct metric_sample *m, int64_t received_ns)
{
	bool ahead = m->time_ns > received_ns && m->time_ns - received_ns > STORE_DAY_NS;

	return ahead ? received_ns : m->time_ns;
}

int store_point_days(const struct store *s, const struct metric_samples *m, int64_t received_ns,
		     int64_t *days, size_t *n, struct err *err)
{
	for (size_t i = 0; m && i < m->n; i++) {
		int64_t t = point_time_ns(&m->v[i], received_ns);
		if (is_kept(s, t) && !add_day(days, n, day_of(t)))
			return err_set(err, EINVAL,
				       "the points of one batch are from more than %d days",
				       STORE_BATCH_DAYS);
	}
	return 0;
}

static void apply_points(struct store *s, const struct batch_rows *r, struct store_part *sp,
			 uint64_t seq)
{
	uint64_t points = 0;

	for (size_t i = 0; i < r->points.n; i++) {
		const struct metric_sample *m = &r->points.v[i];
		int64_t t = point_time_ns(m, r->clock.received_ns);
		if (!is_kept(s, t) || day_of(t) != sp->day_ns)
			continue;
		const struct metric_point point = { t, m->value };
		metric_heads_add(&sp->heads.metrics, m->series, &point);
		points++;
	}
	store_part_note_points(s, sp, seq, points);
}

static void count_points(struct store *s, const struct batch_rows *r)
{
	for (size_t i = 0; i < r->points.n; i++)
		s->stats.expired_rows +=
			!is_kept(s, point_time_ns(&r->points.v[i], r->clock.received_ns));
}

/* --- both ------------------------------------------------------------------------------------- */

void store_apply(struct store *s, uint64_t seq, const struct batch_rows *r)
{
	struct applied_batch b = { .s = s, .r = r };

	b.series = xcalloc(r->n_series + 1, sizeof *b.series);
	for (size_t i = 0; i < r->parts.n; i++) {
		apply_day(&b, &r->parts.v[i], seq);
		apply_points(s, r, r->parts.v[i].sp, seq);
	}
	free(b.series);
	for (size_t i = 0; i < r->n_series; i++)
		if (r->series[i] != BATCH_NO_SERIES)
			catalog_had(s->catalog, r->series[i], seq);
	for (size_t i = 0; i < r->points.n; i++)
		catalog_had(s->catalog, r->points.v[i].series, seq);
	count_points(s, r);
	if (r->names.p)
		names_db_take(s->names, &r->names, seq);
	count_rows(s, r);
	s->applied = seq;
}
