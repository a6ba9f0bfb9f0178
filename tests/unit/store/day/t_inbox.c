// tier: test
/* The inbox: each number of a sender gets in once, in any order; what comes out equals what went in. */
#include "random_profile.h"
#include "unit.h"

#include "base/err.h"
#include "store/codec/store.h"
#include "store/day/inbox.h"
#include "store/sqlite/db.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

struct place {
	char dir[64], path[96];
	struct inbox *in;
};

static struct place place_new(void)
{
	struct place pl = { .dir = "/tmp/t_inbox.XXXXXX" };
	struct err err = { 0 };

	ck_assert_ptr_nonnull(mkdtemp(pl.dir));
	snprintf(pl.path, sizeof pl.path, "%s/inbox.db", pl.dir);
	ck_assert_msg(inbox_open(pl.path, false, NULL, &pl.in, &err) == 0, "%s", err.text);
	return pl;
}

static void place_reopen(struct place *pl)
{
	struct err err = { 0 };

	inbox_close(pl->in);
	ck_assert_msg(inbox_open(pl->path, false, NULL, &pl->in, &err) == 0, "%s", err.text);
}

static void place_done(struct place *pl)
{
	static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
	char name[128];

	inbox_close(pl->in);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		snprintf(name, sizeof name, "%s%s", pl->path, ends[i]);
		unlink(name);
	}
	ck_assert_int_eq(rmdir(pl->dir), 0);
}

/* A row is a number followed by noise. */
struct rows {
	uint64_t number;
	size_t noise_bytes;
	struct rng *rng;
};

static int encode(void *ctx, size_t i, struct buf *out, struct err *err)
{
	const struct rows *rows = ctx;
	uint64_t number = rows->number + i;

	(void)err;
	buf_add(out, &number, sizeof number);
	for (size_t k = 0; k < rows->noise_bytes; k += sizeof number) {
		number = rng_next(rows->rng);
		buf_add(out, &number, sizeof number);
	}
	return 0;
}

static int put(struct place *pl, const uint8_t *sender, uint64_t number, uint64_t *seq,
	       struct err *err)
{
	struct rows rows = { .number = number };
	const struct inbox_rows how = { encode, &rows };
	struct store_batch b = { .sender = sender, .sequence = number };

	return inbox_put(pl->in, &b, &how, 1, 7, seq, err);
}

struct seen {
	uint64_t times[4096], last_seq;
	size_t n;
};

static int note(void *ctx, uint64_t seq, int64_t received_ns, const struct cur *row,
		struct err *err)
{
	struct seen *seen = ctx;
	uint64_t number;

	(void)err;
	ck_assert_ptr_nonnull(row);
	ck_assert_uint_gt(seq, seen->last_seq);
	ck_assert_int_eq(received_ns, 7);
	ck_assert_uint_eq(cur_left(row), sizeof number);
	memcpy(&number, row->p, sizeof number);
	seen->times[number]++;
	seen->last_seq = seq;
	seen->n++;
	return 0;
}

/* A naive witness: the set of numbers, and the first one missing. */
START_TEST(each_number_once_in_any_order)
{
	static const uint8_t a[STORE_SENDER_BYTES] = "a", b[STORE_SENDER_BYTES] = "b";
	bool here[2][4096] = { { false } };
	uint64_t missing[2] = { 1, 1 }, seq;
	struct rng rng = { 12345 };
	struct place pl = place_new();
	size_t taken = 0;

	for (int i = 0; i < 3000; i++) {
		int who = rng_below(&rng, 2);
		uint64_t spread = rng_below(&rng, 40) ? 30 : 2000;
		uint64_t number = missing[who] > 10 ? missing[who] - 10 : 1;
		number += rng_below(&rng, spread);
		struct err err = { 0 };
		int rc = put(&pl, who ? b : a, number, &seq, &err);
		if (number >= missing[who] + INBOX_WINDOW) {
			ck_assert_int_eq(rc, -ERANGE);
			ck_assert_ptr_nonnull(strstr(err.text, "too far ahead"));
			continue;
		}
		ck_assert_msg(rc == 0, "%s", err.text);
		ck_assert_int_eq(seq != 0, !here[who][number]);
		taken += !here[who][number];
		here[who][number] = true;
		while (here[who][missing[who]])
			missing[who]++;
		if (i % 500 == 499)
			place_reopen(&pl);
	}
	struct seen seen = { 0 };
	ck_assert_int_eq(inbox_replay(pl.in, note, &seen, NULL), 0);
	ck_assert_uint_eq(seen.n, taken);
	for (int i = 0; i < 4096; i++)
		ck_assert_uint_eq(seen.times[i], here[0][i] + here[1][i]);
	place_done(&pl);
}
END_TEST

START_TEST(a_group_is_all_or_nothing)
{
	static const uint8_t a[STORE_SENDER_BYTES] = "a";
	struct place pl = place_new();
	struct rows rows = { .number = 1 };
	const struct inbox_rows how = { encode, &rows };
	struct store_batch b[] = { { .sender = a, .sequence = 1 },
				   { .sender = a, .sequence = 2 },
				   { .sender = a, .sequence = 2000 } };
	uint64_t seqs[3];
	struct err err = { 0 };

	ck_assert_int_eq(inbox_put(pl.in, b, &how, 3, 7, seqs, &err), -ERANGE);
	ck_assert_uint_eq(inbox_last(pl.in), 0);
	ck_assert_int_eq(inbox_put(pl.in, b, &how, 2, 7, seqs, &err), 0);
	ck_assert_uint_eq(seqs[0], 1);
	ck_assert_uint_eq(seqs[1], 2);
	ck_assert_int_eq(inbox_put(pl.in, b, &how, 2, 7, seqs, &err), 0);
	ck_assert_uint_eq(seqs[0] + seqs[1], 0);
	place_done(&pl);
}
END_TEST

/* Sequences continue after everything was removed, also in the next process. */
START_TEST(purged_in_slices)
{
	struct place pl = place_new();
	uint64_t seq;
	int rc, slices = 0;

	for (uint64_t i = 1; i <= 300; i++)
		ck_assert_int_eq(put(&pl, NULL, i, &seq, NULL), 0);
	while ((rc = inbox_purge(pl.in, 250, 200, NULL)) > 0)
		slices++;
	ck_assert_int_eq(rc, 0);
	ck_assert_int_gt(slices, 5);
	struct seen seen = { 0 };
	ck_assert_int_eq(inbox_replay(pl.in, note, &seen, NULL), 0);
	ck_assert_uint_eq(seen.n, 50);
	ck_assert_uint_eq(seen.times[250], 0);
	ck_assert_uint_eq(seen.times[251], 1);
	while (inbox_purge(pl.in, 300, 1 << 20, NULL) > 0)
		continue;
	place_reopen(&pl);
	ck_assert_int_eq(put(&pl, NULL, 1, &seq, NULL), 0);
	ck_assert_uint_eq(seq, 301);
	place_done(&pl);
}
END_TEST

/* Disk space taken during a rush is given back afterwards; the latest rows stay. */
START_TEST(purged_it_is_small_again)
{
	struct place pl = place_new();
	struct rng rng = { 99 };
	struct rows rows = { .noise_bytes = 1600000, .rng = &rng };
	const struct inbox_rows how = { encode, &rows };
	struct store_batch b = { 0 };
	struct seen seen = { 0 };
	uint64_t seq;

	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(inbox_put(pl.in, &b, &how, 1, 7, &seq, NULL), 0);
	ck_assert_int_eq(put(&pl, NULL, 1, &seq, NULL), 0);
	uint64_t most = inbox_bytes(pl.in);
	ck_assert_uint_gt(most, 30 << 20);
	while (inbox_purge(pl.in, seq - 1, 4 << 20, NULL) > 0)
		continue;
	ck_assert_uint_lt(inbox_bytes(pl.in), 2 << 20);
	ck_assert_int_eq(inbox_replay(pl.in, note, &seen, NULL), 0);
	ck_assert_uint_eq(seen.n, 1);
	place_done(&pl);
}
END_TEST

struct compared {
	struct rng rng; /* as it was for the puts */
	size_t bytes, n;
};

static int compare(void *ctx, uint64_t seq, int64_t received_ns, const struct cur *row,
		   struct err *err)
{
	struct compared *want = ctx;
	struct cur c = *row;

	(void)seq, (void)received_ns, (void)err;
	ck_assert_uint_eq(cur_left(&c), 8 + (want->bytes + 7) / 8 * 8);
	ck_assert_uint_eq(cur_int(&c, 8), want->n++);
	while (cur_left(&c))
		ck_assert_uint_eq(le64toh(cur_int(&c, 8)), rng_next(&want->rng));
	return 0;
}

START_TEST(output_equals_input)
{
	for (uint64_t seed = 1; seed < 20; seed++) {
		struct rng rng = { seed };
		struct rows rows = { .noise_bytes = seed * seed * 50, .rng = &rng };
		const struct inbox_rows how = { encode, &rows };
		struct compared want = { rng, rows.noise_bytes, 0 };
		struct place pl = place_new();
		struct store_batch b[3] = { { 0 } };
		uint64_t seqs[3];
		ck_assert_int_eq(inbox_put(pl.in, b, &how, 3, 7, seqs, NULL), 0);
		place_reopen(&pl);
		ck_assert_int_eq(inbox_replay(pl.in, compare, &want, NULL), 0);
		ck_assert_uint_eq(want.n, 3);
		place_done(&pl);
	}
}
END_TEST

static int count_damaged(void *ctx, uint64_t seq, int64_t received_ns, const struct cur *row,
			 struct err *err)
{
	int *n = ctx;

	(void)seq, (void)received_ns, (void)err;
	n[row == NULL]++;
	return 0;
}

START_TEST(kinds_of_damage_are_distinguished)
{
	struct place pl = place_new();
	uint64_t seq;
	int n[2] = { 0 };
	sqlite3 *db;

	for (uint64_t i = 1; i <= 3; i++)
		ck_assert_int_eq(put(&pl, NULL, i, &seq, NULL), 0);
	ck_assert_int_eq(sqlite3_open(pl.path, &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(db,
				      "UPDATE batch SET data = data || x'00' WHERE seq = 2; "
				      "UPDATE batch SET data = NULL WHERE seq = 3",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	ck_assert_int_eq(inbox_replay(pl.in, count_damaged, n, NULL), 0);
	ck_assert_int_eq(n[0], 1);
	ck_assert_int_eq(n[1], 2);
	place_done(&pl);
}
END_TEST

UNIT_MAIN("inbox", each_number_once_in_any_order, a_group_is_all_or_nothing, purged_in_slices,
	  purged_it_is_small_again, output_equals_input, kinds_of_damage_are_distinguished)
