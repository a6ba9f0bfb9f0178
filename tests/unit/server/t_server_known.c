// tier: test
/* Known stacks of a sender are not decoded again, and yet every row is the same: a store filled in this way has the same rows as one whose messages
 * are decoded in full. */
#include "base/buf.h"
#include "rand.h"
#include "server/ingest/senders.h"
#include "store_witness.h"
#include "unit.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND_NS 1000000000ll
#define DAY_NS    (24 * 3600 * SECOND_NS)
#define START_NS  (20000 * DAY_NS + 5 * 3600 * SECOND_NS)

struct world {
	char dir[2][64];
	int64_t now_ns;
	struct store *s[2]; /* with known stacks, and without */
	struct sender_stacks known;
	uint64_t used, follows;
};

static int64_t world_now(void *ctx)
{
	return ((struct world *)ctx)->now_ns;
}

static void world_init(struct world *w)
{
	*w = (struct world){ .now_ns = START_NS };
	struct store_opts opts = { .now_ns = world_now, .ctx = w };
	for (int i = 0; i < 2; i++) {
		strcpy(w->dir[i], "/tmp/t_known.XXXXXX");
		ck_assert_ptr_nonnull(mkdtemp(w->dir[i]));
		ck_assert_int_eq(store_open(w->dir[i], &opts, &w->s[i], NULL), 0);
	}
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void world_done(struct world *w)
{
	sender_stacks_done(&w->known);
	for (int i = 0; i < 2; i++) {
		store_abandon(w->s[i]);
		ck_assert_int_eq(nftw(w->dir[i], remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
	}
}

static int ingest(struct store *s, struct profile *p, struct store_known_stacks *known)
{
	struct store_batch b = { .p = p, .known = known };
	return store_ingest(s, &b, 1, NULL, NULL);
}

static void send_plain(struct world *w, const struct buf *message)
{
	struct profile *p = profile_new();
	ck_assert_int_eq(
		otlp_decode(message->data, message->len, "it", profile_sink(p), NULL, NULL), 0);
	ck_assert_int_eq(ingest(w->s[1], p, NULL), 0);
	profile_free(p);
}

/* Does what server/route/route_otlp.c does. */
static void send_known(struct world *w, const struct buf *message)
{
	struct sender_stacks_use u = { 0 };
	struct sender_stacks next;
	struct profile *p = profile_new();
	sender_stacks_copy(&u.before, &w->known);
	sender_stacks_use_begin(&u, w->s[0]);
	ck_assert_int_eq(otlp_decode_known(message->data, message->len, "it", profile_sink(p),
					   &u.message, NULL, NULL),
			 0);
	sender_stacks_use_rows(&u);
	w->used += u.rows.is_used;
	w->follows += u.message.follows;
	ck_assert_int_eq(ingest(w->s[0], p, &u.rows), 0);
	if (sender_stacks_use_result(&u, &next)) {
		sender_stacks_done(&w->known);
		w->known = next;
	}
	sender_stacks_use_done(&u);
	profile_free(p);
}

static void compare(struct world *w)
{
	struct tally a = { 0 }, b = { 0 };
	tally_kept(&a, w->s[0]);
	tally_kept(&b, w->s[1]);
	ck_assert_int_gt(tally_total(&b), 0);
	ck_assert_int_eq(tally_total(&a), tally_total(&b));
	ck_assert_uint_eq(tally_diff(&a, &b), 0);
	tally_done(&a);
	tally_done(&b);
}

/* --- a sender that goes on with its profile --------------------------------------------------- */

static uint32_t put_frame(struct sink *s, uint32_t n)
{
	char name[64];
	snprintf(name, sizeof name, "/usr/lib/lib%u.so", n % 7);
	struct mapping m = { .name = sink_string(s, name), .build_id_len = 20 };
	memset(m.build_id, 1 + n % 7, 20);
	struct frame f = { .kind = n % 5 ? FRAME_NATIVE : FRAME_KERNEL,
			   .mapping = s->ops->mapping(s, &m),
			   .offset = 0x1000 + n * 16 };
	uint32_t frame = s->ops->frame(s, &f);
	snprintf(name, sizeof name, "function_%u", n / 2);
	struct function fn = { .name = sink_string(s, name) };
	struct line line = { s->ops->function(s, &fn), 1 + n, 0 };
	s->ops->names(s, frame, &line, 1);
	return frame;
}

static void put_sample(struct sink *s, struct rng *rng, uint32_t functions)
{
	char name[32];
	uint32_t frames[6], depth = 1 + rng_below(rng, 6);
	for (uint32_t i = 0; i < depth; i++)
		frames[i] = put_frame(s, rng_below(rng, functions));
	snprintf(name, sizeof name, "thread-%u", (unsigned)rng_below(rng, 9));
	struct label label = { .key = sink_string(s, "comm"), .str = sink_string(s, name) };
	struct type type = { .name = sink_string(s, "cpu"),
			     .sample_type = sink_string(s, "samples"),
			     .unit = sink_string(s, "count") };
	struct series series = { .type = s->ops->type(s, &type),
				 .labels = s->ops->labels(s, &label, 1) };
	struct sample sample = { .time_ns = (int64_t)rng_below(rng, 9 * SECOND_NS),
				 .value = 1 + rng_below(rng, 5),
				 .series = s->ops->series(s, &series),
				 .stack = s->ops->stack(s, frames, depth),
				 .pid = 1 + rng_below(rng, 99),
				 .tid = 1 + rng_below(rng, 99),
				 .cpu = rng_below(rng, 4) };
	s->ops->sample(s, &sample);
}

static void next_message(struct world *w, struct profile *p, struct rng *rng, uint32_t functions,
			 struct buf *out)
{
	const struct otlp_encode_opts opts = { .whole_tables = true };
	p->samples.n = 0;
	p->meta.start_wall_ns = w->now_ns;
	for (int i = 0; i < 200; i++)
		put_sample(&p->sink, rng, functions);
	buf_clear(out);
	ck_assert_int_eq(otlp_encode(p, &opts, out, NULL), 0);
}

START_TEST(rows_are_the_same)
{
	struct rng rng = { 4711 };
	struct world w;
	struct buf message = { 0 };
	struct profile *p = profile_new();
	world_init(&w);
	for (uint32_t round = 0; round < 30; round++) {
		next_message(&w, p, &rng, 3 + round, &message);
		send_known(&w, &message);
		send_plain(&w, &message);
		w.now_ns += 10 * SECOND_NS;
	}
	ck_assert_uint_eq(w.follows, 29);
	ck_assert_uint_eq(w.used, 29);
	compare(&w);
	profile_free(p);
	buf_done(&message);
	world_done(&w);
}
END_TEST

START_TEST(another_day_is_looked_up_again)
{
	struct rng rng = { 4712 };
	struct world w;
	struct buf message = { 0 };
	struct profile *p = profile_new();
	world_init(&w);
	for (uint32_t round = 0; round < 12; round++) {
		next_message(&w, p, &rng, 6, &message);
		send_known(&w, &message);
		send_plain(&w, &message);
		w.now_ns += DAY_NS / 4;
		for (int i = 0; i < 2; i++)
			ck_assert_int_ge(store_maintain(w.s[i], SECOND_NS, NULL), 0);
	}
	compare(&w);
	profile_free(p);
	buf_done(&message);
	world_done(&w);
}
END_TEST

/* The stacks have the same numbers, with other meanings. */
START_TEST(other_tables_are_not_taken_for_these)
{
	struct rng rng = { 4713 };
	struct world w;
	struct buf message = { 0 };
	world_init(&w);
	for (uint32_t round = 0; round < 20; round++) {
		struct profile *p = profile_new();
		if (round % 2)
			put_frame(&p->sink, 1000 + round);
		struct rng same = rng;
		next_message(&w, p, &same, 5 + round / 4, &message);
		send_known(&w, &message);
		send_plain(&w, &message);
		profile_free(p);
		w.now_ns += SECOND_NS;
	}
	ck_assert_uint_lt(w.follows, 20);
	compare(&w);
	buf_done(&message);
	world_done(&w);
}
END_TEST

/* Stacks that were known when the message was decoded may no longer be: then nothing of it is kept. */
START_TEST(stale_stacks_are_refused)
{
	struct rng rng = { 4714 };
	struct world w;
	struct buf message = { 0 };
	struct profile *p = profile_new();
	world_init(&w);
	next_message(&w, p, &rng, 5, &message);
	send_known(&w, &message);
	struct profile *q = profile_new();
	struct sender_stacks_use u = { 0 };
	sender_stacks_copy(&u.before, &w.known);
	sender_stacks_use_begin(&u, w.s[0]);
	ck_assert_int_eq(otlp_decode_known(message.data, message.len, "it", profile_sink(q),
					   &u.message, NULL, NULL),
			 0);
	sender_stacks_use_rows(&u);
	ck_assert(u.rows.is_used);
	u.rows.dict_id++;
	ck_assert_int_eq(ingest(w.s[0], q, &u.rows), -ESTALE);
	send_plain(&w, &message);
	compare(&w);
	sender_stacks_use_done(&u);
	profile_free(q);
	profile_free(p);
	buf_done(&message);
	world_done(&w);
}
END_TEST

UNIT_MAIN("server_known", rows_are_the_same, another_day_is_looked_up_again,
	  other_tables_are_not_taken_for_these, stale_stacks_are_refused)
