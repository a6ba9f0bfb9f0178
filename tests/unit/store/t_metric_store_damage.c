// tier: test
/* Points of metrics in a store that is damaged or killed: bytes and rows that are not as written are counted and answer nothing, and what was
 * acknowledged stays. */
#include "base/err.h"
#include "base/vec.h"
#include "metric_store_world.h"
#include "rand.h"
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

/* --- damage ----------------------------------------------------------------------------------- */

/* One byte of each blob in turn: the damage is counted, and all others answer. */
static void check_damage(int round)
{
	struct world w;
	struct err err = { 0 };
	struct batch b = batch_new();

	world_init(&w, (struct store_opts){ 0 });
	for (int i = 0; i < 100 * SERIES; i++)
		batch_add(&b, i % SERIES, w.now_ns + i * SECOND_NS, i);
	ck_assert_int_eq(send_batch(w.s, &b, 1, NULL), 0);
	witness(&w, &b);
	char *path = first_part(&w);
	ck_assert_int_eq(store_close(w.s, &err), 0);
	char *sql = sqlite3_mprintf(
		"UPDATE metric SET data = CAST(substr(data, 1, 30) || X'%02x' || substr(data, 32) "
		"AS BLOB) WHERE series = %d RETURNING id",
		0xa0 + round, round);
	sql_number(path, sql);
	sqlite3_free(sql);
	world_open(&w);
	struct store_view *v;
	ck_assert_int_eq(store_view_open(w.s, &v, NULL), 0);
	size_t points = 0;
	for (int i = 0; i < SERIES; i++) {
		struct metric_points have = read_series(v, i, INT64_MIN, INT64_MAX);
		points += have.n;
		vec_done(&have);
	}
	ck_assert_uint_eq(points, 100 * (SERIES - 1));
	struct part *part;
	ck_assert_int_eq(part_open(path, 0, &(struct part_opts){ .read_only = true }, &part, &err),
			 0);
	ck_assert_int_eq(part_verify(part, &err), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, "points"));
	struct part_info info;
	part_get_info(part, &info);
	ck_assert_uint_eq(info.bad_blocks, 1);
	part_close(part);
	store_view_close(v);
	batch_done(&b);
	free(path);
	world_done(&w);
}

START_TEST(damage_is_counted)
{
	for (int i = 0; i < SERIES; i++)
		check_damage(i);
}
END_TEST

/* The columns that say where a block belongs are changed, or a block is removed: none of it answers for another. */
static void check_row_damage(const char *change)
{
	struct world w;
	struct err err = { 0 };
	struct batch b = batch_new();
	struct store_view *v;
	size_t points = 0;

	world_init(&w, (struct store_opts){ 0 });
	for (int i = 0; i < 10 * SERIES; i++)
		batch_add(&b, i % SERIES, w.now_ns + i * SECOND_NS, i);
	ck_assert_int_eq(send_batch(w.s, &b, 1, NULL), 0);
	char *path = first_part(&w);
	ck_assert_int_eq(store_close(w.s, &err), 0);
	sql_number(path, change);
	struct part *part;
	ck_assert_int_eq(part_open(path, 0, &(struct part_opts){ .read_only = true }, &part, &err),
			 0);
	ck_assert_int_eq(part_verify(part, &err), -EBADMSG);
	part_close(part);
	world_open(&w);
	ck_assert_int_eq(store_view_open(w.s, &v, NULL), 0);
	for (int i = 0; i < SERIES; i++) {
		struct metric_points have = read_series(v, i, INT64_MIN, INT64_MAX);
		points += have.n;
		vec_done(&have);
	}
	ck_assert_uint_eq(points, 10 * (SERIES - 1));
	store_view_close(v);
	batch_done(&b);
	free(path);
	world_done(&w);
}

START_TEST(rows_equal_the_written_ones)
{
	check_row_damage("UPDATE metric SET series = 3 WHERE id = 2 RETURNING id");
	check_row_damage("UPDATE metric SET first = first - 1 WHERE id = 2 RETURNING id");
	check_row_damage("UPDATE metric SET last = last + 1 WHERE id = 2 RETURNING id");
	check_row_damage("UPDATE metric SET points = 9 WHERE id = 2 RETURNING id");
	check_row_damage("UPDATE metric SET points = -1 WHERE id = 2 RETURNING id");
	check_row_damage("UPDATE metric SET sum = sum + 1 WHERE id = 2 RETURNING id");
	check_row_damage("UPDATE metric SET data = NULL WHERE id = 2 RETURNING id");
	check_row_damage("DELETE FROM metric WHERE id = 2 RETURNING id");
}
END_TEST

/* --- kill -9 ---------------------------------------------------------------------------------- */

/* Sends batches one after another, and reports each that was acknowledged; it is killed from outside. */
static void child_send(struct world *w, int pipe_fd, uint64_t first)
{
	world_open(w);
	for (uint64_t sequence = first;; sequence++) {
		struct batch b = batch_new();
		for (int i = 0; i < 20; i++)
			batch_add(&b, i % SERIES,
				  START_NS + (int64_t)(sequence * 20 + i) * SECOND_NS, sequence);
		w->now_ns = START_NS + (int64_t)sequence * 20 * SECOND_NS;
		if (send_batch(w->s, &b, sequence, NULL) ||
		    write(pipe_fd, &sequence, sizeof sequence) != sizeof sequence)
			_exit(1);
		batch_done(&b);
		if (sequence % 5 == 0 && store_maintain(w->s, SECOND_NS / 100, NULL) < 0)
			_exit(1);
	}
}

static uint64_t kill_after(struct world *w, uint64_t first, int batches)
{
	uint64_t sequence = first - 1;
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(fds[0]);
		child_send(w, fds[1], first);
	}
	close(fds[1]);
	for (int i = 0; i < batches; i++)
		ck_assert_int_eq(read(fds[0], &sequence, sizeof sequence), sizeof sequence);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	uint64_t later;
	while (read(fds[0], &later, sizeof later) == sizeof later)
		sequence = later;
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	close(fds[0]);
	return sequence;
}

START_TEST(nothing_acknowledged_is_lost)
{
	struct rng r = { 5 };
	struct world w;
	uint64_t sent = 0;

	world_init(&w, (struct store_opts){ 0 });
	store_abandon(w.s);
	for (int run = 0; run < 12; run++) {
		uint64_t acknowledged = kill_after(&w, sent + 1, 1 + rng_below(&r, 15));
		world_open(&w);
		struct store_view *v;
		ck_assert_int_eq(store_view_open(w.s, &v, NULL), 0);
		size_t points = 0;
		for (int i = 0; i < SERIES; i++) {
			struct metric_points have = read_series(v, i, INT64_MIN, INT64_MAX);
			points += have.n;
			vec_done(&have);
		}
		/* An unacknowledged batch may be there, as a whole. */
		ck_assert_uint_eq(points % 20, 0);
		ck_assert_uint_ge(points / 20, acknowledged);
		ck_assert_uint_le(points / 20, acknowledged + 1);
		sent = points / 20;
		store_view_close(v);
		store_abandon(w.s);
	}
	world_open(&w);
	world_done(&w);
}
END_TEST

UNIT_MAIN("metric_store_damage", damage_is_counted, rows_equal_the_written_ones,
	  nothing_acknowledged_is_lost)
