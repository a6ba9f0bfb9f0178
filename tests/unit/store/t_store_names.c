// tier: test
// run: in memory
/* Names of batches, however the previous process ended: what was acknowledged with a name, or later with a better one, shows it. */
#include "unit.h"

#include "base/err.h"
#include "profile/frame.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/stack.h"
#include "rand.h"
#include "store/codec/store.h"

#include <ftw.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#define SECOND_NS 1000000000ll
#define HOUR_NS   (3600 * SECOND_NS)
#define START_NS  (20000 * 24 * HOUR_NS + 5 * HOUR_NS)

enum { PLACES = 900 };

struct world {
	char dir[64];
	int64_t now_ns;
	struct store_opts opts;
	struct store *s;
	struct rng r;
	uint32_t version;
	uint32_t want[PLACES]; /* the version of each name; 0: it never came */
	uint32_t bytes;        /* of a name, about */
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

static void world_init(struct world *w, uint64_t seed, uint64_t memory_bytes)
{
	*w = (struct world){ .dir = "/tmp/t_names.XXXXXX", .now_ns = START_NS, .r = { seed } };
	ck_assert_ptr_nonnull(mkdtemp(w->dir));
	w->opts =
		(struct store_opts){ .memory_bytes = memory_bytes, .now_ns = world_now, .ctx = w };
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

/* --- batches ---------------------------------------------------------------------------------- */

static uint32_t add_series(struct profile *p)
{
	struct sink *s = profile_sink(p);
	struct type cpu = { .name = sink_string(s, "cpu"), .unit = sink_string(s, "count") };
	struct label comm = { .key = sink_string(s, "comm"), .str = sink_string(s, "a") };

	return s->ops->series(s, &(struct series){ .type = s->ops->type(s, &cpu),
						   .labels = s->ops->labels(s, &comm, 1) });
}

/* Padded with spaces, so that names can be long. */
static const char *name_of(const struct world *w, char *buf, uint32_t place, uint32_t version)
{
	snprintf(buf, 512, "f%u_v%u%*s", place, version, (int)w->bytes, "");
	return buf;
}

static uint32_t add_place(const struct world *w, struct profile *p, uint32_t place,
			  uint32_t version)
{
	struct sink *s = profile_sink(p);
	struct mapping m = { .name = sink_string(s, "/bin/a"), .build_id_len = 8 };
	char name[512];

	m.build_id[0] = 1 + place % 3;
	uint32_t frame = s->ops->frame(s, &(struct frame){ .kind = FRAME_NATIVE,
							   .mapping = s->ops->mapping(s, &m),
							   .offset = 4096 + place });
	if (version) {
		struct function f = { .name = sink_string(s, name_of(w, name, place, version)) };
		struct line line = { .function = s->ops->function(s, &f) };
		s->ops->names(s, frame, &line, 1);
	}
	return frame;
}

static void add_sample(struct profile *p, uint32_t frame, int64_t time_ns)
{
	struct sink *s = profile_sink(p);
	struct sample sample = { .time_ns = time_ns,
				 .value = 1,
				 .series = add_series(p),
				 .stack = s->ops->stack(s, &frame, 1),
				 .pid = SAMPLE_NO_ID,
				 .tid = SAMPLE_NO_ID,
				 .cpu = SAMPLE_NO_ID };

	s->ops->sample(s, &sample);
}

static void give(struct world *w, struct profile *p)
{
	struct store_batch batch = { .p = p };
	struct err err = { 0 };

	ck_assert_msg(store_ingest(w->s, &batch, 1, NULL, &err) == 0, "%s", err.text);
	profile_free(p);
}

/* Gives some places: many with the name they have, some with a new one, some with none. */
static void give_some(struct world *w)
{
	struct profile *p = profile_new();
	uint32_t n = 1 + rng_below(&w->r, 200), first = rng_below(&w->r, PLACES - n);

	w->version++;
	for (uint32_t i = first; i < first + n; i++) {
		uint32_t version = rng_below(&w->r, 4) ? w->want[i] : w->version;

		if (rng_below(&w->r, 8) == 0)
			version = 0;
		w->want[i] = version ? version : w->want[i];
		add_sample(p, add_place(w, p, i, version), w->now_ns - SECOND_NS);
	}
	give(w, p);
}

/* --- shown names ------------------------------------------------------------------------------ */

static void check_stack(const struct world *w, const struct profile *dict, uint32_t stack)
{
	uint32_t frame = stack_leaf(&dict->stacks, stack);
	uint32_t place = dict->frames.frames.v[frame].offset - 4096;
	const struct line *line;
	char name[512];

	ck_assert_uint_eq(names_get(&dict->names, frame, &line), w->want[place] ? 1 : 0);
	if (w->want[place])
		ck_assert_str_eq(profile_str(dict, dict->names.functions.v[line->function].name),
				 name_of(w, name, place, w->want[place]));
}

static void check_store(const struct world *w, struct store *s)
{
	struct store_view *v;
	struct store_merged merged;

	ck_assert_int_eq(store_view_open(s, &v, NULL), 0);
	ck_assert_int_eq(store_merge(v, NULL, 0, INT64_MAX, &merged, NULL), 0);
	for (size_t i = 0; i < merged.n; i++)
		for (uint32_t k = 0; k < merged.parts[i].n; k++)
			check_stack(w, merged.parts[i].dict, merged.parts[i].stack[k]);
	store_merged_done(&merged);
	store_view_close(v);
}

/* What another process sees, from the files alone. */
static void check_beside(const struct world *w)
{
	struct store_opts opts = w->opts;
	struct err err = { 0 };
	struct store *reader;

	opts.read_only = true;
	ck_assert_msg(store_open(w->dir, &opts, &reader, &err) == 0, "%s", err.text);
	check_store(w, reader);
	ck_assert_int_eq(store_close(reader, &err), 0);
}

static void maintain(struct world *w)
{
	struct err err = { 0 };
	int rc;

	while ((rc = store_maintain(w->s, SECOND_NS, &err)) > 0)
		continue;
	ck_assert_msg(rc == 0, "%s", err.text);
}

/* A number that the SQL yields for a file of the store. */
static int64_t count_in(const struct world *w, const char *file, const char *sql)
{
	char path[128];
	sqlite3 *db;
	sqlite3_stmt *s;

	snprintf(path, sizeof path, "%s/%s", w->dir, file);
	ck_assert_int_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
	int64_t n = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return n;
}

/* --- tests ------------------------------------------------------------------------------------ */

/* Names that are acknowledged, but only in the inbox: queries show them, they survive a crash, and they are in names.db before their batch leaves. */
START_TEST(names_wait_in_the_inbox)
{
	static const char batches[] = "SELECT count(*) FROM batch",
			  chunks[] = "SELECT count(*) FROM names";
	struct world w;

	world_init(&w, 3, 0);
	for (int i = 0; i < 5; i++)
		give_some(&w);
	ck_assert_int_eq(count_in(&w, "names.db", chunks), 0);
	ck_assert_int_eq(count_in(&w, "inbox.db", batches), 5);
	check_store(&w, w.s);
	check_beside(&w);
	store_abandon(w.s);
	world_open(&w);
	ck_assert_int_eq(count_in(&w, "names.db", chunks), 0);
	check_store(&w, w.s);
	w.now_ns += 2 * HOUR_NS;
	maintain(&w);
	ck_assert_int_eq(count_in(&w, "inbox.db", batches), 0);
	ck_assert_int_gt(count_in(&w, "names.db", chunks), 0);
	store_abandon(w.s);
	world_open(&w);
	check_store(&w, w.s);
	world_done(&w);
}
END_TEST

/* A known name is not in the inbox a second time; a corrected one is. */
START_TEST(known_names_come_once)
{
	static const char last[] = "SELECT length(data) FROM batch ORDER BY seq DESC LIMIT 1";
	struct world w;
	int64_t bytes[3];

	world_init(&w, 3, 0);
	for (uint32_t i = 0; i < 3; i++) {
		struct profile *p = profile_new();

		for (uint32_t place = 0; place < PLACES; place++) {
			w.want[place] = i == 2 && place % 3 == 0 ? 2 : 1;
			add_sample(p, add_place(&w, p, place, w.want[place]), w.now_ns);
		}
		give(&w, p);
		bytes[i] = count_in(&w, "inbox.db", last);
	}
	ck_assert_int_lt(bytes[1], bytes[0] * 2 / 3);
	ck_assert_int_gt(bytes[2], bytes[1]);
	ck_assert_int_lt(bytes[2], bytes[0]);
	store_abandon(w.s);
	world_open(&w);
	check_store(&w, w.s);
	world_done(&w);
}
END_TEST

static void random_step(struct world *w)
{
	struct err err = { 0 };

	give_some(w);
	switch (rng_below(&w->r, 8)) {
	case 0:
		w->now_ns += HOUR_NS;
		break;
	case 1:
		maintain(w);
		break;
	case 2:
		store_abandon(w->s);
		world_open(w);
		break;
	case 3:
		ck_assert_msg(store_close(w->s, &err) == 0, "%s", err.text);
		world_open(w);
		break;
	case 4:
		check_beside(w);
		break;
	default:
		check_store(w, w->s);
	}
}

START_TEST(any_end_shows_the_last_names)
{
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct world w;

		world_init(&w, seed, 0);
		for (int i = 0; i < 60; i++)
			random_step(&w);
		check_store(&w, w.s);
		world_done(&w);
	}
}
END_TEST

/* More names than memory may hold: they are written earlier, and what is remembered stays within its bounds. */
START_TEST(memory_stays_bounded)
{
	enum { MEMORY = 4 << 20 };
	struct store_stats stats;
	struct world w;

	world_init(&w, 5, MEMORY);
	w.bytes = 400;
	for (int i = 0; i < 60; i++) {
		give_some(&w);
		store_get_stats(w.s, &stats);
		ck_assert_uint_lt(stats.memory_bytes, MEMORY);
		check_store(&w, w.s);
	}
	ck_assert_int_gt(count_in(&w, "names.db", "SELECT n FROM version"), 3);
	store_abandon(w.s);
	world_open(&w);
	check_store(&w, w.s);
	world_done(&w);
}
END_TEST

/* Something finds the names while a view asks; that answer has them. */
struct namer {
	struct world *w;
	uint32_t asked, frames;
};

static bool frames_wait(void *ctx)
{
	return ((struct namer *)ctx)->asked == 0;
}

static bool name_now(void *ctx, const struct profile *dict, const uint32_t *frames, size_t n)
{
	struct namer *namer = ctx;
	struct profile *p = profile_new();

	namer->asked++;
	namer->frames = n;
	for (size_t i = 0; i < n; i++) {
		uint32_t place = dict->frames.frames.v[frames[i]].offset - 4096;

		add_place(namer->w, p, place, 7);
		namer->w->want[place] = 7;
	}
	ck_assert_int_eq(store_add_names(namer->w->s, p, NULL), 0);
	profile_free(p);
	return true;
}

START_TEST(viewed_frames_are_requested)
{
	struct world w;

	world_init(&w, 1, 0);
	struct namer namer = { .w = &w };
	store_set_namer(w.s, &(struct store_namer){ frames_wait, name_now, &namer });
	struct profile *p = profile_new();
	for (uint32_t i = 0; i < 20; i++) {
		w.want[i] = i < 12 ? 3 : 0;
		add_sample(p, add_place(&w, p, i, w.want[i]), w.now_ns - SECOND_NS);
	}
	give(&w, p);
	check_store(&w, w.s);
	ck_assert_uint_eq(namer.asked, 1);
	ck_assert_uint_eq(namer.frames, 8);
	for (uint32_t i = 12; i < 20; i++)
		ck_assert_uint_eq(w.want[i], 7);
	check_store(&w, w.s);
	ck_assert_uint_eq(namer.asked, 1); /* nothing waits any more */
	world_done(&w);
}
END_TEST

UNIT_MAIN("store_names", viewed_frames_are_requested, names_wait_in_the_inbox,
	  known_names_come_once, any_end_shows_the_last_names, memory_stays_bounded)
