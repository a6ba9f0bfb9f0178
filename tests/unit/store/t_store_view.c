// tier: test
/* Questions put to a store, compared with the rows that it was given, one by one: all series, stacks and ranges, in heads, in blocks, compacted,
 * sealed, with and without detail; a view stays the same. */
#include "view_world.h"

#include "base/err.h"
#include "base/mem.h"
#include "store_witness.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

/* --- the same questions, answered row by row -------------------------------------------------- */

struct question {
	bool wanted[SERIES];
	int64_t from_ns, to_ns;
};

static bool is_asked(const struct question *q, const struct told *t)
{
	return q->wanted[t->series] && t->window_ns >= q->from_ns && t->window_ns < q->to_ns;
}

static struct question random_question(struct world *w)
{
	struct question q;
	uint64_t windows = (w->now_ns - DAY0_NS) / BLOCK_WINDOW_NS + 1000;
	int64_t a = rng_below(&w->r, windows), b = rng_below(&w->r, windows);
	bool aligned = rng_below(&w->r, 4) == 0;

	for (uint32_t i = 0; i < SERIES; i++)
		q.wanted[i] = rng_below(&w->r, 3) != 0;
	if (rng_below(&w->r, 5) == 0)
		b = a + 1 + rng_below(&w->r, 360);
	q.from_ns = (a < b ? a : b) * BLOCK_WINDOW_NS;
	q.to_ns = (a < b ? b : a) * BLOCK_WINDOW_NS;
	if (aligned) {
		q.from_ns = q.from_ns / HEAD_SLOT_NS * HEAD_SLOT_NS;
		q.to_ns = q.to_ns / HEAD_SLOT_NS * HEAD_SLOT_NS;
	}
	q.from_ns += DAY0_NS;
	q.to_ns += DAY0_NS;
	return q;
}

/* Stacks and series of the world as the witness's hashes. */
struct keys {
	uint64_t stack[STACKS], series[SERIES];
};

static void keys_init(struct keys *k)
{
	struct profile *p = profile_new();

	for (uint32_t i = 0; i < STACKS; i++)
		k->stack[i] = stack_text_hash(p, add_stack(p, i, 0));
	for (uint32_t i = 0; i < SERIES; i++)
		k->series[i] = series_text_hash(p, add_series(p, i));
	profile_free(p);
}

/* The world's series as the view numbers them. */
static bool *wanted_of(struct store_view *v, const struct keys *k, const bool *wanted)
{
	const struct profile *catalog = store_view_catalog(v);
	bool *out = xcalloc(catalog->series.series.n + 1, sizeof *out);

	for (uint32_t i = 0; i < catalog->series.series.n; i++)
		for (uint32_t s = 0; s < SERIES; s++)
			if (series_text_hash(catalog, i) == k->series[s])
				out[i] = wanted[s];
	return out;
}

/* --- merge ------------------------------------------------------------------------------------ */

static void check_sums(const struct store_sums *sums, struct tally *got)
{
	for (uint32_t i = 0; i < sums->n; i++) {
		ck_assert(i == 0 || sums->stack[i] > sums->stack[i - 1]);
		ck_assert_int_ne(sums->value[i], 0);
		tally_add(got, stack_text_hash(sums->dict, sums->stack[i]), sums->value[i]);
	}
}

static void check_merge(struct world *w, struct store_view *v, const struct keys *k,
			const struct question *q, size_t rows)
{
	struct tally expected = { 0 }, got = { 0 };
	struct store_merged merged;
	bool *wanted = wanted_of(v, k, q->wanted);
	struct err err = { 0 };

	for (size_t i = 0; i < rows; i++)
		if (is_asked(q, &w->rows.v[i]))
			tally_add(&expected, k->stack[w->rows.v[i].stack], w->rows.v[i].value);
	ck_assert_msg(store_merge(v, wanted, q->from_ns, q->to_ns, &merged, &err) == 0, "%s",
		      err.text);
	ck_assert(!merged.rounded);
	for (size_t i = 0; i < merged.n; i++)
		check_sums(&merged.parts[i], &got);
	ck_assert_uint_eq(tally_diff(&expected, &got), 0);
	store_merged_done(&merged);
	tally_done(&expected);
	tally_done(&got);
	free(wanted);
}

/* --- steps ------------------------------------------------------------------------------------ */

static void check_steps(struct world *w, struct store_view *v, const struct keys *k,
			const struct question *q, size_t rows)
{
	enum { GROUPS = 3, MAX_STEPS = 500 };
	int64_t step_ns = (1 + rng_below(&w->r, 1000)) * BLOCK_WINDOW_NS;
	size_t steps = (q->to_ns - q->from_ns) / step_ns + 1;
	steps = steps < MAX_STEPS ? steps : MAX_STEPS;
	int64_t *expected = xcalloc(GROUPS * steps, sizeof *expected);
	int64_t *got = xcalloc(GROUPS * steps, sizeof *got);
	bool *wanted = wanted_of(v, k, q->wanted);
	const struct profile *catalog = store_view_catalog(v);
	uint32_t n = catalog->series.series.n;
	uint32_t *group = xcalloc(n + 1, sizeof *group);

	for (uint32_t i = 0; i < n; i++)
		group[i] = wanted[i] ? series_text_hash(catalog, i) % GROUPS : UINT32_MAX;
	for (size_t i = 0; i < rows; i++) {
		const struct told *t = &w->rows.v[i];
		size_t step = (t->window_ns - q->from_ns) / step_ns;
		if (q->wanted[t->series] && t->window_ns >= q->from_ns && step < steps)
			expected[k->series[t->series] % GROUPS * steps + step] += t->value;
	}
	ck_assert_int_eq(store_steps(v, group, q->from_ns, step_ns, steps, got, NULL), 0);
	ck_assert_mem_eq(expected, got, GROUPS * steps * sizeof *got);
	free(expected);
	free(got);
	free(group);
	free(wanted);
}

/* --- rows ------------------------------------------------------------------------------------- */

struct got_rows {
	struct tally tally;
	const struct profile *catalog;
	const struct question *q;
};

static int take_row(void *ctx, const struct store_row *row)
{
	struct got_rows *g = ctx;

	ck_assert(row->time_ns >= g->q->from_ns && row->time_ns < g->q->to_ns);
	tally_add(&g->tally,
		  row_key(series_text_hash(g->catalog, row->series),
			  stack_text_hash(row->dict, row->stack), row->time_ns),
		  row->value);
	return 0;
}

static int take_columns(void *ctx, const struct store_columns *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct store_row row = {
			.dict = c->dict,
			.series = c->series,
			.stack = c->stack[i],
			.time_ns = c->from_ns + c->window[i] * BLOCK_WINDOW_NS,
			.value = c->value[i],
		};
		take_row(ctx, &row);
	}
	return 0;
}

static void check_rows(struct world *w, struct store_view *v, const struct keys *k,
		       const struct question *q, size_t rows)
{
	struct got_rows got = { .catalog = store_view_catalog(v), .q = q }, columns = got;
	const struct store_taker taker = { .row = take_row,
					   .columns = take_columns,
					   .ctx = &columns };
	struct tally expected = { 0 };
	bool *wanted = wanted_of(v, k, q->wanted);

	for (size_t i = 0; i < rows; i++) {
		const struct told *t = &w->rows.v[i];
		if (is_asked(q, t))
			tally_add(&expected,
				  row_key(k->series[t->series], k->stack[t->stack], t->window_ns),
				  t->value);
	}
	ck_assert_int_eq(store_rows(v, wanted, q->from_ns, q->to_ns, take_row, &got, NULL), 0);
	ck_assert_uint_eq(tally_diff(&expected, &got.tally), 0);
	ck_assert_int_eq(store_columns(v, wanted, q->from_ns, q->to_ns, &taker, NULL), 0);
	ck_assert_uint_eq(tally_diff(&expected, &columns.tally), 0);
	tally_done(&expected);
	tally_done(&got.tally);
	tally_done(&columns.tally);
	free(wanted);
}

/* --- range ------------------------------------------------------------------------------------ */

static void check_range(struct world *w, struct store_view *v, size_t rows)
{
	int64_t from = INT64_MAX, to = INT64_MIN, got_from, got_to;

	for (size_t i = 0; i < rows; i++) {
		int64_t t = w->rows.v[i].window_ns;
		from = t < from ? t : from;
		to = t + BLOCK_WINDOW_NS > to ? t + BLOCK_WINDOW_NS : to;
	}
	store_view_range(v, &got_from, &got_to);
	ck_assert_int_eq(got_from, rows ? from : 0);
	ck_assert_int_eq(got_to, rows ? to : 0);
}

/* Checks a view that was opened when there were that many rows. */
static void check_view(struct world *w, struct store_view *v, size_t rows, int questions)
{
	struct keys k;

	keys_init(&k);
	check_range(w, v, rows);
	for (int i = 0; i < questions; i++) {
		struct question q = random_question(w);

		check_merge(w, v, &k, &q, rows);
		check_steps(w, v, &k, &q, rows);
		check_rows(w, v, &k, &q, rows);
	}
}

static void check_store(struct world *w, struct store *s, int questions)
{
	struct store_view *v;

	ck_assert_int_eq(store_view_open(s, &v, NULL), 0);
	check_view(w, v, w->rows.n, questions);
	store_view_close(v);
}

/* --- tests ------------------------------------------------------------------------------------ */

START_TEST(an_empty_store)
{
	struct world w;

	world_init(&w, 1);
	w.now_ns += STORE_DAY_NS;
	check_store(&w, w.s, 5);
	world_done(&w);
}
END_TEST

/* Days pass: heads, blocks, compacted ones, sealed days, late rows, a restart. */
START_TEST(all_queries)
{
	struct world w;

	world_init(&w, 2);
	for (int round = 0; round < ROUNDS * DAYS; round++) {
		w.now_ns += STORE_DAY_NS / ROUNDS;
		give_random(&w, 800, STORE_DAY_NS / ROUNDS);
		if (round % 7 == 3)
			give_random(&w, 100, 2 * STORE_DAY_NS);
		check_store(&w, w.s, 4);
		if (round % 3 == 1)
			maintain(&w);
		check_store(&w, w.s, 4);
		if (round % 10 == 9) {
			ck_assert_int_eq(store_close(w.s, NULL), 0);
			open_store(&w, false, &w.s);
		}
	}
	w.now_ns += 2 * STORE_DAY_NS;
	maintain(&w);
	check_store(&w, w.s, 60);
	world_done(&w);
}
END_TEST

/* Several views at the same time, each of its moment. */
START_TEST(a_view_stays_the_same)
{
	struct world w;
	struct store_view *views[4];
	size_t rows[4];

	world_init(&w, 3);
	w.now_ns += STORE_DAY_NS / 2;
	for (int i = 0; i < 4; i++) {
		give_random(&w, 500, STORE_DAY_NS / 4);
		rows[i] = w.rows.n;
		ck_assert_int_eq(store_view_open(w.s, &views[i], NULL), 0);
		if (i % 2)
			check_view(&w, views[i], rows[i], 2);
		give_random(&w, 50, STORE_DAY_NS / 2);
		w.now_ns += STORE_DAY_NS / 8;
		if (i != 1)
			maintain(&w);
	}
	w.now_ns += 2 * STORE_DAY_NS;
	maintain(&w);
	for (int i = 0; i < 4; i++) {
		check_view(&w, views[i], rows[i], 10);
		store_view_close(views[i]);
	}
	check_store(&w, w.s, 10);
	world_done(&w);
}
END_TEST

/* A second store on the directory, read-only, beside the writer: only blocks and the content of the inbox. */
START_TEST(with_the_writer)
{
	struct world w;
	struct store *reader;

	world_init(&w, 4);
	for (int i = 0; i < 6; i++) {
		w.now_ns += STORE_DAY_NS / 6;
		give_random(&w, 500, STORE_DAY_NS / 4);
		if (i % 2)
			maintain(&w);
		size_t rows = w.rows.n;
		struct store_view *v;
		open_store(&w, true, &reader);
		ck_assert_int_eq(store_view_open(reader, &v, NULL), 0);
		check_view(&w, v, rows, 4);
		give_random(&w, 100, STORE_DAY_NS / 4);
		w.now_ns += STORE_DAY_NS / 6;
		maintain(&w);
		check_view(&w, v, rows, 4);
		store_view_close(v);
		store_abandon(reader);
	}
	world_done(&w);
}
END_TEST

/* For samples of varying weight, their number and squares: exact over whole blocks. */
START_TEST(counts_and_squares)
{
	struct world w;
	struct keys k;
	struct store_view *v;
	struct store_merged merged;

	world_init(&w, 5);
	keys_init(&k);
	for (int i = 0; i < 3; i++) {
		w.now_ns += STORE_DAY_NS / 6;
		give_random(&w, 3000, STORE_DAY_NS / 6);
		if (i != 2)
			maintain(&w);
	}
	ck_assert_int_eq(store_view_open(w.s, &v, NULL), 0);
	for (uint32_t series = 0; series < SERIES; series++) {
		bool only[SERIES] = { false };

		double count = 0, squares = 0, got_count = 0, got_squares = 0;

		only[series] = true;
		bool *wanted = wanted_of(v, &k, only);
		for (size_t i = 0; i < w.rows.n; i++)
			if (w.rows.v[i].series == series) {
				count++;
				squares += (double)w.rows.v[i].value * w.rows.v[i].value;
			}
		ck_assert_int_eq(store_merge(v, wanted, 0, INT64_MAX, &merged, NULL), 0);
		for (size_t i = 0; i < merged.n; i++) {
			const struct store_sums *s = &merged.parts[i];
			ck_assert(s->n == 0 || (s->count != NULL) == is_weighted(series));
			for (uint32_t j = 0; s->count && j < s->n; j++) {
				got_count += s->count[j];
				got_squares += s->squares[j];
			}
		}
		if (is_weighted(series)) {
			ck_assert_double_eq_tol(got_count, count, 1e-6);
			ck_assert_double_eq_tol(got_squares / squares, 1, 1e-5);
		}
		store_merged_done(&merged);
		free(wanted);
	}
	store_view_close(v);
	world_done(&w);
}
END_TEST

/* --- one writes, others read ------------------------------------------------------------------ */

struct reading {
	struct world *w;
	atomic_bool over;
	atomic_int answers;
};

/* Whatever is written in the meantime: the same question twice has the same answer, and there is never less than before. */
static void *read_on(void *ctx)
{
	struct reading *r = ctx;
	int64_t before = 0;

	while (!r->over) {
		struct store_view *v;
		bool rounded;

		if (store_view_open(r->w->s, &v, NULL))
			return "cannot open a view";
		int64_t once = total_of(v, 0, INT64_MAX, &rounded);
		int64_t twice = total_of(v, 0, INT64_MAX, &rounded);
		store_view_close(v);
		if (once != twice || once < before)
			return "a view has changed";
		before = once;
		r->answers++;
	}
	return NULL;
}

START_TEST(readers_while_one_writes)
{
	struct world w;
	struct reading reading = { &w, false, 0 };
	pthread_t threads[2];
	void *wrong;

	world_init(&w, 9);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, read_on, &reading), 0);
	for (int i = 0; i < 60 || reading.answers < 20; i++) {
		w.now_ns += STORE_DAY_NS / 30;
		w.names = 1 + i / 20;
		give_random(&w, 200, STORE_DAY_NS / 20);
		if (i % 3 == 2)
			maintain(&w);
	}
	reading.over = true;
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(pthread_join(threads[i], &wrong), 0);
		ck_assert_msg(!wrong, "%s", (char *)wrong);
	}
	check_store(&w, w.s, 10);
	world_done(&w);
}
END_TEST

UNIT_MAIN("store_view", an_empty_store, all_queries, a_view_stays_the_same, with_the_writer,
	  counts_and_squares, readers_while_one_writes)
