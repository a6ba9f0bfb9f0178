/* Rows of a batch go into heads. Where a row belongs is told by the batch alone (store_state.h, 3). */
#include "base/mem.h"
#include "profile/sum.h"
#include "profile/time_range.h"
#include "store/dict_map.h"
#include "store/store_state.h"

#include <errno.h>
#include <string.h>

/* Samples from further ahead were taken with a clock that is wrong: they count as of the moment they came. */
#define AHEAD_NS  STORE_DAY_NS
/* What a sample covers beyond that is not spread. */
#define SPREAD_NS STORE_DAY_NS

/* --- times ------------------------------------------------------------------------------------ */

struct batch_clock {
	int64_t shift_ns;    /* from the batch's clock to Unix time */
	int64_t received_ns; /* for samples from too far ahead */
	bool has_times;
	int64_t fixed_ns; /* of all samples, when it has none */
};

static struct batch_clock clock_of(const struct profile *p, int64_t received_ns)
{
	const struct profile_meta *m = &p->meta;
	struct batch_clock c = { .received_ns = received_ns,
				 .has_times = profile_has_times(p),
				 .fixed_ns = m->start_wall_ns ? m->start_wall_ns : received_ns };

	if (m->start_wall_ns)
		c.shift_ns = sum_sub(m->start_wall_ns, m->start_mono_ns);
	return c;
}

static int64_t clock_time_ns(const struct batch_clock *c, int64_t time_ns)
{
	int64_t t = c->has_times ? sum_add(time_ns, c->shift_ns) : c->fixed_ns;

	return t > c->received_ns && t - c->received_ns > AHEAD_NS ? c->received_ns : t;
}

static int64_t day_of(int64_t time_ns)
{
	return time_ns / STORE_DAY_NS * STORE_DAY_NS;
}

static bool is_kept(const struct store *s, int64_t time_ns)
{
	return time_ns >= 0 && time_ns >= s->kept_from_ns;
}

static int64_t covered_ns(const struct profile *p, size_t row)
{
	int64_t length_ns = sample_length_ns(&p->samples, row);

	return length_ns < SPREAD_NS ? length_ns : SPREAD_NS;
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
	struct batch_clock clock = clock_of(p, received_ns);
	int64_t last_ns = -1;
	bool fits = true;

	*n = 0;
	for (size_t i = 0; i < p->samples.n && fits; i++) {
		int64_t from = clock_time_ns(&clock, p->samples.time_ns[i]);
		int64_t covered = covered_ns(p, i), to = covered > 0 ? from + covered - 1 : from;
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

/* Where rows of one of the batch's series go: the catalog's series, and its head of the last hour. */
struct series_at {
	uint32_t id;
	bool is_known, is_weighted, has_head;
	uint32_t head; /* in heads.all */
	int64_t hour_ns;
};

struct applied_batch {
	struct store *s;
	const struct profile *p;
	const struct metric_samples *metrics; /* NULL: none */
	struct batch_clock clock;
	struct series_at *series; /* by the batch's */
	struct hot_cursor hot;
	uint64_t spread_left; /* rows that waits may still become */
	/* The day at hand. */
	struct store_part *sp;
	struct dict_map map;
	int64_t from_ns, to_ns;
	uint64_t rows;
};

static struct series_at *series_of(struct applied_batch *b, uint32_t id)
{
	struct series_at *at = &b->series[id];

	if (!at->is_known) {
		at->id = catalog_resolve(b->s->catalog, b->p, id, b->clock.received_ns);
		at->is_weighted = catalog_is_weighted(b->s->catalog, at->id);
		at->is_known = true;
	}
	return at;
}

static struct head *head_of(struct applied_batch *b, struct series_at *at, int64_t time_ns)
{
	struct heads *heads = &b->sp->heads;
	int64_t hour_ns = time_ns / HEAD_SLOT_NS * HEAD_SLOT_NS;

	if (at->has_head && at->hour_ns == hour_ns)
		return &heads->all.v[at->head];
	struct head *h = heads_get(heads, at->id, hour_ns, at->is_weighted);
	at->head = h - heads->all.v;
	at->hour_ns = hour_ns;
	at->has_head = true;
	return h;
}

static void add_row(struct applied_batch *b, size_t row, int64_t time_ns, int64_t value,
		    struct head_weight weight)
{
	struct head *h = head_of(b, series_of(b, b->p->samples.series[row]), time_ns);
	uint32_t window = (time_ns - h->from_ns) / BLOCK_WINDOW_NS;
	uint32_t stack = b->map.stack[b->p->samples.stack[row]];

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

/* Each window gets the share of what it covers (profile/time_range.h); the sample is counted in the first one. */
static void spread_row(struct applied_batch *b, size_t row, int64_t from_ns, int64_t length_ns,
		       struct head_weight weight)
{
	int64_t value = b->p->samples.value[row], end_ns = from_ns + length_ns, before = 0;

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

/* Whether a sample reaches into windows after its first one, and may be spread over them. */
static bool is_spread(const struct applied_batch *b, int64_t from_ns, int64_t length_ns)
{
	int64_t window = from_ns / BLOCK_WINDOW_NS;

	return length_ns > 0 && (from_ns + length_ns - 1) / BLOCK_WINDOW_NS != window &&
	       b->spread_left >= (uint64_t)(length_ns / BLOCK_WINDOW_NS);
}

/* One sample of a weighted series. */
static struct head_weight weight_of(const struct profile *p, size_t row)
{
	double value = p->samples.value[row];

	return (struct head_weight){ .n = 1, .squares = value * value };
}

/* The hot tier has it, too, as it is. */
static void take_exact(struct applied_batch *b, size_t row, int64_t from_ns, int64_t length_ns)
{
	const struct sample_columns *c = &b->p->samples;
	const struct hot_row exact = { .time_ns = from_ns,
				       .length_ns = length_ns,
				       .value = c->value[row],
				       .series = series_of(b, c->series[row])->id,
				       .stack = b->map.stack[c->stack[row]],
				       .pid = c->pid[row],
				       .tid = c->tid[row],
				       .cpu = c->cpu[row] };

	store_hot_take(&b->hot, &exact, link_get(&b->p->links, sample_link(c, row)),
		       is_spread(b, from_ns, length_ns));
}

static void apply_row(struct applied_batch *b, size_t row)
{
	int64_t from_ns = clock_time_ns(&b->clock, b->p->samples.time_ns[row]);
	int64_t length_ns = covered_ns(b->p, row);

	if (!is_kept(b->s, from_ns))
		return;
	if (from_ns < b->to_ns && from_ns + length_ns >= b->from_ns)
		take_exact(b, row, from_ns, length_ns);
	if (is_spread(b, from_ns, length_ns)) {
		b->spread_left -= length_ns / BLOCK_WINDOW_NS;
		spread_row(b, row, from_ns, length_ns, weight_of(b->p, row));
	} else if (is_in_day(b, from_ns)) {
		add_row(b, row, from_ns, b->p->samples.value[row], weight_of(b->p, row));
	}
}

static bool touches_day(const struct applied_batch *b, size_t row)
{
	int64_t from = clock_time_ns(&b->clock, b->p->samples.time_ns[row]);

	return from < b->to_ns && sum_add(from, covered_ns(b->p, row)) >= b->from_ns;
}

static void map_stacks(struct applied_batch *b)
{
	for (size_t i = 0; i < b->p->samples.n; i++)
		if (b->map.stack[b->p->samples.stack[i]] == DICT_MAP_NONE && touches_day(b, i))
			dict_map_stack(&b->map, b->p->samples.stack[i]);
	dict_map_end(&b->map);
}

static uint64_t spread_limit(const struct profile *p)
{
	return (uint64_t)p->samples.n * 8 + (1 << 20);
}

static void apply_day(struct applied_batch *b, uint64_t seq)
{
	dict_map_init(&b->map, part_dict(b->sp->part), b->p);
	map_stacks(b);
	b->rows = 0;
	b->spread_left = spread_limit(b->p);
	b->hot = (struct hot_cursor){ .s = b->s, .sp = b->sp, .seq = seq };
	for (size_t i = 0; i < b->p->series.series.n; i++)
		b->series[i].has_head = false;
	for (size_t i = 0; i < b->p->samples.n; i++)
		apply_row(b, i);
	dict_map_done(&b->map);
	store_part_note(b->s, b->sp, seq, b->rows);
}

static void count_rows(struct applied_batch *b)
{
	struct store_stats *stats = &b->s->stats;

	for (size_t i = 0; i < b->p->samples.n; i++) {
		int64_t t = clock_time_ns(&b->clock, b->p->samples.time_ns[i]);
		bool kept = is_kept(b->s, t);
		stats->expired_rows += !kept;
		stats->late_rows += kept && b->clock.received_ns - t > HEAD_SLOT_NS;
	}
	stats->batches++;
}

/* The parts that a batch's rows go to; those that have them already are left out. */
static int find_parts(struct applied_batch *b, uint64_t seq, struct store_part **parts, size_t *n,
		      struct err *err)
{
	int64_t days[STORE_BATCH_DAYS];
	size_t n_days;
	uint64_t sequence;
	int rc = store_batch_days(b->s, b->p, b->clock.received_ns, days, &n_days, err);

	if (rc == 0)
		rc = store_point_days(b->s, b->metrics, b->clock.received_ns, days, &n_days, err);
	*n = 0;
	for (size_t i = 0; rc == 0 && i < n_days; i++) {
		rc = store_day_sequence(b->s, days[i], &sequence, err);
		if (rc == 0 && seq > sequence)
			rc = store_part_for(b->s, days[i], &parts[(*n)++], err);
	}
	return rc;
}

int store_offer_names(struct store *s, const struct profile *p, int64_t received_ns,
		      struct names_offer *out, struct err *err)
{
	int64_t days[STORE_BATCH_DAYS], newest_ns = 0;
	size_t n;
	int rc = store_batch_days(s, p, received_ns, days, &n, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		newest_ns = days[i] > newest_ns ? days[i] : newest_ns;
	names_db_offer(s->names, p, newest_ns / STORE_DAY_NS, s->applied + 1, out);
	return 0;
}

static void apply_points(struct applied_batch *b, uint64_t seq, struct store_part *const *parts,
			 size_t n)
{
	struct applied_points points = { .m = b->metrics, .received_ns = b->clock.received_ns };

	if (!b->metrics || !b->metrics->n)
		return;
	store_points_resolve(b->s, &points, b->p);
	for (size_t i = 0; i < n; i++)
		store_apply_points(b->s, &points, parts[i], seq);
	free(points.series);
}

static int apply_batch(struct applied_batch *b, uint64_t seq, struct err *err)
{
	struct store_part *parts[STORE_BATCH_DAYS];
	size_t n;
	int rc = find_parts(b, seq, parts, &n, err);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		b->sp = parts[i];
		b->from_ns = b->sp->day_ns;
		b->to_ns = b->sp->day_ns + STORE_DAY_NS;
		apply_day(b, seq);
	}
	if (rc == 0)
		apply_points(b, seq, parts, n);
	return rc;
}

/* Names also of a batch whose rows are all in blocks: it may be here only because of them. */
int store_apply(struct store *s, uint64_t seq, int64_t received_ns, const struct names_offer *names,
		const struct metric_samples *metrics, struct err *err)
{
	const struct profile *p = names->p;
	struct applied_batch b = {
		.s = s, .p = p, .metrics = metrics, .clock = clock_of(p, received_ns)
	};

	b.series = xcalloc(p->series.series.n + 1, sizeof *b.series);
	int rc = apply_batch(&b, seq, err);
	free(b.series);
	if (rc)
		return rc;
	names_db_take(s->names, names, seq);
	count_rows(&b);
	s->applied = seq;
	return 0;
}
