// tier: test
// tier: live CRESSET_POWER_LOSSES=200
// tier: full CRESSET_POWER_LOSSES=2000
/* The power fails while a store takes batches, makes blocks of them, seals days and removes old ones, and while a recording grows: what was
 * acknowledged is there, once, whatever part of the rest reached the disk. CRESSET_POWER_LOSSES: how often (60). */
#define UNIT_TIMEOUT_S 800 /* of thousands */

#include "format/formats.h"
#include "lossy_disk.h"
#include "store_numbered.h"
#include "store_world.h"
#include "unit.h"

#include "base/err.h"
#include "base/mem.h"
#include "format/recording/cresset.h"
#include "store/names/names_db.h"
#include "store/recording/recording.h"

#include <sqlite3.h>
#include <time.h>

#define KEEP_NS (2 * DAY_NS)

enum { IMAGES = 12 }; /* of the disk, in one store's life */

static const uint8_t sender[STORE_SENDER_BYTES] = "numbered";

/* Three an hour. */
static int64_t time_of(uint64_t number)
{
	return START_NS + (int64_t)number * (HOUR_NS / 3);
}

static int64_t now_of(void *ctx)
{
	return time_of(*(uint64_t *)ctx);
}

/* A frame's name follows from its offset. */
static uint32_t named_frame(struct sink *s, uint64_t k)
{
	struct mapping m = { .name = sink_string(s, "/bin/p"),
			     .build_id = { 7 },
			     .build_id_len = 20 };
	struct frame f = { .kind = FRAME_NATIVE,
			   .mapping = s->ops->mapping(s, &m),
			   .offset = 0x1000 + k };
	char name[32];

	snprintf(name, sizeof name, "fn%llu", (unsigned long long)f.offset);
	struct function fn = { .name = sink_string(s, name) };
	struct line line = { .function = s->ops->function(s, &fn), .line = 3 };
	uint32_t frame = s->ops->frame(s, &f);
	s->ops->names(s, frame, &line, 1);
	return frame;
}

/* The values of its samples tell batch `number` from all others. It reaches into the hour before; some reach into the day before. */
static struct profile *numbered(uint64_t number)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "cpu"),
			     .sample_type = sink_string(s, "samples") };
	struct label label = { .key = sink_string(s, "comm") };
	int64_t spread_ns = number % 7 ? HOUR_NS / 15 : 2 * HOUR_NS;
	char comm[32];

	snprintf(comm, sizeof comm, "c%llu", (unsigned long long)number / 20);
	label.str = sink_string(s, comm);
	struct series series = { .type = s->ops->type(s, &type),
				 .labels = s->ops->labels(s, &label, 1) };
	uint32_t id = s->ops->series(s, &series);
	for (int i = 0; i < (number % 10 ? 12 : 600); i++) {
		uint32_t frame = named_frame(s, (number * 3 + i) % 2000);
		struct sample sample = { .time_ns = time_of(number) - i % 12 * spread_ns,
					 .value = (int64_t)number,
					 .series = id,
					 .stack = s->ops->stack(s, &frame, 1) };
		s->ops->sample(s, &sample);
	}
	return p;
}

/* Its points: one now, one in the hour before. */
static void numbered_points(struct profile *p, uint64_t number, struct metric_samples *out)
{
	uint32_t id =
		metric_series(p, "memory", "bytes", METRIC_GAUGE, p->series.series.v[0].labels);

	for (int i = 0; i < 2; i++)
		vec_push(out, (struct metric_sample){ id, time_of(number) - i * HOUR_NS,
						      (double)number + 0.5 * i });
}

static const struct numbered_batches batches = { numbered, numbered_points, 90 };

/* --- images ----------------------------------------------------------------------------------- */

struct image {
	char *dir;
	uint64_t said; /* the last batch acknowledged by then */
};
static struct {
	char top[32], root[64];
	struct rng rng;
	struct image images[IMAGES];
	int n, wanted;
	uint64_t said, gap;
} world;

static void next_point(void)
{
	disk.next = disk.changes + 1 + rng_below(&world.rng, world.gap);
}

/* The last one is the end of this life. */
static void take_image(void)
{
	static const unsigned parts[] = { 0, 1, 4, 7, 8 };
	struct image *im = &world.images[world.n];
	const struct disk_luck luck = { &world.rng, parts[rng_below(&world.rng, 5)],
					rng_below(&world.rng, 2) };

	im->dir = xasprintf("%s/image%d", world.top, world.n);
	im->said = world.said;
	ck_assert_int_eq(mkdir(im->dir, 0755), 0);
	disk_image(im->dir, &luck);
	disk.off = ++world.n == world.wanted;
	next_point();
}

static void remove_all(const char *dir)
{
	ck_assert_int_eq(nftw(dir, store_world_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* The content of `from`, or nothing, is the disk from now on. */
static void begin_life(const char *from, uint64_t gap)
{
	if (access(world.root, F_OK) == 0)
		remove_all(world.root);
	if (from)
		ck_assert_int_eq(rename(from, world.root), 0);
	else
		ck_assert_int_eq(mkdir(world.root, 0755), 0);
	disk_mount(world.root);
	disk.at_point = take_image;
	world.n = 0;
	world.gap = gap;
	world.wanted = 1 + (int)rng_below(&world.rng, IMAGES);
	next_point();
}

static void begin_world(void)
{
	uint64_t seed = getenv("CRESSET_POWER_SEED")
				? strtoull(getenv("CRESSET_POWER_SEED"), NULL, 10)
				: (uint64_t)time(NULL) * 2 + 1;

	snprintf(world.top, sizeof world.top, "/tmp/t_power.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(world.top));
	snprintf(world.root, sizeof world.root, "%s/disk", world.top);
	setvbuf(stdout, NULL, _IOLBF, 0); /* a failing test ends at once */
	world.rng.state = seed;
	printf("seed %llu\n", (unsigned long long)seed);
}

/* CRESSET_POWER_LOSSES, or n. */
static long losses(long n)
{
	const char *wanted = getenv("CRESSET_POWER_LOSSES");

	return wanted ? strtol(wanted, NULL, 10) : n;
}

/* --- a store ---------------------------------------------------------------------------------- */

static struct store_opts opts_at(uint64_t *number)
{
	return (struct store_opts){
		.now_ns = now_of, .ctx = number, .memory_bytes = 4 << 20, .retention_ns = KEEP_NS
	};
}

/* Batches from `number` on, until the power fails. */
static void ingest_until_off(uint64_t number)
{
	struct store_opts opts = opts_at(&number);
	char dir[96];
	struct store *s;

	snprintf(dir, sizeof dir, "%s/store", world.root);
	if (store_open(dir, &opts, &s, NULL)) {
		ck_assert(disk.off);
		return;
	}
	for (; !disk.off; number++) {
		struct profile *p = numbered(number);
		struct metric_samples points = { 0 };
		struct store_batch b = {
			.p = p, .sender = sender, .sequence = number, .metrics = &points
		};
		numbered_points(p, number, &points);
		int rc = store_ingest(s, &b, 1, NULL, NULL);
		ck_assert(rc == 0 || disk.off);
		if (rc == 0 && !disk.off)
			world.said = number;
		profile_free(p);
		vec_done(&points);
		while (!disk.off && store_maintain(s, SECOND_NS / 50, NULL) > 0)
			continue;
		if (!disk.off && rng_below(&world.rng, 40) == 0) {
			ck_assert(store_close(s, NULL) == 0 || disk.off);
			s = NULL;
			if (disk.off || store_open(dir, &opts, &s, NULL))
				break;
		}
	}
	store_abandon(s);
}

static void check_integrity(const char *path)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;

	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &stmt, NULL),
			 SQLITE_OK);
	ck_assert_msg(sqlite3_step(stmt) == SQLITE_ROW, "%s: %s", path, sqlite3_errmsg(db));
	ck_assert_str_eq((const char *)sqlite3_column_text(stmt, 0), "ok");
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

static int check_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	size_t len = strlen(path);

	(void)st, (void)ftw;
	if (type == FTW_F && len > 3 && strcmp(path + len - 3, ".db") == 0)
		check_integrity(path);
	return 0;
}

static void tally_numbered(struct tally *t, uint64_t number, int64_t kept_ns)
{
	struct profile *p = numbered(number);

	tally_batch(t, p, kept_ns);
	profile_free(p);
}

/* Checks the batches up to `said`, and the next one if it is there: it may have been synced but not reported. */
static void check_rows(struct store *s, uint64_t said, uint64_t *last)
{
	struct tally want = { 0 }, have = { 0 };
	int64_t kept_ns = s->kept_from_ns;
	uint64_t first = 1;

	while (first < said && time_of(first) < kept_ns)
		first++;
	for (uint64_t i = first; i <= said; i++)
		tally_numbered(&want, i, kept_ns);
	tally_kept(&have, s);
	*last = said;
	if (tally_total(&have) != tally_total(&want))
		tally_numbered(&want, ++*last, kept_ns);
	ck_assert_uint_eq(tally_diff(&want, &have), 0);
	ck_assert_int_eq(tally_total(&want), tally_total(&have));
	tally_done(&want);
	tally_done(&have);
}

static void check_names(struct store *s)
{
	for (size_t i = 0; i < s->parts.n; i++) {
		struct names_applied applied = { 0 };
		if (s->parts.v[i]->day_ns < s->kept_from_ns)
			continue;
		struct profile *dict = part_dict(s->parts.v[i]->part);
		ck_assert_int_eq(names_db_apply(s->names, dict, &applied, NULL, 0, NULL), 0);
		names_applied_done(&applied);
		for (uint32_t f = 0; f < dict->frames.frames.n; f++) {
			const struct frame *frame = &dict->frames.frames.v[f];
			const struct line *lines;
			char name[32];
			if (frame->mapping == MAPPING_NONE)
				continue;
			ck_assert_uint_eq(names_get(&dict->names, f, &lines), 1);
			snprintf(name, sizeof name, "fn%llu", (unsigned long long)frame->offset);
			uint32_t fn = dict->names.functions.v[lines[0].function].name;
			ck_assert_str_eq(profile_str(dict, fn), name);
		}
	}
}

/* Opens what is left; what was reported is there, and what is sent again is not there twice. Life goes on: the same holds after all due work. */
static void check_image(const struct image *im, bool long_after)
{
	uint64_t number = im->said, last;
	struct store_opts opts = opts_at(&number);
	struct err err = { 0 };
	struct store *s;
	bool again = false;
	char dir[128];

	snprintf(dir, sizeof dir, "%s/store", im->dir);
	if (access(dir, F_OK)) {
		ck_assert_uint_eq(im->said, 0);
		return;
	}
	ck_assert_msg(store_open(dir, &opts, &s, &err) == 0, "%s", err.text);
	check_rows(s, im->said, &last);
	check_numbered(s, &batches, last, 0);
	check_names(s);
	if (im->said) {
		struct profile *p = numbered(im->said);
		struct store_batch b = { .p = p, .sender = sender, .sequence = im->said };
		ck_assert_msg(store_ingest(s, &b, 1, &again, &err) == 0, "%s", err.text);
		ck_assert(again);
		profile_free(p);
	}
	number += long_after ? 3 * 26 : 0;
	while (long_after && store_maintain(s, INT64_MAX, NULL) > 0)
		continue;
	check_rows(s, last, &last);
	check_numbered(s, &batches, last, 0);
	ck_assert_int_eq(store_close(s, &err), 0);
	ck_assert_int_eq(nftw(dir, check_file, 16, FTW_PHYS), 0);
}

START_TEST(a_store_has_all_acknowledged_data)
{
	long runs = losses(60), done = 0;
	char next[96];

	begin_world();
	snprintf(next, sizeof next, "%s/next", world.top);
	for (bool first = true; done < runs; first = false) {
		begin_life(first ? NULL : next, first ? 60 : 200);
		uint64_t from = world.said + 1;
		ingest_until_off(from);
		uint64_t said = world.said;
		int last = world.n - 1;
		disk_unmount();
		for (int i = 0; i < world.n; i++, done++) {
			if (i == last) { /* what the next life finds: not what was checked */
				char cmd[256];
				snprintf(cmd, sizeof cmd, "cp -r %s %s", world.images[i].dir, next);
				ck_assert_int_eq(system(cmd), 0);
			}
			check_image(&world.images[i], rng_below(&world.rng, 4) == 0);
			remove_all(world.images[i].dir);
			free(world.images[i].dir);
		}
		world.said = said;
	}
	printf("%llu batches, %ld images of the disk\n", (unsigned long long)world.said, done);
	ck_assert_uint_gt(world.said, (uint64_t)runs / 2);
	remove_all(world.top);
}
END_TEST

/* --- a recording ------------------------------------------------------------------------------ */

static void add_samples(struct profile *p, uint64_t number)
{
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "cpu") };
	struct series series = { .type = s->ops->type(s, &type) };
	uint32_t id = s->ops->series(s, &series);

	for (uint64_t i = 0; i < 500; i++) {
		uint32_t frame = named_frame(s, rng_below(&world.rng, 100000));
		struct sample sample = { .time_ns = (int64_t)(number * 1000 + i),
					 .value = (int64_t)number,
					 .series = id,
					 .stack = s->ops->stack(s, &frame, 1) };
		s->ops->sample(s, &sample);
	}
}

enum { COMMITS = 40, RECORDING_DONE = COMMITS + 1 };

/* said: how many commits returned; RECORDING_DONE when it was finished. */
static void record_until_off(void)
{
	struct profile *p = profile_new();
	struct recorder *r = NULL;
	char path[96];

	world.said = 0;
	snprintf(path, sizeof path, "%s/a.cresset", world.root);
	int rc = recorder_open(path, &r, NULL);
	for (uint64_t i = 1; rc == 0 && i <= COMMITS; i++) {
		add_samples(p, i);
		rc = recorder_commit(r, p, NULL);
		world.said = rc == 0 && !disk.off ? i : world.said;
	}
	if (rc == 0 && recorder_finish(r, p, NULL) == 0 && !disk.off)
		world.said = RECORDING_DONE;
	else if (rc)
		recorder_abort(r);
	ck_assert(world.said == RECORDING_DONE || disk.off);
	if (!disk.off) /* and what is found a moment later */
		take_image();
	profile_free(p);
}

/* Samples in a file; -1: no file, or not a recording. */
static long samples_in(const char *path)
{
	struct profile *p = profile_new();
	int rc = format_read_file(path, &format_cresset, profile_sink(p), NULL);
	long n = rc ? -1 : (long)p->samples.n;

	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	profile_free(p);
	return n;
}

/* While it grows: a commit as it was, perhaps not the last one, as only the first one and one every ten seconds wait for the disk. When finished: all
 * of it; until then, the file that had the name before. */
static void check_recording(const struct image *im)
{
	char path[128], tmp[144];

	snprintf(path, sizeof path, "%s/a.cresset", im->dir);
	snprintf(tmp, sizeof tmp, "%s.tmp", path);
	long whole = samples_in(path), growing = access(tmp, F_OK) ? -1 : samples_in(tmp);
	if (im->said == RECORDING_DONE) {
		ck_assert_int_eq(whole, COMMITS * 500);
		return;
	}
	ck_assert(whole == COMMITS * 500 || whole == 7 * 500);
	ck_assert_msg(growing == -1 || growing % 500 == 0, "%ld", growing);
	ck_assert(growing <= COMMITS * 500);
	/* From the first commit on, there is a recording. */
	ck_assert(im->said == 0 || growing > 0 || whole == COMMITS * 500);
}

static void write_old_recording(void)
{
	struct profile *p = profile_new();
	struct recorder *r;
	char path[96];

	snprintf(path, sizeof path, "%s/a.cresset", world.root);
	for (int i = 0; i < 7; i++)
		add_samples(p, i);
	ck_assert_int_eq(recorder_open(path, &r, NULL), 0);
	ck_assert_int_eq(recorder_finish(r, p, NULL), 0);
	profile_free(p);
}

START_TEST(a_recording_opens_up_to_a_commit)
{
	long runs = losses(60), done = 0;

	begin_world();
	while (done < runs) {
		begin_life(NULL, 1);
		disk.next = 0;
		write_old_recording();
		world.gap = 150;
		next_point();
		record_until_off();
		disk_unmount();
		for (int i = 0; i < world.n; i++, done++) {
			check_recording(&world.images[i]);
			remove_all(world.images[i].dir);
			free(world.images[i].dir);
		}
	}
	remove_all(world.top);
}
END_TEST

/* The premise of this test: it sees each change of a file. */
START_TEST(every_change_is_seen)
{
	uint64_t number = 1;
	struct store_opts opts = opts_at(&number);
	char dir[96];
	struct store *s;

	begin_world();
	begin_life(NULL, 1);
	disk.next = 0;
	snprintf(dir, sizeof dir, "%s/store", world.root);
	ck_assert_int_eq(store_open(dir, &opts, &s, NULL), 0);
	for (; number < 300; number++) {
		struct profile *p = numbered(number);
		struct store_batch b = { .p = p };
		ck_assert_int_eq(store_ingest(s, &b, 1, NULL, NULL), 0);
		profile_free(p);
		ck_assert_int_ge(store_maintain(s, SECOND_NS, NULL), 0);
		if (number % 20 == 0)
			disk_check_notes();
	}
	ck_assert_int_eq(store_close(s, NULL), 0);
	disk_check_notes();
	ck_assert_uint_gt(disk.syncs, number);
	disk_unmount();
	remove_all(world.top);
}
END_TEST

UNIT_MAIN("power_loss", every_change_is_seen, a_store_has_all_acknowledged_data,
	  a_recording_opens_up_to_a_commit)
