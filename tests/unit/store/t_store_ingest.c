// tier: test
// parts: 2
// run: in memory
/* What goes into a store is in it, once: in any order, at any hour, and however the previous process ended. */
#include "base/err.h"
#include "ingest_world.h"

#include <sqlite3.h>
#include <sys/stat.h>

/* --- the same rows ---------------------------------------------------------------------------- */

START_TEST(one_batch)
{
	struct world w;
	struct profile *p = batch_at(1, START_NS - HOUR_NS, HOUR_NS, true);
	struct err err = { 0 };

	world_init(&w, (struct store_opts){ 0 });
	ck_assert_msg(world_ingest(&w, p, NULL, 0, &err) == 0, "%s", err.text);
	world_check(&w);
	store_world_restart(&w.base, true);
	world_check(&w);
	store_world_restart(&w.base, false);
	world_check(&w);
	store_world_restart(&w.base, true);
	world_check(&w);
	ck_assert_uint_eq(w.base.s->stats.replayed, 0);
	profile_free(p);
	world_done(&w);
}
END_TEST

static void random_step(struct world *w, struct rng *rng, uint64_t step)
{
	static const uint8_t sender[STORE_SENDER_BYTES] = "agent";
	struct err err = { 0 };
	int64_t late_ns = rng_below(rng, 4) ? 0 : (int64_t)rng_below(rng, 3 * DAY_NS);
	int64_t span_ns = rng_below(rng, 5) ? 10 * SECOND_NS : DAY_NS;
	struct profile *p =
		batch_at(step + 1, w->base.now_ns - late_ns - span_ns, span_ns, step % 2);
	int rc = world_ingest(w, p, sender, step + 1, &err);

	ck_assert_msg(rc == 0, "%s", err.text);
	if (rng_below(rng, 3) == 0)
		ck_assert_int_eq(world_ingest(w, p, sender, step + 1, &err), 1);
	profile_free(p);
	if (rng_below(rng, 3) == 0)
		w->base.now_ns += (int64_t)rng_below(rng, 2 * HOUR_NS);
	if (rng_below(rng, 20) == 0) /* somebody sets the clock */
		w->base.now_ns += (int64_t)rng_below(rng, 12 * HOUR_NS) - 6 * HOUR_NS;
	if (rng_below(rng, 2) == 0)
		world_maintain(w);
	if (rng_below(rng, 6) == 0)
		store_world_restart(&w->base, rng_below(rng, 2));
	if (rng_below(rng, 10) == 0)
		world_check(w);
}

static void random_history(uint64_t seed)
{
	struct rng rng = { 4711 + 7919 * seed };
	struct world w;

	/* Little memory: heads and dictionaries outgrow it constantly. */
	world_init(&w, (struct store_opts){ .memory_bytes = seed % 2 ? 400000 : 0 });
	for (uint64_t step = 0; step < 150; step++)
		random_step(&w, &rng, step);
	world_check(&w);
	w.base.now_ns += 3 * DAY_NS;
	world_maintain(&w);
	world_check(&w);
	for (size_t i = 0; i < w.base.s->parts.n; i++)
		ck_assert_uint_eq(w.base.s->parts.v[i]->heads.rows, 0);
	store_world_restart(&w.base, true);
	ck_assert_uint_eq(w.base.s->stats.replayed, 0);
	world_check(&w);
	world_done(&w);
}

START_TEST(a_history_gives_the_same_rows)
{
	random_history(0);
}
END_TEST

START_TEST(another_history_in_little_memory)
{
	random_history(1);
}
END_TEST

START_TEST(a_third_history)
{
	random_history(2);
}
END_TEST

START_TEST(a_fourth_history_in_little_memory)
{
	random_history(3);
}
END_TEST

START_TEST(numbers_too_far_ahead_are_reported)
{
	static const uint8_t sender[STORE_SENDER_BYTES] = "x";
	struct profile *p = batch_at(1, START_NS - HOUR_NS, SECOND_NS, false);
	struct err err = { 0 };
	struct world w;

	world_init(&w, (struct store_opts){ 0 });
	ck_assert_int_eq(world_ingest(&w, p, sender, 1025, &err), -ERANGE);
	ck_assert_ptr_nonnull(strstr(err.text, "too far ahead"));
	ck_assert_int_eq(world_ingest(&w, p, sender, 1024, &err), 0);
	ck_assert_int_eq(world_ingest(&w, p, sender, 1, &err), 0);
	ck_assert_int_eq(world_ingest(&w, p, sender, 1025, &err), 0);
	ck_assert_int_eq(world_ingest(&w, p, sender, 1024, &err), 1);
	world_check(&w);
	profile_free(p);
	world_done(&w);
}
END_TEST

START_TEST(one_writer)
{
	struct err err = { 0 };
	struct store *second;
	struct world w;
	char pid[32];

	world_init(&w, (struct store_opts){ 0 });
	ck_assert_int_eq(store_open(w.base.dir, &w.base.opts, &second, &err), -EBUSY);
	snprintf(pid, sizeof pid, "pid %d", (int)getpid());
	ck_assert_ptr_nonnull(strstr(err.text, pid));
	world_done(&w);
}
END_TEST

/* A reader sees what the writer has acknowledged, from the files alone. */
START_TEST(a_concurrent_reader)
{
	struct profile *p = batch_at(3, START_NS - DAY_NS, DAY_NS, true);
	struct store_opts read_only = { .read_only = true };
	struct err err = { 0 };
	struct tally have = { 0 };
	struct store *reader;
	struct world w;

	world_init(&w, (struct store_opts){ 0 });
	ck_assert_int_eq(world_ingest(&w, p, NULL, 0, &err), 0);
	w.base.now_ns += 2 * HOUR_NS;
	world_maintain(&w);
	ck_assert_int_eq(world_ingest(&w, p, NULL, 0, &err), 0);
	ck_assert_msg(store_open(w.base.dir, &read_only, &reader, &err) == 0, "%s", err.text);
	tally_store(&have, reader);
	ck_assert_uint_eq(tally_diff(&w.want, &have), 0);
	tally_done(&have);
	ck_assert_int_eq(store_close(reader, &err), 0);
	profile_free(p);
	world_done(&w);
}
END_TEST

/* --- times ------------------------------------------------------------------------------------ */

static int64_t only_window(struct store *s)
{
	ck_assert_uint_eq(s->parts.n, 1);
	ck_assert_uint_eq(s->parts.v[0]->heads.all.n, 1);
	const struct head *h = &s->parts.v[0]->heads.all.v[0];
	ck_assert_uint_eq(h->rows.n, 1);
	return h->from_ns + h->rows.v[0].window * BLOCK_WINDOW_NS;
}

static struct profile *one_sample(int64_t time_ns)
{
	struct random_profile r =
		random_profile(9, (struct random_shape){ .n_stacks = 1, .n_samples = 1 });

	r.p->samples.time_ns[0] = time_ns;
	r.p->samples.value[0] = 5;
	return r.p;
}

START_TEST(clocks_of_batches)
{
	static const struct {
		int64_t time, mono, wall, want;
	} cases[] = {
		/* on a clock of its own that started at a known moment */
		{ 70 * SECOND_NS, 50 * SECOND_NS, START_NS, START_NS + 20 * SECOND_NS },
		/* Unix time */
		{ START_NS - 30 * SECOND_NS, 0, 0, START_NS - 30 * SECOND_NS },
		/* without times: its start, otherwise its arrival */
		{ 0, 50 * SECOND_NS, START_NS - 40 * SECOND_NS, START_NS - 40 * SECOND_NS },
		{ 0, 0, 0, START_NS },
		/* from a clock in the far future: its arrival */
		{ START_NS + 3 * DAY_NS, 0, 0, START_NS },
		{ INT64_MAX, 0, INT64_MAX, START_NS },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct profile *p = one_sample(cases[i].time);
		struct err err = { 0 };
		struct world w;
		p->meta.start_mono_ns = cases[i].mono;
		p->meta.start_wall_ns = cases[i].wall;
		world_init(&w, (struct store_opts){ 0 });
		struct store_batch b = { .p = p };
		ck_assert_msg(store_ingest(w.base.s, &b, 1, NULL, &err) == 0, "%s", err.text);
		ck_assert_int_eq(only_window(w.base.s), cases[i].want);
		profile_free(p);
		world_done(&w);
	}
}
END_TEST

/* Data received with a wrong clock stays where it went, also when it is replayed on another day. */
START_TEST(replay_does_not_move_rows)
{
	struct profile *p = batch_at(5, START_NS + 5 * DAY_NS, 3 * SECOND_NS, false);
	struct profile *q = batch_at(5, START_NS, 1, false);
	struct err err = { 0 };
	struct world w;
	struct store_batch b = { .p = p };

	world_init(&w, (struct store_opts){ 0 });
	ck_assert_int_eq(store_ingest(w.base.s, &b, 1, NULL, &err), 0);
	tally_batch(&w.want, q, 0);
	world_check(&w);
	w.base.now_ns += 2 * DAY_NS;
	store_world_restart(&w.base, true);
	world_check(&w);
	profile_free(p);
	profile_free(q);
	world_done(&w);
}
END_TEST

/* --- weights ---------------------------------------------------------------------------------- */

START_TEST(weights_of_waits)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type off = { .name = sink_string(s, "off-cpu"),
			    .sample_type = sink_string(s, "wait"),
			    .unit = sink_string(s, "nanoseconds") };
	struct series series = { .type = s->ops->type(s, &off) };
	int64_t waits[] = { 25 * SECOND_NS, 4 * SECOND_NS, SECOND_NS };
	struct sample sample = { .series = s->ops->series(s, &series) };
	struct store_batch b = { .p = p };
	struct block_row *rows;
	struct world w;
	double squares = 0, want = 0;
	uint32_t n = 0;

	for (int i = 0; i < 3; i++) {
		sample.time_ns = START_NS - 60 * SECOND_NS;
		sample.value = sample.length_ns = waits[i];
		want += (double)waits[i] * waits[i];
		s->ops->sample(s, &sample);
	}
	world_init(&w, (struct store_opts){ 0 });
	ck_assert_int_eq(store_ingest(w.base.s, &b, 1, NULL, NULL), 0);
	ck_assert_uint_eq(w.base.s->parts.v[0]->heads.all.n, 1);
	size_t n_rows = head_sort(&w.base.s->parts.v[0]->heads.all.v[0], &rows);
	ck_assert_uint_eq(n_rows, 3); /* windows */
	ck_assert_int_eq(rows[0].value, 15 * SECOND_NS);
	ck_assert_int_eq(rows[1].value, 10 * SECOND_NS);
	ck_assert_int_eq(rows[2].value, 5 * SECOND_NS);
	for (size_t i = 0; i < n_rows; i++) {
		n += rows[i].n;
		squares += rows[i].squares;
	}
	ck_assert_uint_eq(n, 3);
	ck_assert_double_eq(squares, want);
	free(rows);
	profile_free(p);
	world_done(&w);
}
END_TEST

/* --- series ----------------------------------------------------------------------------------- */

static struct profile *labelled(const char *comm, int container)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type cpu = { .name = sink_string(s, "cpu"),
			    .sample_type = sink_string(s, "samples") };
	char id[32];
	snprintf(id, sizeof id, "c%d", container);
	struct label labels[] = {
		{ .key = sink_string(s, "comm"), .str = sink_string(s, comm) },
		{ .key = sink_string(s, "container_id"), .str = sink_string(s, id) },
	};
	struct series series = { .type = s->ops->type(s, &cpu),
				 .labels = s->ops->labels(s, labels, 2) };
	struct sample sample = { .time_ns = START_NS - 1,
				 .value = 1,
				 .series = s->ops->series(s, &series) };
	s->ops->sample(s, &sample);
	return p;
}

static void ingest_labelled(struct world *w, const char *comm, int container)
{
	struct profile *p = labelled(comm, container);
	struct store_batch b = { .p = p };

	ck_assert_int_eq(store_ingest(w->base.s, &b, 1, NULL, NULL), 0);
	profile_free(p);
}

/* The label with many values gives way, the one with few stays; no sample is refused. */
START_TEST(series_stay_bounded)
{
	struct store_stats stats;
	struct world w;
	bool bash = false;

	world_init(&w, (struct store_opts){ .max_series = 100 });
	for (int i = 0; i < 1000; i++)
		ingest_labelled(&w, i % 2 ? "bash" : "redis", i);
	store_get_stats(w.base.s, &stats);
	ck_assert_uint_eq(stats.rows, 1000);
	ck_assert_uint_eq(stats.folded_series, 900);
	ck_assert_uint_eq(stats.series, 102);
	const struct profile *c = catalog_profile(w.base.s->catalog);
	uint32_t comm = strtab_find(&c->strings, "comm"),
		 other = strtab_find(&c->strings, "[other]");
	uint32_t container = strtab_find(&c->strings, "container_id");
	for (uint32_t i = 100; i < 102; i++) {
		uint32_t set = c->series.series.v[i].labels;
		ck_assert_uint_eq(label_find(&c->series, set, container)->str, other);
		bash |= strcmp(profile_str(c, label_find(&c->series, set, comm)->str), "bash") == 0;
	}
	ck_assert(bash);
	w.base.now_ns += 2 * DAY_NS; /* the others are no longer active */
	ingest_labelled(&w, "bash", 5000);
	store_get_stats(w.base.s, &stats);
	ck_assert_uint_eq(stats.series, 103);
	world_done(&w);
}
END_TEST

/* --- shares ----------------------------------------------------------------------------------- */

struct named {
	const char *comm, *user, *executable;
};

/* Ingests a sample of a program, and returns whether it kept its name. */
static bool keeps_name(struct world *w, struct named who)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type cpu = { .name = sink_string(s, "cpu"),
			    .sample_type = sink_string(s, "samples") };
	struct label labels[] = {
		{ .key = sink_string(s, "comm"), .str = sink_string(s, who.comm) },
		{ .key = sink_string(s, "process"), .str = sink_string(s, who.comm) },
		{ .key = sink_string(s, "user"), .str = sink_string(s, who.user) },
		{ .key = sink_string(s, "executable"), .str = sink_string(s, who.executable) },
		{ .key = sink_string(s, "host"), .str = sink_string(s, "h") },
	};
	struct series series = { .type = s->ops->type(s, &cpu),
				 .labels = s->ops->labels(s, labels, 5) };
	struct sample sample = { .time_ns = w->base.now_ns - 1,
				 .value = 1,
				 .series = s->ops->series(s, &series) };
	struct store_batch b = { .p = p };
	struct store_stats before, after;

	s->ops->sample(s, &sample);
	store_get_stats(w->base.s, &before);
	ck_assert_int_eq(store_ingest(w->base.s, &b, 1, NULL, NULL), 0);
	store_get_stats(w->base.s, &after);
	profile_free(p);
	return after.folded_series == before.folded_series;
}

static uint32_t storm(struct world *w, struct named who, int n, const char *format)
{
	uint32_t kept = 0;
	char name[16];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof name, format, i);
		who.comm = name;
		kept += keeps_name(w, who);
	}
	return kept;
}

static uint32_t count_news(struct world *w, const char *text)
{
	struct err news = { 0 };
	uint32_t n = 0;

	while (store_news(w->base.s, &news))
		n += strstr(news.text, text) != NULL;
	return n;
}

/* A program that renames itself uses up its own share: a sixteenth, or 64. */
START_TEST(a_program_has_its_share)
{
	struct named renaming = { .user = "eve", .executable = "renames" };
	struct store_stats stats;
	struct world w;

	world_init(&w, (struct store_opts){ .max_series = 512 });
	ck_assert_uint_eq(storm(&w, renaming, 2000, "a%d"), 64);
	ck_assert_uint_eq(count_news(&w, "program renames of user eve on h"), 1);
	store_get_stats(w.base.s, &stats);
	ck_assert_uint_eq(stats.rows, 2000);
	ck_assert_uint_eq(stats.folded_series, 2000 - 64);
	ck_assert_uint_le(stats.series, 64 + 64 + 1);
	ck_assert(keeps_name(&w, (struct named){ "new", "eve", "other" }));
	ck_assert(keeps_name(&w, (struct named){ "new", "bob", "renames" }));
	ck_assert(!keeps_name(&w, (struct named){ "new", "eve", "renames" }));
	ck_assert(keeps_name(&w, (struct named){ "a3", "eve", "renames" })); /* known before */
	world_done(&w);
}
END_TEST

/* With other files it uses up its user's: a quarter. Users by number are one. */
START_TEST(a_user_has_a_share)
{
	static const char *const numbers[] = { "100001", "100002", "100003", "100004" };
	struct world w;
	uint32_t kept = 0;
	char file[16];

	world_init(&w, (struct store_opts){ .max_series = 512 });
	for (int i = 0; i < 8; i++) {
		snprintf(file, sizeof file, "file%d", i);
		kept += storm(&w, (struct named){ .user = "eve", .executable = file }, 100, "a%d");
	}
	ck_assert_uint_eq(kept, 128);
	ck_assert(!keeps_name(&w, (struct named){ "new", "eve", "sh" }));
	kept = 0;
	for (int i = 0; i < 4; i++)
		kept += storm(&w, (struct named){ .user = numbers[i], .executable = "x" }, 100,
			      "b%d");
	ck_assert_uint_eq(kept, 128);
	ck_assert(keeps_name(&w, (struct named){ "new", "bob", "sh" }));
	world_done(&w);
}
END_TEST

/* When users together have taken all, one with few series still gets its own; but not any number of
 * users. */
START_TEST(a_small_user_gets_some)
{
	struct world w;
	char user[16];

	world_init(&w, (struct store_opts){ .max_series = 256 });
	for (int i = 0; i < 6; i++) {
		snprintf(user, sizeof user, "user%d", i);
		ck_assert_uint_eq(
			storm(&w, (struct named){ .user = user, .executable = "x" }, 70, "a%d"),
			i < 5 ? 64 : 0);
	}
	world_done(&w);
}
END_TEST

/* A share is free again some time after the storm, and later each time. */
START_TEST(a_storm_ends)
{
	static const int64_t minute_ns = HOUR_NS / 60;
	static const int minutes[] = { 11, 41, 161 };
	struct named renaming = { .user = "eve", .executable = "renames" };
	struct world w;

	world_init(&w, (struct store_opts){ .max_series = 512 });
	for (int i = 0; i < 3; i++) {
		char format[16];
		snprintf(format, sizeof format, "%c%%d", 'a' + i);
		ck_assert_uint_eq(storm(&w, renaming, 100, format), 64);
		w.base.now_ns += (minutes[i] - 3) * minute_ns;
		ck_assert(keeps_name(&w, (struct named){ "x", "bob", "sh" })); /* it counts */
		ck_assert_uint_eq(count_news(&w, "renames"), 1);
		w.base.now_ns += 3 * minute_ns;
	}
	ck_assert(keeps_name(&w, (struct named){ "new", "eve", "renames" }));
	world_done(&w);
}
END_TEST

/* Shares are known again when the store is opened, and when series have gone. */
START_TEST(shares_survive_a_restart)
{
	struct named renaming = { .user = "eve", .executable = "renames" };
	struct world w;

	world_init(&w, (struct store_opts){ .max_series = 512 });
	ck_assert_uint_eq(storm(&w, renaming, 100, "a%d"), 64);
	store_world_restart(&w.base, false);
	ck_assert_uint_eq(storm(&w, renaming, 100, "b%d"), 64);
	ck_assert(keeps_name(&w, (struct named){ "new", "bob", "renames" }));
	world_done(&w);
}
END_TEST

/* Series keep their numbers after reopening. */
START_TEST(series_retain_their_numbers)
{
	struct world w;
	uint64_t before[50];

	world_init(&w, (struct store_opts){ 0 });
	for (int i = 0; i < 50; i++) {
		ingest_labelled(&w, "x", i);
		if (i % 7 == 0) {
			w.base.now_ns += HOUR_NS * 2;
			world_maintain(&w);
		}
		if (i % 11 == 0)
			store_world_restart(&w.base, i % 2);
	}
	for (int i = 0; i < 50; i++)
		before[i] = series_text_hash(catalog_profile(w.base.s->catalog), i);
	store_world_restart(&w.base, false);
	ck_assert_uint_eq(catalog_profile(w.base.s->catalog)->series.series.n, 50);
	for (int i = 0; i < 50; i++)
		ck_assert_uint_eq(before[i],
				  series_text_hash(catalog_profile(w.base.s->catalog), i));
	world_done(&w);
}
END_TEST

/* --- a disk that is full, or fails ------------------------------------------------------------ */

/* A VFS that writes as the default one does, until it is told to fail. Only in this process: each test has its own. */
static int fail_with; /* 0, SQLITE_FULL, SQLITE_IOERR_WRITE */
static int (*real_write)(sqlite3_file *, const void *, int, sqlite3_int64);
static int (*real_open)(sqlite3_vfs *, const char *, sqlite3_file *, int, int *);

static int failing_write(sqlite3_file *f, const void *data, int n, sqlite3_int64 at)
{
	return fail_with ? fail_with : real_write(f, data, n, at);
}

static int failing_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
	static sqlite3_io_methods copies[4];
	static const sqlite3_io_methods *originals[4];
	int i = 0, rc = real_open(vfs, name, f, flags, out);

	if (rc != SQLITE_OK || !f->pMethods)
		return rc;
	while (originals[i] && originals[i] != f->pMethods)
		i++;
	ck_assert_int_lt(i, 4);
	originals[i] = f->pMethods;
	copies[i] = *f->pMethods;
	real_write = f->pMethods->xWrite;
	copies[i].xWrite = failing_write;
	f->pMethods = &copies[i];
	return rc;
}

static void register_failing(void)
{
	static sqlite3_vfs vfs;

	sqlite3_initialize();
	vfs = *sqlite3_vfs_find(NULL);
	real_open = vfs.xOpen;
	vfs.zName = "failing";
	vfs.xOpen = failing_open;
	vfs.pNext = NULL;
	ck_assert_int_eq(sqlite3_vfs_register(&vfs, 0), SQLITE_OK);
}

START_TEST(a_full_disk_is_reported_and_recovers)
{
	static const int failures[] = { SQLITE_FULL, SQLITE_IOERR_WRITE };
	static const int codes[] = { -ENOSPC, -EIO };
	static const uint8_t sender[STORE_SENDER_BYTES] = "x";
	struct rng rng = { 77 };
	struct world w;
	size_t refused = 0;

	register_failing();
	world_init(&w, (struct store_opts){ .vfs = "failing" });
	for (uint64_t i = 1; i <= 120; i++) {
		struct profile *p = batch_at(i, w.base.now_ns - HOUR_NS, HOUR_NS, i % 2);
		struct err err = { 0 };
		int kind = rng_below(&rng, 2), rc;
		bool bad = rng_below(&rng, 3) == 0;
		fail_with = bad ? failures[kind] : 0;
		rc = world_ingest(&w, p, sender, i, &err);
		if (bad)
			ck_assert_msg(rc == codes[kind], "%d %s", rc, err.text);
		refused += bad;
		if (bad && rng_below(&rng, 2))
			store_maintain(w.base.s, SECOND_NS, &err);
		if (bad && rng_below(&rng, 4) == 0) {
			store_abandon(w.base.s);
			fail_with = 0;
			store_world_open(&w.base);
		}
		fail_with = 0;
		rc = bad ? world_ingest(&w, p, sender, i, &err) : rc;
		ck_assert_msg(rc == 0, "%s", err.text);
		profile_free(p);
		w.base.now_ns += HOUR_NS / 4;
		fail_with = rng_below(&rng, 5) ? 0 : failures[kind];
		store_maintain(w.base.s, SECOND_NS, &err);
		fail_with = 0;
	}
	ck_assert_uint_gt(refused, 10);
	world_check(&w);
	world_maintain(&w);
	store_world_restart(&w.base, true);
	world_check(&w);
	world_done(&w);
}
END_TEST

/* --- after a crash ---------------------------------------------------------------------------- */

static void damage_first_part(struct world *w)
{
	char path[96];
	FILE *f;

	snprintf(path, sizeof path, "%s/p/%s", w->base.dir, "2024-10-04.db");
	ck_assert_ptr_nonnull(f = fopen(path, "r+"));
	ck_assert_int_eq(fseek(f, 2 * 65536 + 30000, SEEK_SET), 0);
	for (int i = 0; i < 35000; i++)
		fputc(0x55, f);
	ck_assert_int_eq(fclose(f), 0);
}

/* Sealed days are read again when the last writer did not close the store, and only then; until all of them have been read. */
START_TEST(sealed_days_are_verified_after_a_crash)
{
	struct store_stats stats;
	struct err err = { 0 };
	struct world w;

	world_init(&w, (struct store_opts){ 0 });
	for (int i = 0; i < 24 * 4; i++, w.base.now_ns += HOUR_NS / 2) {
		struct profile *p = batch_at(i + 1, w.base.now_ns - HOUR_NS, HOUR_NS, false);
		ck_assert_int_eq(world_ingest(&w, p, NULL, 0, &err), 0);
		profile_free(p);
	}
	w.base.now_ns += DAY_NS;
	world_maintain(&w);
	store_world_restart(&w.base, false);
	ck_assert_uint_ge(w.base.s->parts.n, 2);
	ck_assert(!w.base.s->was_killed);
	store_abandon(w.base.s);
	store_world_open(&w.base);
	ck_assert(w.base.s->was_killed);
	ck_assert_int_eq(store_maintain(w.base.s, INT64_MAX, &err), 0);
	store_get_stats(w.base.s, &stats);
	ck_assert_uint_eq(stats.damaged_parts, 0);
	store_abandon(w.base.s);
	damage_first_part(&w);
	store_world_open(&w.base);
	store_world_restart(&w.base, false); /* before maintenance got to it */
	ck_assert(w.base.s->was_killed);
	ck_assert_int_eq(store_maintain(w.base.s, INT64_MAX, &err), 0);
	store_get_stats(w.base.s, &stats);
	ck_assert_uint_eq(stats.damaged_parts, 1);
	store_world_restart(&w.base, false);
	ck_assert(!w.base.s->was_killed);
	world_done(&w);
}
END_TEST

UNIT_MAIN("store_ingest", one_batch, a_history_gives_the_same_rows,
	  another_history_in_little_memory, a_third_history, a_fourth_history_in_little_memory,
	  numbers_too_far_ahead_are_reported, one_writer, a_concurrent_reader, clocks_of_batches,
	  replay_does_not_move_rows, weights_of_waits, series_stay_bounded, a_program_has_its_share,
	  a_user_has_a_share, a_small_user_gets_some, a_storm_ends, shares_survive_a_restart,
	  series_retain_their_numbers, a_full_disk_is_reported_and_recovers,
	  sealed_days_are_verified_after_a_crash)
