// tier: test
// run: in memory
/* The hot tier compared with a list of what the store was given: every sample of its hours is there exactly once, unchanged, and windows answer for
 * all other hours; after crashes, damage, retention, pins and on a short disk. */
#include "base/err.h"
#include "base/mem.h"
#include "rand.h"
#include "store/codec/hot_block.h"
#include "store/day/hot.h"
#include "store/write/write.h"
#include "store_witness.h"
#include "unit.h"

#include <stdlib.h>

#define SECOND_NS 1000000000ll
#define HOUR_NS   (3600 * SECOND_NS)
#define START_NS  (20000 * 24 * HOUR_NS + 22 * HOUR_NS + HOUR_NS / 2) /* midnight is near */

/* A sample, or its part in one hour. */
struct told {
	uint64_t what;  /* series and stack */
	uint64_t exact; /* and all the rest but the value */
	int64_t time_ns, value;
};

struct world {
	char *dir;
	struct store *s;
	struct store_opts opts;
	int64_t now_ns;
	struct rng r;
	int64_t pinned_ns; /* the hour kept; 0: none */
	VEC(struct told) told;
};

static int64_t world_now(void *ctx)
{
	return ((struct world *)ctx)->now_ns;
}

static struct store *open_dir(struct world *w, const char *dir, bool read_only)
{
	struct err err = { 0 };
	struct store *s;

	w->opts.read_only = read_only;
	ck_assert_msg(store_open(dir, &w->opts, &s, &err) == 0, "%s", err.text);
	return s;
}

static void world_init(struct world *w, uint64_t seed)
{
	char path[] = "/tmp/cresset-hot-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(path));
	*w = (struct world){ .dir = xstrdup(path), .now_ns = START_NS, .r = { seed } };
	w->opts = (struct store_opts){ .now_ns = world_now, .ctx = w };
	w->s = open_dir(w, w->dir, false);
}

static void run(const char *format, const char *a, const char *b)
{
	char *command = xasprintf("%s '%s' '%s'", format, a, b);

	ck_assert_int_eq(system(command), 0);
	free(command);
}

static void world_done(struct world *w)
{
	ck_assert_int_eq(store_close(w->s, NULL), 0);
	run("rm -rf", w->dir, w->dir);
	free(w->dir);
	vec_done(&w->told);
}

static uint64_t exact_key(uint64_t what, const struct store_row *r)
{
	uint64_t link = r->link ? hash_bytes(r->link, sizeof *r->link) : 0;
	uint64_t ids = hash_mix(hash_mix(r->pid, r->tid), hash_mix(r->cpu, link));

	return hash_mix(hash_mix(what, ids), hash_mix(r->time_ns, r->length_ns));
}

/* --- batches ---------------------------------------------------------------------------------- */

static void tell(struct world *w, const struct profile *p, size_t row)
{
	const struct sample_columns *c = &p->samples;
	uint64_t what =
		hash_mix(series_text_hash(p, c->series[row]), stack_text_hash(p, c->stack[row]));
	int64_t at = c->time_ns[row], length = sample_length_ns(c, row), end = at + length;

	for (int64_t t = at; t == at || t < end;) {
		int64_t next = (t / HOUR_NS + 1) * HOUR_NS;
		next = next < end ? next : end;
		struct store_row part = { .time_ns = t,
					  .length_ns = next - t,
					  .pid = c->pid[row],
					  .tid = c->tid[row],
					  .cpu = c->cpu[row],
					  .link = link_get(&p->links, sample_link(c, row)) };
		int64_t value =
			length ? part_of(c->value[row], length, t - at, next - at) : c->value[row];
		struct told told = { what, exact_key(what, &part), t, value };
		if (value || !length) /* an empty share is in no hour */
			vec_push(&w->told, told);
		if (next == t)
			break;
		t = next;
	}
}

static struct profile *batch(struct world *w, int n)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "off-cpu"),
			     .sample_type = sink_string(s, "delay") };
	struct series series = { .type = s->ops->type(s, &type) };
	uint32_t id = s->ops->series(s, &series);

	for (int i = 0; i < n; i++) {
		char name[16];
		snprintf(name, sizeof name, "fn%u", (unsigned)rng_below(&w->r, 60));
		struct frame f = { .kind = FRAME_PYTHON,
				   .mapping = MAPPING_NONE,
				   .function = sink_string(s, name) };
		uint32_t frame = s->ops->frame(s, &f);
		struct trace_link link = { 0 };
		link.trace[3] = rng_below(&w->r, 5);
		link.span[7] = rng_below(&w->r, 9);
		struct sample sample = {
			.time_ns = w->now_ns - rng_below(&w->r, 3000) * SECOND_NS + i,
			.value = 1 + rng_below(&w->r, 100000),
			.series = id,
			.stack = s->ops->stack(s, &frame, 1),
			.pid = rng_below(&w->r, 3) ? rng_below(&w->r, 9) : SAMPLE_NO_ID,
			.tid = rng_below(&w->r, 9),
			.cpu = rng_below(&w->r, 4),
			.link = s->ops->link(s, &link)
		};
		if (rng_below(&w->r, 4) == 0)
			sample.length_ns = rng_below(&w->r, 5400) * SECOND_NS;
		s->ops->sample(s, &sample);
		tell(w, p, p->samples.n - 1);
	}
	return p;
}

static void ingest(struct world *w, int n)
{
	struct store_batch b = { .p = batch(w, n) };
	struct err err = { 0 };

	ck_assert_msg(store_ingest(w->s, &b, 1, NULL, &err) == 0, "%s", err.text);
	profile_free(b.p);
}

static void maintain(struct world *w)
{
	struct err err = { 0 };
	int rc;

	while ((rc = store_maintain(w->s, SECOND_NS, &err)) > 0)
		continue;
	ck_assert_msg(rc == 0, "%s", err.text);
}

static void restart(struct world *w, bool crash)
{
	if (crash)
		store_abandon(w->s);
	else
		ck_assert_int_eq(store_close(w->s, NULL), 0);
	w->s = open_dir(w, w->dir, false);
}

/* --- the content ------------------------------------------------------------------------------ */

struct found {
	struct store_view *v;
	struct tally exact, sums;
	int64_t window_from_ns, window_to_ns; /* of windows; INT64_MAX, INT64_MIN: none */
	int64_t exact_from_ns;
	size_t n_exact, n_windows;
};

static int take(void *ctx, const struct store_row *r)
{
	struct found *f = ctx;
	uint64_t what = hash_mix(series_text_hash(store_view_catalog(f->v), r->series),
				 stack_text_hash(r->dict, r->stack));

	tally_add(&f->sums, hash_mix(what, r->time_ns / HOUR_NS), r->value);
	if (r->is_window) {
		f->n_windows++;
		ck_assert_uint_eq(r->pid, SAMPLE_NO_ID);
		f->window_from_ns = r->time_ns < f->window_from_ns ? r->time_ns : f->window_from_ns;
		f->window_to_ns = r->time_ns > f->window_to_ns ? r->time_ns : f->window_to_ns;
	} else {
		f->n_exact++;
		f->exact_from_ns = r->time_ns < f->exact_from_ns ? r->time_ns : f->exact_from_ns;
		tally_add(&f->exact, exact_key(what, r), r->value);
	}
	return 0;
}

static void find(struct found *f, struct store_view *v, int64_t from_ns, int64_t to_ns)
{
	uint32_t n = store_view_catalog(v)->series.series.n;
	bool *wanted = malloc(n + 1);
	struct err err = { 0 };

	memset(wanted, true, n + 1);
	*f = (struct found){ .v = v,
			     .window_from_ns = INT64_MAX,
			     .window_to_ns = INT64_MIN,
			     .exact_from_ns = INT64_MAX };
	ck_assert_msg(store_whole_rows(v, wanted, from_ns, to_ns, take, f, &err) == 0, "%s",
		      err.text);
	free(wanted);
}

static void found_done(struct found *f)
{
	tally_done(&f->exact);
	tally_done(&f->sums);
}

static bool is_exact(const struct world *w, int64_t time_ns, int64_t exact_ns)
{
	return time_ns >= exact_ns || (w->pinned_ns && time_ns / HOUR_NS * HOUR_NS == w->pinned_ns);
}

/* Checks the first `n` that were given: each hour's sums are right whichever tier they come from; from exact_ns on, every row is unchanged. */
static void check_view(const struct world *w, struct store_view *v, size_t n, int64_t exact_ns)
{
	struct tally exact = { 0 }, sums = { 0 };
	struct found f;
	size_t n_exact = 0;

	find(&f, v, 0, INT64_MAX / 2);
	for (size_t i = 0; i < n; i++) {
		const struct told *t = &w->told.v[i];
		tally_add(&sums, hash_mix(t->what, t->time_ns / HOUR_NS), t->value);
		if (!is_exact(w, t->time_ns, exact_ns))
			continue;
		tally_add(&exact, t->exact, t->value);
		n_exact++;
	}
	ck_assert_uint_eq(tally_diff(&sums, &f.sums), 0);
	ck_assert_uint_eq(tally_diff(&exact, &f.exact), 0);
	ck_assert_uint_eq(f.n_exact, n_exact);
	ck_assert_int_lt(f.window_to_ns, exact_ns);
	tally_done(&exact);
	tally_done(&sums);
	found_done(&f);
}

static void check(const struct world *w, struct store *s, int64_t exact_ns)
{
	struct store_view *v;

	ck_assert_int_eq(store_view_open(s, &v, NULL), 0);
	check_view(w, v, w->told.n, exact_ns);
	store_view_close(v);
}

/* --- tests ------------------------------------------------------------------------------------- */

START_TEST(blocks_come_back)
{
	struct rng r = { 5 };

	for (int round = 0; round < 200; round++) {
		struct hot_rows in = { 0 }, out = { 0 };
		struct buf data = { 0 };
		size_t n = rng_below(&r, round + 1), n_links = n ? rng_below(&r, n + 1) : 0;
		for (size_t i = 0; i < n_links; i++) {
			struct trace_link link = { .span = { 1 + i % 200 } };
			vec_push(&in.links, link);
		}
		for (size_t i = 0; i < n; i++) {
			struct hot_row row = { .time_ns = (int64_t)rng_next(&r) / 2,
					       .length_ns =
						       rng_below(&r, 2) ? 0 : rng_next(&r) >> 2,
					       .value = (int64_t)rng_next(&r),
					       .series = (uint32_t)rng_next(&r),
					       .stack = (uint32_t)rng_next(&r),
					       .pid = SAMPLE_NO_ID - rng_below(&r, 2),
					       .tid = (uint32_t)rng_next(&r),
					       .cpu = rng_below(&r, 3),
					       .link = rng_below(&r, n_links + 1) };
			vec_push(&in.rows, row);
		}
		hot_block_encode(in.rows.v, n, in.links.v, n_links, &data);
		ck_assert_int_eq(hot_block_decode(data.data, data.len, &out, NULL), 0);
		ck_assert_uint_eq(out.rows.n, n);
		ck_assert_uint_eq(out.links.n, n_links);
		if (n)
			ck_assert_mem_eq(out.rows.v, in.rows.v, n * sizeof *in.rows.v);
		if (n_links)
			ck_assert_mem_eq(out.links.v, in.links.v, n_links * sizeof *in.links.v);
		for (size_t cut = 0; cut < data.len; cut += 1 + data.len / 20)
			ck_assert_int_eq(hot_block_decode(data.data, cut, &out, NULL), -EBADMSG);
		hot_rows_done(&in);
		hot_rows_done(&out);
		buf_done(&data);
	}
}
END_TEST

START_TEST(every_sample_is_there_unchanged)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct world w;
		world_init(&w, seed);
		if (seed == 4)
			w.opts.memory_bytes = 2 << 20; /* buffers are flushed often */
		restart(&w, false);
		for (int i = 0; i < 24; i++) {
			ingest(&w, seed == 4 ? 3000 : 300);
			w.now_ns += HOUR_NS / 20;
			if (i % 5 == 0)
				check(&w, w.s, 0);
			if (i % 7 == 3)
				maintain(&w);
			if (i % 6 == 4)
				restart(&w, i % 4 == 0);
		}
		check(&w, w.s, 0);
		restart(&w, true);
		check(&w, w.s, 0);
		restart(&w, false);
		check(&w, w.s, 0);
		world_done(&w);
	}
}
END_TEST

START_TEST(a_copy_of_any_moment_is_complete)
{
	struct world w;

	world_init(&w, 11);
	for (int i = 0; i < 16; i++) {
		char copy[64];
		ingest(&w, 200);
		w.now_ns += HOUR_NS / 12;
		if (i % 3 == 2)
			maintain(&w);
		snprintf(copy, sizeof copy, "%s.copy", w.dir);
		run("cp -r", w.dir, copy);
		struct store *s = open_dir(&w, copy, i % 2);
		check(&w, s, 0);
		store_abandon(s);
		/* And with a reader beside the writer. */
		s = open_dir(&w, w.dir, true);
		check(&w, s, 0);
		store_abandon(s);
		run("rm -rf", copy, copy);
	}
	world_done(&w);
}
END_TEST

START_TEST(old_hours_go_and_pinned_ones_stay)
{
	struct world w;
	int64_t pinned_ns = START_NS / HOUR_NS * HOUR_NS;
	struct store_pin pin = { pinned_ns, pinned_ns + 1 }, *pins;

	world_init(&w, 3);
	ck_assert_int_eq(store_pin(w.s, &pin, NULL), 0);
	for (int i = 0; i < 40; i++) {
		ingest(&w, 100);
		w.now_ns += HOUR_NS / 10;
		maintain(&w);
	}
	int64_t kept_ns = (w.now_ns - 2 * HOUR_NS) / HOUR_NS * HOUR_NS;
	for (size_t i = 0; i < w.s->hot.n; i++)
		ck_assert(w.s->hot.v[i]->from_ns >= kept_ns || w.s->hot.v[i]->from_ns == pinned_ns);
	w.pinned_ns = pinned_ns;
	check(&w, w.s, kept_ns);
	restart(&w, true);
	check(&w, w.s, kept_ns);
	ck_assert_uint_eq(store_pins(w.s, &pins), 1);
	free(pins);
	ck_assert_int_eq(store_unpin(w.s, &pin, NULL), 0);
	ck_assert_int_eq(store_unpin(w.s, &pin, NULL), -ENOENT);
	maintain(&w);
	w.pinned_ns = 0;
	check(&w, w.s, kept_ns);
	world_done(&w);
}
END_TEST

/* A view shows the moment it was opened at, whatever arrives, becomes blocks or is about to be deleted. */
START_TEST(a_view_stays_the_same)
{
	struct world w;
	struct store_view *v[8];
	size_t told[8];

	world_init(&w, 21);
	for (int i = 0; i < 8; i++) {
		ingest(&w, 150);
		ck_assert_int_eq(store_view_open(w.s, &v[i], NULL), 0);
		told[i] = w.told.n;
		w.now_ns += HOUR_NS / 3;
		if (i % 2)
			maintain(&w);
	}
	for (int i = 0; i < 8; i++)
		check_view(&w, v[i], told[i], 0);
	w.now_ns += 9 * HOUR_NS;
	maintain(&w);
	for (int i = 0; i < 8; i++) {
		check_view(&w, v[i], told[i], 0);
		store_view_close(v[i]);
	}
	maintain(&w);
	check(&w, w.s, INT64_MAX);
	world_done(&w);
}
END_TEST

/* Flips all bits of one byte of each block's data in turn: windows answer for the hour, and the damage is counted. */
START_TEST(damage_is_set_aside)
{
	struct world w;

	world_init(&w, 8);
	for (int i = 0; i < 4; i++)
		ingest(&w, 500);
	ck_assert_int_eq(store_close(w.s, NULL), 0);
	run("sh -c 'for f in \"$1\"/hot/*.db; do sqlite3 \"$f\" \"UPDATE block SET data = "
	    "substr(data, 1, 40) || char(1) || substr(data, 42)\"; done' sh",
	    w.dir, w.dir);
	w.s = open_dir(&w, w.dir, false);
	size_t hours = w.s->hot.n;
	struct store_stats stats;
	ck_assert_uint_gt(hours, 1);
	check(&w, w.s, INT64_MAX);
	store_get_stats(w.s, &stats);
	ck_assert_uint_eq(stats.bad_blocks, hours);
	ingest(&w, 100);
	check(&w, w.s, INT64_MAX);
	maintain(&w);
	ck_assert_uint_eq(w.s->hot.n, 0);
	restart(&w, true);
	check(&w, w.s, INT64_MAX);
	w.now_ns += 4 * HOUR_NS; /* hours that begin now are exact again */
	size_t before = w.told.n;
	ingest(&w, 100);
	int64_t first = INT64_MAX;
	for (size_t i = before; i < w.told.n; i++)
		first = w.told.v[i].time_ns < first ? w.told.v[i].time_ns : first;
	check(&w, w.s, first / HOUR_NS * HOUR_NS);
	world_done(&w);
}
END_TEST

/* Unpinned hours go first, oldest first; a pinned one never goes while anything else is left. */
START_TEST(a_short_disk_takes_them_first)
{
	struct world w;
	int64_t pinned_ns = START_NS / HOUR_NS * HOUR_NS;
	struct store_pin pin = { pinned_ns, pinned_ns + 1 };

	world_init(&w, 13);
	ck_assert_int_eq(store_pin(w.s, &pin, NULL), 0);
	w.opts.hot_ns = 100 * HOUR_NS;
	restart(&w, false);
	for (int i = 0; i < 12; i++) {
		ingest(&w, 400);
		w.now_ns += HOUR_NS / 2;
		maintain(&w);
	}
	size_t parts = w.s->parts.n, hours = w.s->hot.n;
	ck_assert_uint_gt(hours, 5);
	store_lock(w.s);
	while (store_hot_bytes(w.s) && w.s->hot.n > 1) {
		int64_t oldest_ns = w.s->hot.v[0]->from_ns == pinned_ns ? w.s->hot.v[1]->from_ns
									: w.s->hot.v[0]->from_ns;
		w.s->opts.disk_bytes = store_disk_bytes(w.s) - 1;
		ck_assert_int_eq(store_retain(w.s, 0, NULL), 1);
		ck_assert_uint_eq(w.s->hot.n, --hours);
		for (size_t i = 0; i < w.s->hot.n; i++)
			ck_assert_int_ne(w.s->hot.v[i]->from_ns, oldest_ns);
		ck_assert_uint_eq(w.s->parts.n, parts);
	}
	ck_assert_int_eq(w.s->hot.v[0]->from_ns, pinned_ns);
	for (int rc = 1; rc > 0;)
		rc = store_retain(w.s, 1ull << 40, NULL);
	ck_assert_uint_eq(w.s->hot.n, 0);
	ck_assert_uint_eq(w.s->parts.n, 1);
	store_unlock(w.s);
	w.s->opts.disk_bytes = 1ull << 40;
	world_done(&w);
}
END_TEST

UNIT_MAIN("hot", blocks_come_back, every_sample_is_there_unchanged,
	  a_copy_of_any_moment_is_complete, old_hours_go_and_pinned_ones_stay,
	  a_view_stays_the_same, damage_is_set_aside, a_short_disk_takes_them_first)
