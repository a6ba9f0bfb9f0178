/* Questions put to a store, compared with the rows that were given to it, one by one: all series, stacks and ranges, in heads, in blocks, compacted,
 * sealed, with and without detail; a view stays what it was. */
#define UNIT_TIMEOUT_S 300
#include "unit.h"

#include "query/source.h"
#include "rand.h"
#include "store/store_state.h"
#include "store_witness.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define DAY0_NS   (20000 * STORE_DAY_NS)
#define SECOND_NS 1000000000ll

enum { SERIES = 7, STACKS = 40, DAYS = 3, ROUNDS = 12 };

/* One sample, as it was given. */
struct told {
	uint32_t series, stack;
	int64_t window_ns, value;
};

struct world {
	char *dir;
	struct store *s;
	int64_t now_ns;
	struct rng r;
	VEC(struct told) rows;
	uint32_t names; /* version of the names that batches carry */
};

static int64_t world_now(void *ctx)
{
	return ((struct world *)ctx)->now_ns;
}

static void open_store(struct world *w, bool read_only, struct store **out)
{
	struct store_opts opts = {
		.read_only = read_only, .hot_ns = -1, .now_ns = world_now, .ctx = w
	};
	struct err err = { 0 };

	ck_assert_msg(store_open(w->dir, &opts, out, &err) == 0, "%s", err.text);
}

static void world_init(struct world *w, uint64_t seed)
{
	char path[] = "/tmp/cresset-view-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(path));
	*w = (struct world){ .dir = xstrdup(path), .now_ns = DAY0_NS, .r = { seed } };
	open_store(w, false, &w->s);
}

static void world_done(struct world *w)
{
	char *command = xasprintf("rm -r '%s'", w->dir);

	ck_assert_int_eq(store_close(w->s, NULL), 0);
	ck_assert_int_eq(system(command), 0);
	free(command);
	free(w->dir);
	vec_done(&w->rows);
}

/* --- batches ---------------------------------------------------------------------------------- */

static bool is_weighted(uint32_t series)
{
	return series % 3 == 2;
}

static uint32_t add_series(struct profile *p, uint32_t n)
{
	struct sink *s = profile_sink(p);
	struct type cpu = { .name = sink_string(s, "cpu"),
			    .sample_type = sink_string(s, "samples"),
			    .unit = sink_string(s, "count"),
			    .period_type = sink_string(s, "cpu"),
			    .period_unit = sink_string(s, "nanoseconds") };
	struct type wait = { .name = sink_string(s, "off-cpu"),
			     .sample_type = sink_string(s, "delay"),
			     .unit = sink_string(s, "nanoseconds") };
	char comm[16];

	snprintf(comm, sizeof comm, "c%u", n);
	struct label label = { .key = sink_string(s, "comm"), .str = sink_string(s, comm) };
	struct series series = { .type = s->ops->type(s, is_weighted(n) ? &wait : &cpu),
				 .period = is_weighted(n) ? 0 : 10000000,
				 .labels = s->ops->labels(s, &label, 1) };
	return s->ops->series(s, &series);
}

static uint32_t add_frame(struct profile *p, uint32_t n)
{
	struct sink *s = profile_sink(p);
	struct mapping m = { .name = sink_string(s, "/bin/a"), .build_id_len = 8 };

	m.build_id[0] = 1 + n % 3;
	return s->ops->frame(s, &(struct frame){ .kind = FRAME_NATIVE,
						 .mapping = s->ops->mapping(s, &m),
						 .offset = 4096 + n });
}

static void name_frame(struct profile *p, uint32_t frame, uint32_t n, uint32_t version)
{
	struct sink *s = profile_sink(p);
	char name[32];

	snprintf(name, sizeof name, "f%u_v%u", n, version);
	struct function f = { .name = sink_string(s, name) };
	struct line line = { .function = s->ops->function(s, &f) };
	s->ops->names(s, frame, &line, 1);
}

/* Stack n: some share beginnings. */
static uint32_t add_stack(struct profile *p, uint32_t n, uint32_t version)
{
	uint32_t frames[6], depth = 0, offsets[] = { n % 2, 10 + n % 5, 20 + n % 7, 100 + n };

	for (; depth < 4; depth++) {
		frames[depth] = add_frame(p, offsets[depth]);
		if (version)
			name_frame(p, frames[depth], offsets[depth], version);
	}
	return p->sink.ops->stack(&p->sink, frames, depth);
}

static void add_sample(struct world *w, struct profile *p, int64_t time_ns)
{
	struct sink *s = profile_sink(p);
	struct told t = { .series = rng_below(&w->r, SERIES), .stack = rng_below(&w->r, STACKS) };
	struct sample sample = {
		.time_ns = time_ns, .pid = SAMPLE_NO_ID, .tid = SAMPLE_NO_ID, .cpu = SAMPLE_NO_ID
	};

	t.value = is_weighted(t.series) ? 1 + rng_below(&w->r, 1000000) : 1 + rng_below(&w->r, 3);
	t.window_ns = time_ns / BLOCK_WINDOW_NS * BLOCK_WINDOW_NS;
	sample.series = add_series(p, t.series);
	sample.stack = add_stack(p, t.stack, w->names);
	sample.value = t.value;
	s->ops->sample(s, &sample);
	vec_push(&w->rows, t);
}

static void give(struct world *w, struct profile *p)
{
	struct store_batch batch = { .p = p };
	struct err err = { 0 };

	ck_assert_msg(store_ingest(w->s, &batch, 1, NULL, &err) == 0, "%s", err.text);
	profile_free(p);
}

/* n samples from up to back_ns before now. Times are Unix time. */
static void give_random(struct world *w, size_t n, int64_t back_ns)
{
	struct profile *p = profile_new();

	for (size_t i = 0; i < n; i++) {
		int64_t at = w->now_ns - (int64_t)rng_below(&w->r, back_ns);
		add_sample(w, p, at < DAY0_NS ? DAY0_NS : at);
	}
	give(w, p);
}

static void maintain(struct world *w)
{
	struct err err = { 0 };
	int rc;

	while ((rc = store_maintain(w->s, SECOND_NS, &err)) > 0)
		continue;
	ck_assert_msg(rc == 0, "%s", err.text);
}

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

/* Stacks and series of the world as the witness' hashes. */
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
	const struct store_taker taker = { take_row, take_columns, &columns };
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

/* A view that was opened when there were so many rows. */
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

/* Days pass: heads, blocks, compacted ones, sealed days, rows that come late, a restart. */
START_TEST(all_questions)
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

/* Several views at once, each of its moment. */
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

/* A second store on the folder, read-only, beside the one that writes: blocks and what is in the inbox only. */
START_TEST(beside_the_writer)
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

/* Of samples of varying weight their number and squares: exact over whole blocks. */
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

/* --- without detail --------------------------------------------------------------------------- */

static int64_t total_of(struct store_view *v, int64_t from_ns, int64_t to_ns, bool *rounded)
{
	struct store_merged merged;
	int64_t total = 0;

	ck_assert_int_eq(store_merge(v, NULL, from_ns, to_ns, &merged, NULL), 0);
	for (size_t i = 0; i < merged.n; i++)
		for (uint32_t k = 0; k < merged.parts[i].n; k++)
			total += merged.parts[i].value[k];
	*rounded = merged.rounded;
	store_merged_done(&merged);
	return total;
}

/* Whole hours stay exact; a range that ends inside one takes all of it when it has its middle, else nothing. */
START_TEST(without_detail)
{
	struct world w;
	struct store_view *v;
	struct err err = { 0 };
	int64_t hours[3] = { 0 };
	bool rounded;

	world_init(&w, 6);
	w.now_ns += 3 * HEAD_SLOT_NS - 1;
	give_random(&w, 2000, 3 * HEAD_SLOT_NS - 1);
	for (size_t i = 0; i < w.rows.n; i++)
		hours[(w.rows.v[i].window_ns - DAY0_NS) / HEAD_SLOT_NS] += w.rows.v[i].value;
	store_lock(w.s);
	ck_assert_int_eq(store_part_flush(w.s, w.s->parts.v[0], &err), 0);
	store_unlock(w.s);
	ck_assert_int_eq(part_drop_detail(w.s->parts.v[0]->part, &err), 0);

	ck_assert_int_eq(store_view_open(w.s, &v, NULL), 0);
	ck_assert_int_eq(total_of(v, DAY0_NS, DAY0_NS + 2 * HEAD_SLOT_NS, &rounded),
			 hours[0] + hours[1]);
	ck_assert(!rounded);
	int64_t before = DAY0_NS + HEAD_SLOT_NS + HEAD_SLOT_NS / 2;
	ck_assert_int_eq(total_of(v, DAY0_NS, before, &rounded), hours[0]);
	ck_assert(rounded);
	ck_assert_int_eq(total_of(v, DAY0_NS, before + BLOCK_WINDOW_NS, &rounded),
			 hours[0] + hours[1]);
	ck_assert(rounded);
	store_view_close(v);
	world_done(&w);
}
END_TEST

/* --- names ------------------------------------------------------------------------------------ */

/* How many frames of all stacks of an answer have a name of this version, or of another. */
static void count_names(struct store_view *v, uint32_t version, size_t *with, size_t *without)
{
	struct store_merged merged;
	char suffix[16];

	snprintf(suffix, sizeof suffix, "_v%u", version);
	*with = *without = 0;
	ck_assert_int_eq(store_merge(v, NULL, 0, INT64_MAX, &merged, NULL), 0);
	for (size_t i = 0; i < merged.n; i++)
		for (uint32_t k = 0; k < merged.parts[i].n; k++) {
			struct profile *p = merged.parts[i].dict;
			uint32_t frames[16], stack = merged.parts[i].stack[k];

			stack_frames(&p->stacks, stack, frames);
			for (uint32_t f = 0; f < stack_depth(&p->stacks, stack); f++) {
				const struct line *line;
				bool has =
					names_get(&p->names, frames[f], &line) &&
					strstr(profile_str(
						       p,
						       p->names.functions.v[line->function].name),
					       suffix);
				*(has ? with : without) += 1;
			}
		}
	store_merged_done(&merged);
}

START_TEST(late_names)
{
	struct world w;
	struct store_view *v;
	size_t with, without;

	world_init(&w, 7);
	for (uint32_t version = 0; version < 3; version++) {
		/* All stacks on each of three days; names come with the last one only. */
		w.names = version;
		w.now_ns += STORE_DAY_NS;
		give_random(&w, 2000, STORE_DAY_NS / 3);
		maintain(&w);
		ck_assert_int_eq(store_view_open(w.s, &v, NULL), 0);
		count_names(v, version, &with, &without);
		ck_assert_uint_gt(version ? with : without, STACKS * 3);
		ck_assert_uint_eq(version ? without : with, 0);
		store_view_close(v);
	}
	world_done(&w);
}
END_TEST

/* --- as a source, and stopped ----------------------------------------------------------------- */

static bool stop_at_once(void *ctx)
{
	++*(int *)ctx;
	return true;
}

START_TEST(as_a_source)
{
	struct world w;
	struct source *source;
	struct source_merged merged;
	struct err err = { 0 };
	int64_t total = 0, expected = 0, from, to;
	int asked = 0;

	world_init(&w, 8);
	w.now_ns += STORE_DAY_NS / 2;
	give_random(&w, 1000, STORE_DAY_NS / 4);
	store_lock(w.s);
	ck_assert_int_eq(store_part_flush(w.s, w.s->parts.v[0], &err), 0);
	store_unlock(w.s);
	give_random(&w, 100, STORE_DAY_NS / 4);
	for (size_t i = 0; i < w.rows.n; i++)
		expected += w.rows.v[i].value;

	ck_assert_msg(source_open_store(w.dir, &source, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(source->ops->catalog(source)->series.series.n, SERIES);
	source->ops->range(source, &from, &to);
	ck_assert_int_eq(source->ops->merge(source, NULL, from, to, &merged, &err), 0);
	for (size_t i = 0; i < merged.n; i++)
		for (uint32_t k = 0; k < merged.parts[i].n; k++)
			total += merged.parts[i].value[k];
	ck_assert_int_eq(total, expected);
	source_merged_done(&merged);

	source->stop = stop_at_once;
	source->stop_ctx = &asked;
	ck_assert_int_eq(source->ops->merge(source, NULL, from, to, &merged, &err), -ECANCELED);
	ck_assert_int_eq(asked, 1);
	source_close(source);
	world_done(&w);
}
END_TEST

/* --- one writes, others read ------------------------------------------------------------------ */

struct reading {
	struct world *w;
	atomic_bool over;
	atomic_int answers;
};

/* Whatever is written meanwhile: the same question twice has the same answer, and there is never less than before. */
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

UNIT_MAIN("store_view", as_a_source, readers_while_one_writes, an_empty_store, all_questions,
	  a_view_stays_the_same, beside_the_writer, counts_and_squares, without_detail, late_names)
