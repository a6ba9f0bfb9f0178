// tier: test
// run: in memory
/* Rows of deleted series are gone: from answers, tables, free pages and journals; those of others are all there. Whenever the process ends, the
 * deletion is finished when the store is opened again. */
#include "base/err.h"
#include "base/mem.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "rand.h"
#include "store/catalog/catalog.h"
#include "store/codec/metric_samples.h"
#include "store/codec/metric_steps.h"
#include "store/day/store_state.h"
#include "store/write/write.h"
#include "unit.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000ll
#define HOUR_NS   (3600 * SECOND_NS)
#define DAY_NS    (24 * HOUR_NS)
#define START_NS  (20000 * DAY_NS + 5 * HOUR_NS)

enum { BATCHES = 40, ROWS = 200, HOSTS = 3 };

struct world {
	char dir[64];
	int64_t now_ns;
	struct store_opts opts;
	struct store *s;
};

static int64_t world_now(void *ctx)
{
	return ((struct world *)ctx)->now_ns;
}

static void world_open(struct world *w)
{
	struct err err = { 0 };

	ck_assert_msg(store_open(w->dir, &w->opts, &w->s, &err) == 0, "%s", err.text);
}

static void world_init(struct world *w)
{
	*w = (struct world){ .dir = "/tmp/t_delete.XXXXXX", .now_ns = START_NS };
	ck_assert_ptr_nonnull(mkdtemp(w->dir));
	w->opts = (struct store_opts){ .now_ns = world_now, .ctx = w };
	world_open(w);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void world_done(struct world *w)
{
	store_abandon(w->s);
	ck_assert_int_eq(nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* --- batches: of three hosts; the value tells the host --------------------------------------- */

static uint32_t put_series(struct sink *s, const char *name, int host, bool metric)
{
	char text[32];
	snprintf(text, sizeof text, "host-%d", host);
	struct label label = { .key = sink_string(s, "host"), .str = sink_string(s, text) };
	uint32_t labels = s->ops->labels(s, &label, 1);
	struct type type = { .name = sink_string(s, name), .sample_type = sink_string(s, name) };
	if (metric)
		return metric_series((struct profile *)s, name, "", METRIC_GAUGE, labels);
	struct series series = { .type = s->ops->type(s, &type), .labels = labels };
	return s->ops->series(s, &series);
}

static void put_rows(struct sink *s, int host, int64_t now_ns)
{
	uint32_t series = put_series(s, "cpu", host, false);
	char name[64];

	for (int i = 0; i < ROWS; i++) {
		snprintf(name, sizeof name, "function_%d_of_host_%d", i, host);
		struct frame f = { .kind = FRAME_PYTHON,
				   .mapping = MAPPING_NONE,
				   .function = sink_string(s, name) };
		uint32_t frame = s->ops->frame(s, &f);
		struct sample sample = { .time_ns = now_ns - i * SECOND_NS,
					 .value = 1 + host,
					 .series = series,
					 .stack = s->ops->stack(s, &frame, 1),
					 .tid = 4242 + host };
		s->ops->sample(s, &sample);
	}
}

static void send(struct world *w, int first_host)
{
	struct profile *p = profile_new();
	struct metric_samples points = { 0 };
	struct err err = { 0 };

	for (int host = first_host; host < HOSTS; host++) {
		put_rows(&p->sink, host, w->now_ns);
		uint32_t metric = put_series(&p->sink, "load", host, true);
		vec_push(&points, (struct metric_sample){ metric, w->now_ns, host });
	}
	struct store_batch b = { .p = p, .metrics = &points };
	ck_assert_msg(store_ingest(w->s, &b, 1, NULL, &err) == 0, "%s", err.text);
	vec_done(&points);
	profile_free(p);
}

/* Some hours become blocks; the last ones are in memory and in the inbox. */
static void fill(struct world *w)
{
	for (int i = 0; i < BATCHES; i++) {
		send(w, 0);
		w->now_ns += HOUR_NS / 10;
		ck_assert_int_ge(store_maintain(w->s, SECOND_NS, NULL), 0);
	}
}

/* --- the content ------------------------------------------------------------------------------ */

struct seen {
	uint64_t rows[HOSTS], exact[HOSTS], points[HOSTS];
	int64_t values[HOSTS];
	const struct profile *catalog;
};

static int host_of(const struct profile *p, uint32_t series)
{
	struct label_set set = p->series.sets.v[p->series.series.v[series].labels];
	const char *text = profile_str(p, p->series.labels.v[set.first].str);

	return text[strlen(text) - 1] - '0';
}

static int take_row(void *ctx, const struct store_row *row)
{
	struct seen *seen = ctx;
	int host = host_of(seen->catalog, row->series);

	seen->rows[host]++;
	seen->exact[host] += !row->is_window;
	seen->values[host] += row->value;
	return 0;
}

static int take_points(void *ctx, const struct metric_point *points, size_t n)
{
	(void)points;
	*(uint64_t *)ctx += n;
	return 0;
}

static void look(struct store *s, struct seen *out)
{
	struct store_view *v;
	struct err err = { 0 };

	*out = (struct seen){ 0 };
	ck_assert_int_eq(store_view_open(s, &v, &err), 0);
	out->catalog = store_view_catalog(v);
	uint32_t n = out->catalog->series.series.n;
	bool *all = xcalloc(n + 1, sizeof *all);
	memset(all, 1, n);
	ck_assert_msg(
		store_rows(v, all, START_NS - DAY_NS, START_NS + DAY_NS, take_row, out, &err) == 0,
		"%s", err.text);
	for (uint32_t i = 0; i < n; i++)
		ck_assert_int_eq(store_points(v, i, 0, INT64_MAX, take_points,
					      &out->points[host_of(out->catalog, i)], &err),
				 0);
	free(all);
	store_view_close(v);
	out->catalog = NULL;
}

static bool *series_of_host(struct store *s, int host, uint32_t *n)
{
	const struct profile *p = catalog_profile(s->catalog);
	bool *wanted = xcalloc(p->series.series.n + 1, sizeof *wanted);

	*n = p->series.series.n;
	for (uint32_t i = 0; i < *n; i++)
		wanted[i] = host_of(p, i) == host;
	return wanted;
}

static uint64_t delete_host(struct world *w, int host)
{
	struct err err = { 0 };
	uint32_t n;
	uint64_t rows = 0;
	bool *wanted = series_of_host(w->s, host, &n);

	ck_assert_msg(store_delete(w->s, wanted, n, &rows, &err) == 0, "%s", err.text);
	free(wanted);
	return rows;
}

/* --- the files, as another program sees them -------------------------------------------------- */

static int64_t number_of(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st;

	ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK, "%s", sql);
	ck_assert_int_eq(sqlite3_step(st), SQLITE_ROW);
	int64_t n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

/* No free page and no journal keeps deleted rows. */
static int check_path(const char *path, const struct stat *st, int type, off_t inbox_log)
{
	size_t len = strlen(path);
	sqlite3 *db;

	if (type != FTW_F)
		return 0;
	ck_assert_str_ne(path + len - strlen("deleting"), "deleting");
	if (strstr(path, "/p/") || strstr(path, "/hot/") || strstr(path, "inbox"))
		if (len > 4 && strcmp(path + len - 4, "-wal") == 0)
			ck_assert_msg(st->st_size <= (strstr(path, "inbox") ? inbox_log : 0),
				      "%s: %lld bytes", path, (long long)st->st_size);
	if (!(strstr(path, "/p/") || strstr(path, "/hot/")) || strcmp(path + len - 3, ".db") != 0)
		return 0;
	ck_assert_int_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	ck_assert_int_eq(number_of(db, "PRAGMA freelist_count"), 0);
	sqlite3_close(db);
	return 0;
}
static int check_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	return check_path(path, st, type, 0);
}

/* One page of the inbox may have been written since: it has a number, and no sample. */
static int check_file_of_opened(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	enum { ONE_PAGE = 32 + 24 + 4096 };

	(void)ftw;
	return check_path(path, st, type, ONE_PAGE);
}

static void check_files(struct world *w)
{
	ck_assert_int_eq(nftw(w->dir, check_file, 16, FTW_PHYS), 0);
}

START_TEST(rows_of_deleted_series_are_gone)
{
	struct world w;
	struct seen before, after;

	world_init(&w);
	fill(&w);
	look(w.s, &before);
	ck_assert_uint_gt(before.rows[1], 0);
	ck_assert_uint_gt(before.exact[1], 0);
	ck_assert_uint_gt(before.points[1], 0);
	ck_assert_uint_gt(delete_host(&w, 1), 0);
	check_files(&w);
	for (int round = 0; round < 2; round++) {
		look(w.s, &after);
		ck_assert_uint_eq(after.rows[1] + after.points[1], 0);
		for (int host = 0; host < HOSTS; host += 2) {
			ck_assert_int_eq(after.values[host], before.values[host]);
			ck_assert_uint_eq(after.exact[host], before.exact[host]);
			ck_assert_uint_eq(after.points[host], before.points[host]);
		}
		store_abandon(w.s);
		world_open(&w);
	}
	ck_assert_uint_eq(w.s->stats.bad_rows + w.s->stats.bad_blocks, 0);
	world_done(&w);
}
END_TEST

START_TEST(later_data_stays)
{
	struct world w;
	struct seen seen;

	world_init(&w);
	fill(&w);
	delete_host(&w, 2);
	send(&w, 2);
	look(w.s, &seen);
	ck_assert_int_eq(seen.values[2], 3 * ROWS);
	ck_assert_uint_eq(seen.points[2], 1);
	world_done(&w);
}
END_TEST

START_TEST(an_open_view_is_stable)
{
	struct world w;
	struct store_view *v;
	struct seen before, seen = { 0 };

	world_init(&w);
	w.opts.hot_ns = -1; /* windows alone */
	store_abandon(w.s);
	world_open(&w);
	fill(&w);
	ck_assert_int_eq(store_view_open(w.s, &v, NULL), 0);
	seen.catalog = store_view_catalog(v);
	uint32_t n = seen.catalog->series.series.n;
	bool *all = xcalloc(n + 1, sizeof *all);
	memset(all, 1, n);
	look(w.s, &before);
	bool *wanted = series_of_host(w.s, 0, &n);
	/* A reader still needs the old pages, and this is reported; the rest is done later. */
	int rc = store_delete(w.s, wanted, n, NULL, NULL);
	ck_assert(rc == 0 || rc == -EBUSY);
	ck_assert_int_eq(
		store_rows(v, all, START_NS - DAY_NS, START_NS + DAY_NS, take_row, &seen, NULL), 0);
	ck_assert_int_eq(seen.values[0], before.values[0]);
	store_view_close(v);
	ck_assert_int_eq(store_delete(w.s, wanted, n, NULL, NULL), 0);
	look(w.s, &seen);
	ck_assert_int_eq(seen.values[0], 0);
	ck_assert_int_eq(seen.values[1], before.values[1]);
	check_files(&w);
	free(wanted);
	free(all);
	world_done(&w);
}
END_TEST

START_TEST(a_day_that_has_nothing_else_goes)
{
	struct world w;

	world_init(&w);
	fill(&w);
	ck_assert_uint_eq(w.s->parts.n, 1);
	for (int host = 0; host < HOSTS; host++)
		delete_host(&w, host);
	ck_assert_uint_eq(w.s->parts.n, 0);
	world_done(&w);
}
END_TEST

/* --- numbers of series ------------------------------------------------------------------------ */

struct choosing {
	struct world *w;
	bool *wanted;
	uint32_t places; /* of all series that there are */
};

/* Places that nothing refers to any more are due to be freed, and their numbers to be given to others: not now. */
static int choose_host_2(void *ctx, struct store_choice *out, struct err *err)
{
	struct choosing *c = ctx;

	c->wanted = series_of_host(c->w->s, 2, &out->n);
	out->wanted = c->wanted;
	c->places = catalog_count(c->w->s->catalog);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(store_gc_step(c->w->s, err), 0);
	ck_assert_uint_eq(catalog_count(c->w->s->catalog), c->places);
	return 0;
}

static int choose_nothing(void *ctx, struct store_choice *out, struct err *err)
{
	(void)ctx, (void)out;
	return err_set(err, EINVAL, "no such word");
}

START_TEST(numbers_stay_while_series_are_chosen)
{
	struct world w;
	struct choosing c = { .w = &w };
	struct seen before, after;
	struct err err = { 0 };
	uint64_t rows = 0;

	world_init(&w);
	fill(&w);
	look(w.s, &before);
	delete_host(&w, 1);
	ck_assert_int_eq(store_delete_chosen(w.s, choose_nothing, NULL, NULL, &err), -EINVAL);
	ck_assert_msg(store_delete_chosen(w.s, choose_host_2, &c, &rows, &err) == 0, "%s",
		      err.text);
	ck_assert_uint_gt(rows, 0);
	look(w.s, &after);
	ck_assert_int_eq(after.values[0], before.values[0]);
	ck_assert_uint_eq(after.rows[1] + after.rows[2], 0);
	for (int i = 0; i < 100; i++)
		ck_assert_int_ge(store_gc_step(w.s, &err), 0);
	ck_assert_uint_lt(catalog_count(w.s->catalog), c.places); /* now they go */
	free(c.wanted);
	world_done(&w);
}
END_TEST

/* --- the end in the middle -------------------------------------------------------------------- */

/* A child deletes, and is killed. */
static void delete_and_die(struct world *w, int64_t life_ns)
{
	struct timespec life = { life_ns / SECOND_NS, life_ns % SECOND_NS };
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		uint32_t n;
		world_open(w);
		bool *wanted = series_of_host(w->s, 1, &n);
		_exit(store_delete(w->s, wanted, n, NULL, NULL) != 0);
	}
	nanosleep(&life, NULL);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
}

START_TEST(it_is_atomic_whenever_the_process_ends)
{
	struct rng rng = { (uint64_t)time(NULL) * 2 + 1 };
	struct err err = { 0 };
	int done = 0;

	printf("seed %llu\n", (unsigned long long)rng.state);
	for (int run = 0; run < 12; run++) {
		struct world w;
		struct seen before, after;
		world_init(&w);
		fill(&w);
		look(w.s, &before);
		store_abandon(w.s);
		delete_and_die(&w, (int64_t)rng_below(&rng, SECOND_NS / 8));
		world_open(&w);
		ck_assert_msg(store_delete_resume(w.s, &err) == 0, "%s",
			      err.text); /* it was done */
		look(w.s, &after);
		ck_assert_int_eq(after.values[0], before.values[0]);
		ck_assert_int_eq(after.values[2], before.values[2]);
		ck_assert(after.values[1] == 0 || after.values[1] == before.values[1]);
		ck_assert(after.values[1] == 0 || after.points[1] == before.points[1]);
		if (after.values[1] == 0)
			ck_assert_int_eq(nftw(w.dir, check_file_of_opened, 16, FTW_PHYS), 0);
		done += after.values[1] == 0;
		world_done(&w);
	}
	printf("deleted in %d of 12\n", done);
}
END_TEST

UNIT_MAIN("store_delete", rows_of_deleted_series_are_gone, later_data_stays, an_open_view_is_stable,
	  a_day_that_has_nothing_else_goes, numbers_stay_while_series_are_chosen,
	  it_is_atomic_whenever_the_process_ends)
