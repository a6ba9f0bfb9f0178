// tier: test
// run: in memory
#include "base/err.h"
#include "part_world.h"
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Checks that random questions have the answers that the rows give. */
static void compare(struct world *w, int questions)
{
	for (int i = 0; i < questions; i++) {
		struct question q = world_question(w);
		ck_assert_msg(world_agrees(w, &q), "question %d: from %u to %u", i, q.from, q.to);
	}
}

static void compact_all(struct part *p, uint32_t windows)
{
	struct err err = { 0 };
	int rc;

	while ((rc = part_compact_step(p, windows, &err)) > 0)
		;
	ck_assert_msg(rc == 0, "%s", err.text);
}

static void seal(struct part *p)
{
	struct err err = { 0 };

	ck_assert_msg(part_seal(p, &err) == 0, "%s", err.text);
}

static void verify(struct part *p)
{
	struct err err = { 0 };

	ck_assert_msg(part_verify(p, &err) == 0, "%s", err.text);
}

static uint64_t count_blocks(struct world *w)
{
	struct part_info info;

	part_get_info(w->p, &info);
	ck_assert_uint_eq(info.bad_blocks, 0);
	return info.blocks;
}

static void answers(bool weighted)
{
	struct world w;

	world_init(&w, 11 + weighted, weighted);
	world_add_hours(&w, 0, 24, 150);
	compare(&w, 20);
	world_add_hours(&w, 3, 7, 20); /* late */
	compare(&w, 20);
	uint64_t before = count_blocks(&w);
	compact_all(w.p, 1440);
	ck_assert_uint_lt(count_blocks(&w), before / 2);
	compare(&w, 20);
	verify(w.p);
	world_add_hours(&w, 9, 11, 20);
	compact_all(w.p, 1440);
	compact_all(w.p, 8640);
	ck_assert_uint_eq(count_blocks(&w), WORLD_SERIES);
	compare(&w, 20);
	seal(w.p);
	verify(w.p);
	compare(&w, 20);
	world_reopen(&w, false);
	compare(&w, 20);
	world_add_hours(&w, 20, 24, 30);
	compare(&w, 20);
	verify(w.p);
	world_reopen(&w, true);
	compare(&w, 20);
	verify(w.p);
	world_done(&w);
}

START_TEST(results_do_not_depend_on_blocks)
{
	answers(false);
	answers(true);
}
END_TEST

/* --- several connections ---------------------------------------------------------------------- */

static struct world reader_of(const struct world *w)
{
	struct world r = *w;

	world_open(&r, true);
	return r;
}

static void agree(struct world *w, const struct world *rows)
{
	for (int i = 0; i < 5; i++) {
		struct question q = world_question(w);
		w->rows.v = rows->rows.v;
		w->rows.n = rows->rows.n;
		ck_assert(world_agrees(w, &q));
	}
}

START_TEST(a_reader_follows_a_writer)
{
	struct world w, r;

	world_init(&w, 21, false);
	r = reader_of(&w);
	for (uint32_t hour = 0; hour < 24; hour++) {
		world_add_hours(&w, hour, hour + 1, 60);
		agree(&r, &w);
		if (hour % 4 == 3)
			compact_all(w.p, 1440);
		if (hour % 6 == 5)
			seal(w.p);
		agree(&r, &w);
	}
	part_close(r.p);
	world_done(&w);
}
END_TEST

START_TEST(one_read_is_one_snapshot)
{
	struct world w, r;
	struct err err = { 0 };

	world_init(&w, 22, false);
	world_add_hours(&w, 0, 8, 60);
	r = reader_of(&w);
	size_t before = w.rows.n;
	ck_assert_int_eq(part_read_begin(r.p, &err), 0);
	world_add_hours(&w, 8, 24, 60);
	compact_all(w.p, 1440);
	compact_all(w.p, 8640);
	seal(w.p);
	size_t after = w.rows.n;
	w.rows.n = before;
	agree(&r, &w);
	part_read_end(r.p);
	w.rows.n = after;
	agree(&r, &w);
	part_close(r.p);
	world_done(&w);
}
END_TEST

START_TEST(a_block_that_was_merged_is_not_damaged)
{
	struct world w, r;
	struct err err = { 0 };
	struct part_ref *refs;
	struct block_sums sums = { 0 };
	struct part_info info;
	size_t n;

	world_init(&w, 23, false);
	world_add_hours(&w, 0, 4, 60);
	r = reader_of(&w);
	ck_assert_int_eq(part_find(r.p, NULL, 0, 0, INT64_MAX, &refs, &n, &err), 0);
	compact_all(w.p, 1440);
	ck_assert_int_eq(part_read_summary(r.p, &refs[0], &sums, &err), -ESTALE);
	part_get_info(r.p, &info);
	ck_assert_uint_eq(info.bad_blocks, 0);
	free(refs);
	block_sums_done(&sums);
	part_close(r.p);
	world_done(&w);
}
END_TEST

/* --- detail that is gone ---------------------------------------------------------------------- */

START_TEST(without_detail_whole_blocks_are_left)
{
	struct world w;
	struct part_info info;
	struct err err = { 0 };
	struct question day = { .wanted = { 1, 1, 1, 1, 1 }, .to = WORLD_DAY };
	struct part_ref *refs;
	struct block_columns rows = { 0 };
	size_t n;

	world_init(&w, 31, false);
	world_add_hours(&w, 0, 24, 60);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(part_drop_detail(w.p, &err), 0);
		part_get_info(w.p, &info);
		ck_assert(!info.has_detail && info.detail_bytes == 0 && info.bad_blocks == 0);
		ck_assert(world_agrees(&w, &day));
		ck_assert_int_eq(part_find(w.p, NULL, 0, 0, INT64_MAX, &refs, &n, &err), 0);
		ck_assert_int_eq(part_read_columns(w.p, refs, 0, refs->windows, &rows, &err),
				 -ENODATA);
		free(refs);
		ck_assert_int_eq(part_compact_step(w.p, 1440, &err), 0);
		world_add_hours(&w, 5, 6, 60);
		seal(w.p);
		verify(w.p);
		world_reopen(&w, i == 0 ? false : true);
	}
	world_done(&w);
}
END_TEST

/* --- no room ---------------------------------------------------------------------------------- */

/* No file may grow beyond this: SQLite's writes fail. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	signal(SIGXFSZ, SIG_IGN);
}

static int add_many_rows(struct world *w, struct err *err)
{
	struct block_row rows[2000];
	struct part_block b = { .from_ns = WORLD_DAY_NS, .windows = WORLD_HOUR, .rows = rows };
	size_t before = w->rows.n;

	b.n = world_random_rows(w, 0, 0, 2000, rows);
	int rc = part_add(w->p, &b, 1, ++w->sequence, err);
	if (rc)
		w->rows.n = before;
	return rc;
}

START_TEST(rejected_rows_can_be_added_later)
{
	struct err err = { 0 };
	struct world w;
	int rc = 0;

	world_init(&w, 35, false);
	limit_files(3 << 20);
	for (int i = 0; rc == 0 && i < 1000; i++)
		rc = add_many_rows(&w, &err);
	ck_assert_int_eq(rc, -EIO);
	ck_assert_msg(strstr(err.text, "cannot"), "%s", err.text);
	compare(&w, 10);
	limit_files(RLIM_INFINITY);
	compare(&w, 10);
	ck_assert_msg(add_many_rows(&w, &err) == 0, "%s", err.text);
	compare(&w, 10);
	verify(w.p);
	world_reopen(&w, false);
	compare(&w, 10);
	verify(w.p);
	world_done(&w);
}
END_TEST

/* --- kill -9 ---------------------------------------------------------------------------------- */

enum { KILL_RUNS = 20 };

/* The content of batch k, for writer and checker. */
static void add_batch(struct world *w, uint64_t k, bool really)
{
	struct block_row rows[200];
	struct err err = { 0 };
	uint32_t hour = (uint32_t)(k * 7 % 24);

	w->rng.state = k * 0x9e3779b97f4a7c15ull | 1;
	struct part_block b = {
		.series = (uint32_t)(k % WORLD_SERIES),
		.from_ns = WORLD_DAY_NS + hour * WORLD_HOUR * BLOCK_WINDOW_NS,
		.windows = WORLD_HOUR,
		.rows = rows,
	};
	b.n = world_random_rows(w, b.series, hour, 200, rows);
	if (really)
		ck_assert_msg(part_add(w->p, &b, 1, k, &err) == 0, "%s", err.text);
}

/* Adds batches, and reports each; sometimes it compacts and seals. */
static void write_batches(struct world *w, int acknowledge, uint64_t until)
{
	struct part_info info;
	struct err err = { 0 };

	part_get_info(w->p, &info);
	for (uint64_t k = info.inbox_sequence + 1; k <= until; k++) {
		add_batch(w, k, true);
		if (write(acknowledge, &k, sizeof k) != sizeof k)
			_exit(1);
		if (k % 3 == 0)
			ck_assert_int_ge(part_compact_step(w->p, 1440, &err), 0);
		if (k % 7 == 0)
			ck_assert_int_ge(part_compact_step(w->p, 8640, &err), 0);
		if (k % 11 == 0)
			seal(w->p);
	}
}

static pid_t start_writer(struct world *w, int *acknowledged, uint64_t until)
{
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	fflush(NULL);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		close(ends[0]);
		world_open(w, false);
		write_batches(w, ends[1], until);
		part_close(w->p);
		_exit(0);
	}
	close(ends[1]);
	*acknowledged = ends[0];
	return pid;
}

/* The rows of batches 1 to k, in both. */
static void check_batches(struct world *w, uint64_t k)
{
	struct question day = { .wanted = { 1, 1, 1, 1, 1 }, .to = WORLD_DAY };

	w->rows.n = 0;
	for (uint64_t i = 1; i <= k; i++)
		add_batch(w, i, false);
	ck_assert(world_agrees(w, &day));
}

/* Kills the writer at some moment after some acknowledgements; returns the last one. */
static uint64_t kill_some_time(struct world *w, struct rng *rng)
{
	uint64_t last = 0, k;
	int acknowledged;
	pid_t pid = start_writer(w, &acknowledged, UINT64_MAX);
	struct timespec pause = { .tv_nsec = (long)rng_below(rng, 12000000) };

	for (uint64_t n = rng_below(rng, 8); n; n--)
		if (read(acknowledged, &k, sizeof k) == sizeof k)
			last = k;
	nanosleep(&pause, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	while (read(acknowledged, &k, sizeof k) == sizeof k)
		last = k;
	close(acknowledged);
	return last;
}

START_TEST(a_killed_writer_leaves_acknowledged_data_once)
{
	struct rng rng = { 4711 };
	struct part_info info;
	struct world w;
	uint64_t last = 0;

	world_init(&w, 41, false);
	part_close(w.p);
	for (int i = 0; i < KILL_RUNS; i++) {
		uint64_t k = kill_some_time(&w, &rng);
		last = k ? k : last;
		world_open(&w, false);
		part_get_info(w.p, &info);
		ck_assert(info.inbox_sequence == last || info.inbox_sequence == last + 1);
		last = info.inbox_sequence;
		verify(w.p);
		check_batches(&w, last);
		part_close(w.p);
	}
	ck_assert_uint_gt(last, KILL_RUNS);
	world_open(&w, true);
	world_done(&w);
}
END_TEST

START_TEST(another_process_reads_while_one_writes)
{
	enum { BATCHES = 60 };
	struct part_info info = { 0 };
	struct err err = { 0 };
	struct world w;
	int acknowledged;

	world_init(&w, 42, false);
	part_close(w.p);
	pid_t pid = start_writer(&w, &acknowledged, BATCHES);
	world_open(&w, true);
	for (uint64_t seen = 0; seen < BATCHES; seen = info.inbox_sequence) {
		ck_assert_msg(part_read_begin(w.p, &err) == 0, "%s", err.text);
		part_get_info(w.p, &info);
		ck_assert_uint_ge(info.inbox_sequence, seen);
		ck_assert_uint_eq(info.bad_blocks, 0);
		check_batches(&w, info.inbox_sequence);
		part_read_end(w.p);
	}
	close(acknowledged);
	int status = 0;
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
	world_done(&w);
}
END_TEST

UNIT_MAIN("part", results_do_not_depend_on_blocks, a_reader_follows_a_writer,
	  one_read_is_one_snapshot, a_block_that_was_merged_is_not_damaged,
	  without_detail_whole_blocks_are_left, rejected_rows_can_be_added_later,
	  a_killed_writer_leaves_acknowledged_data_once, another_process_reads_while_one_writes)
