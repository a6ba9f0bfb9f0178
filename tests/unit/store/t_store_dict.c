// tier: test
// run: in memory
/* Batches in the inbox refer to dictionaries that grow, from senders that keep their profiles and from others: whenever the process ends, and
 * whatever is damaged, a row's meaning stays true, or the row is counted as lost. */
#include "base/err.h"
#include "base/hash.h"
#include "random_profile.h"
#include "store_witness.h"
#include "unit.h"

#include <errno.h>
#include <ftw.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <zstd.h>

#define SECOND_NS 1000000000ll
#define HOUR_NS   (3600 * SECOND_NS)
#define DAY_NS    (24 * HOUR_NS)
#define START_NS  (20000 * DAY_NS + 5 * HOUR_NS)

enum { SENDERS = 4 };
struct agent {
	uint8_t id[STORE_SENDER_BYTES];
	uint64_t sent;
	struct profile *kept; /* NULL: each batch is its own profile */
	struct store_dict *dict;
};
struct world {
	char dir[64];
	int64_t now_ns;
	struct store_opts opts;
	struct store *s;
	struct tally want;
	struct agent agents[SENDERS];
	struct rng rng;
	uint64_t batches;
	uint32_t pieces; /* seen of one day */
};

static int64_t world_now(void *ctx)
{
	return ((struct world *)ctx)->now_ns;
}

static void world_open(struct world *w)
{
	struct err err = { 0 };

	ck_assert_msg(store_open(w->dir, &w->opts, &w->s, &err) == 0, "%s", err.text);
	for (int i = 0; i < SENDERS; i++)
		if (w->agents[i].kept)
			w->agents[i].dict = store_dict_new(w->s);
}

static void forget_dicts(struct world *w)
{
	for (int i = 0; i < SENDERS; i++) {
		store_dict_free(w->agents[i].dict);
		w->agents[i].dict = NULL;
	}
}

static void world_init(struct world *w, struct store_opts opts, uint64_t seed)
{
	*w = (struct world){
		.dir = "/tmp/t_store.XXXXXX", .now_ns = START_NS, .opts = opts, .rng = { seed }
	};
	ck_assert_ptr_nonnull(mkdtemp(w->dir));
	w->opts.now_ns = world_now;
	w->opts.ctx = w;
	for (int i = 0; i < SENDERS; i++) {
		memset(w->agents[i].id, 1 + i, STORE_SENDER_BYTES);
		w->agents[i].kept = i < SENDERS / 2 ? profile_new() : NULL;
	}
	world_open(w);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void world_done(struct world *w)
{
	forget_dicts(w);
	store_abandon(w->s);
	for (int i = 0; i < SENDERS; i++)
		profile_free(w->agents[i].kept);
	tally_done(&w->want);
	ck_assert_int_eq(nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void world_restart(struct world *w, bool abandon)
{
	struct err err = { 0 };

	forget_dicts(w);
	if (abandon)
		store_abandon(w->s);
	else
		ck_assert_msg(store_close(w->s, &err) == 0, "%s", err.text);
	world_open(w);
}

static void world_check(struct world *w)
{
	struct tally have = { 0 };

	tally_store(&have, w->s);
	ck_assert_uint_eq(tally_diff(&w->want, &have), 0);
	tally_done(&have);
	ck_assert_uint_eq(w->s->stats.bad_batches + w->s->stats.bad_rows, 0);
}

/* --- batches ---------------------------------------------------------------------------------- */

/* Unlike in random_profile, batches far apart have different stacks. */
static void add_own_stack(struct profile *p, uint64_t number)
{
	struct sink *s = profile_sink(p);
	uint32_t frames[8];
	char name[64];

	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof name, "only_in_%llu_%d", (unsigned long long)number / 2, i);
		struct frame f = { .kind = FRAME_PYTHON,
				   .mapping = MAPPING_NONE,
				   .function = sink_string(s, name) };
		frames[i] = s->ops->frame(s, &f);
	}
	p->samples.stack[p->samples.n - 1] = s->ops->stack(s, frames, 8);
}

static struct profile *fresh_batch(struct world *w, int64_t span_ns)
{
	struct random_profile r = random_profile(
		1 + w->batches++,
		(struct random_shape){
			.n_stacks = 30, .n_samples = 60, .waits = w->batches % 2, .links = true });
	struct sample_columns *c = &r.p->samples;

	for (size_t i = 0; i < c->n; i++) {
		c->time_ns[i] = w->now_ns - (int64_t)rng_below(&w->rng, span_ns);
		if (c->length_ns && c->length_ns[i])
			c->length_ns[i] = rng_below(&w->rng, 100 * SECOND_NS);
	}
	r.p->meta.start_mono_ns = 0;
	add_own_stack(r.p, w->batches);
	return r.p;
}

/* Its next batch, to be given to batch_sent. */
static struct store_batch next_batch(struct world *w, struct agent *a, int64_t span_ns)
{
	struct store_batch b = { .p = fresh_batch(w, span_ns),
				 .sender = a->id,
				 .sequence = a->sent + 1,
				 .dict = a->dict };

	if (a->kept) {
		profile_merge(a->kept, b.p);
		profile_free(b.p);
		b.p = a->kept;
	}
	return b;
}

static void batch_sent(struct agent *a, struct store_batch *b)
{
	if (a->kept)
		a->kept->samples.n = 0;
	else
		profile_free(b->p);
}

static void note_pieces(struct world *w)
{
	for (size_t i = 0; i < w->s->parts.n; i++)
		if (w->s->parts.v[i]->piece > w->pieces)
			w->pieces = w->s->parts.v[i]->piece;
}

/* Several senders at the same time. Sometimes one of them is too far ahead, so that nothing gets in; or a batch is a duplicate. */
static void send_group(struct world *w)
{
	struct store_batch b[SENDERS];
	bool duplicate[SENDERS], ahead = rng_below(&w->rng, 5) == 0;
	int64_t span_ns = rng_below(&w->rng, 5) ? 10 * SECOND_NS : 30 * HOUR_NS;
	struct err err = { 0 };

	for (int i = 0; i < SENDERS; i++)
		b[i] = next_batch(w, &w->agents[i], span_ns);
	b[SENDERS - 1].sequence += ahead ? 5000 : 0;
	int rc = store_ingest(w->s, b, SENDERS, duplicate, &err);
	ck_assert_int_eq(rc, ahead ? -ERANGE : 0);
	b[SENDERS - 1].sequence -= ahead ? 5000 : 0;
	if (ahead && rng_below(&w->rng, 2)) { /* alone: others are duplicates of nothing */
		ck_assert_int_eq(store_ingest(w->s, b, 1, duplicate, &err), 0);
		tally_batch(&w->want, b[0].p, 0);
		w->agents[0].sent++;
	} else if (!ahead) {
		for (int i = 0; i < SENDERS; i++) {
			ck_assert(!duplicate[i]);
			tally_batch(&w->want, b[i].p, 0);
			w->agents[i].sent++;
		}
		if (rng_below(&w->rng, 3) == 0)
			ck_assert_int_eq(store_ingest(w->s, b, SENDERS, duplicate, &err), 0);
	}
	for (int i = 0; i < SENDERS; i++)
		batch_sent(&w->agents[i], &b[i]);
	note_pieces(w);
}

static void maintain(struct world *w)
{
	struct err err = { 0 };
	int rc;

	while ((rc = store_maintain(w->s, SECOND_NS, &err)) > 0)
		continue;
	ck_assert_msg(rc == 0, "%s", err.text);
}

static void random_history(uint64_t seed, uint64_t memory_bytes, int steps, uint32_t restart_each)
{
	struct world w;

	world_init(&w, (struct store_opts){ .memory_bytes = memory_bytes }, seed);
	for (int i = 0; i < steps; i++) {
		send_group(&w);
		w.now_ns +=
			rng_below(&w.rng, 3) ? SECOND_NS : (int64_t)rng_below(&w.rng, 9 * HOUR_NS);
		if (rng_below(&w.rng, 3) == 0)
			maintain(&w);
		if (rng_below(&w.rng, restart_each) == 0)
			world_restart(&w, rng_below(&w.rng, 4));
		if (restart_each == 1 || rng_below(&w.rng, 5) == 0)
			world_check(&w);
	}
	world_restart(&w, true);
	world_check(&w);
	if (memory_bytes)
		ck_assert_uint_gt(w.pieces, 0);
	world_done(&w);
}

START_TEST(same_result_with_and_without_retention)
{
	for (uint64_t seed = 1; seed < 3; seed++)
		random_history(seed, 0, 40, 8);
}
END_TEST

START_TEST(replayed_at_each_point)
{
	random_history(11, 0, 30, 1);
}
END_TEST

/* Memory is so short that a day gets piece after piece, and senders are forgotten. */
START_TEST(dictionaries_that_are_full)
{
	for (uint64_t seed = 21; seed < 22; seed++)
		random_history(seed, 400000, 40, 6);
}
END_TEST

/* --- damage ----------------------------------------------------------------------------------- */

static void run_sql(const struct world *w, const char *sql)
{
	char path[96];
	sqlite3 *db;

	snprintf(path, sizeof path, "%s/inbox.db", w->dir);
	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* Three batches of the same stacks, with the n-th row damaged. */
static void damage_row(int n, uint64_t lost_batches, uint64_t lost_rows)
{
	struct world w;
	struct tally have = { 0 };
	struct err err = { 0 };
	char sql[96];

	world_init(&w, (struct store_opts){ 0 }, 5);
	struct profile *p = fresh_batch(&w, SECOND_NS);
	struct store_batch b = { .p = p };
	for (size_t i = 0; i < p->samples.n; i++) /* the empty one is always there */
		p->samples.stack[i] = p->samples.stack[i] ?: p->samples.stack[p->samples.n - 1];
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(store_ingest(w.s, &b, 1, NULL, &err), 0);
	forget_dicts(&w);
	store_abandon(w.s);
	snprintf(sql, sizeof sql, "UPDATE batch SET data = x'0002' WHERE seq = %d", n);
	run_sql(&w, sql);
	world_open(&w);
	ck_assert_uint_eq(w.s->stats.bad_batches, 1);
	ck_assert_uint_eq(w.s->stats.bad_rows, lost_rows * p->samples.n);
	for (uint64_t i = lost_batches; i < 3; i++)
		tally_batch(&w.want, p, 0);
	tally_store(&have, w.s);
	ck_assert_uint_eq(tally_diff(&w.want, &have), 0);
	tally_done(&have);
	/* The day goes on, and new data is safe. */
	ck_assert_int_eq(store_ingest(w.s, &b, 1, NULL, &err), 0);
	tally_batch(&w.want, p, 0);
	world_restart(&w, true);
	have = (struct tally){ 0 };
	tally_store(&have, w.s);
	ck_assert_uint_eq(tally_diff(&w.want, &have), 0);
	tally_done(&have);
	profile_free(p);
	world_done(&w);
}

START_TEST(effects_of_a_damaged_row)
{
	damage_row(1, 3, 2); /* it had the stacks of the others */
	damage_row(2, 1, 0);
	damage_row(3, 1, 0);
}
END_TEST

/* Rows with some bytes replaced, and a checksum that matches. */
static void forge_row(sqlite3 *db, struct rng *rng, int64_t seq)
{
	sqlite3_stmt *get, *set;

	sqlite3_prepare_v2(db, "SELECT data FROM batch WHERE seq = ?", -1, &get, NULL);
	sqlite3_bind_int64(get, 1, seq);
	ck_assert_int_eq(sqlite3_step(get), SQLITE_ROW);
	const uint8_t *data = sqlite3_column_blob(get, 0);
	size_t len = sqlite3_column_bytes(get, 0), room = 1 << 20;
	char *plain = calloc(1, 1 + room);
	size_t n = len - 1;
	if (data[0])
		n = ZSTD_decompress(plain + 1, room, data + 1, len - 1);
	else
		memcpy(plain + 1, data + 1, n);
	ck_assert(!ZSTD_isError(n));
	for (uint32_t i = 1 + rng_below(rng, 3); i; i--)
		plain[2 + rng_below(rng, n - 1)] = rng_next(rng);
	if (rng_below(rng, 4) == 0)
		n -= rng_below(rng, n / 2);
	sqlite3_prepare_v2(db, "UPDATE batch SET data = ?, sum = ? WHERE seq = ?", -1, &set, NULL);
	sqlite3_bind_blob(set, 1, plain, 1 + n, SQLITE_STATIC);
	sqlite3_bind_int64(set, 2, (int64_t)hash_bytes(plain, 1 + n));
	sqlite3_bind_int64(set, 3, seq);
	ck_assert_int_eq(sqlite3_step(set), SQLITE_DONE);
	sqlite3_finalize(get);
	sqlite3_finalize(set);
	free(plain);
}

static void forge_rows(struct world *w)
{
	char path[96];
	sqlite3 *db;

	snprintf(path, sizeof path, "%s/inbox.db", w->dir);
	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	for (int64_t seq = 1 + rng_below(&w->rng, 3); seq <= 8; seq += 1 + rng_below(&w->rng, 4))
		forge_row(db, &w->rng, seq);
	sqlite3_close(db);
}

/* However it is read: new data is added to that, and the next replay reads the same. */
static void forged_history(uint64_t seed)
{
	struct world w;
	struct err err = { 0 };

	world_init(&w, (struct store_opts){ 0 }, seed);
	for (int i = 0; i < 8; i++) {
		struct profile *p = fresh_batch(&w, SECOND_NS);
		struct store_batch b = { .p = p };
		ck_assert_int_eq(store_ingest(w.s, &b, 1, NULL, &err), 0);
		profile_free(p);
	}
	forget_dicts(&w);
	store_abandon(w.s);
	forge_rows(&w);
	world_open(&w);
	tally_store(&w.want, w.s);
	for (int i = 0; i < 3; i++) {
		struct tally have = { 0 };
		struct profile *p = fresh_batch(&w, SECOND_NS);
		struct store_batch b = { .p = p };
		ck_assert_msg(store_ingest(w.s, &b, 1, NULL, &err) == 0, "%s", err.text);
		tally_batch(&w.want, p, 0);
		profile_free(p);
		world_restart(&w, i % 2 == 0);
		tally_store(&have, w.s);
		ck_assert_msg(tally_diff(&w.want, &have) == 0, "seed %llu, %d",
			      (unsigned long long)seed, i);
		tally_done(&have);
	}
	world_done(&w);
}

START_TEST(forged_rows_do_no_harm)
{
	for (uint64_t seed = 1; seed < 24; seed++)
		forged_history(seed);
}
END_TEST

UNIT_MAIN("store_dict", same_result_with_and_without_retention, replayed_at_each_point,
	  dictionaries_that_are_full, effects_of_a_damaged_row, forged_rows_do_no_harm)
