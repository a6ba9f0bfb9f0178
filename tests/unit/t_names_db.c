/* Names in a database: what was given comes back, the better list stays, later names reach old dictionaries, and what nobody uses goes. */
#include "unit.h"

#include "base/mem.h"
#include "rand.h"
#include "store/names_chunk.h"
#include "store/names_db.h"
#include "store/names_seen.h"

#include <errno.h>
#include <sqlite3.h>
#include <unistd.h>

enum { MAPPINGS = 5, OFFSETS = 3000 };

static char *folder(void)
{
	char path[] = "/tmp/cresset-names-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(path));
	return xstrdup(path);
}

static char *db_file(const char *dir)
{
	return xasprintf("%s/names.db", dir);
}

static void remove_folder(char *dir)
{
	char *command = xasprintf("rm -r '%s'", dir);

	ck_assert_int_eq(system(command), 0);
	free(command);
	free(dir);
}

static struct names_db *open_db(const char *dir, bool read_only)
{
	char *path = db_file(dir);
	struct names_db *db = NULL;
	struct err err = { 0 };

	ck_assert_msg(names_db_open(path, &(struct names_db_opts){ .read_only = read_only }, &db,
				    &err) == 0,
		      "%s", err.text);
	free(path);
	return db;
}

/* --- profiles --------------------------------------------------------------------------------- */

/* Mapping n as every profile of these tests has it: two by build id, one by its text, two by name and hash. */
static uint32_t add_mapping(struct profile *p, uint32_t n)
{
	struct sink *s = profile_sink(p);
	char name[32];

	snprintf(name, sizeof name, "/lib/m%u.so", n);
	struct mapping m = { .name = sink_string(s, name) };
	if (n < 2) {
		m.build_id_len = 20;
		memset(m.build_id, (int)n + 1, 20);
	} else if (n == 2) {
		m.build_id_text = sink_string(s, "not hex");
	} else {
		m.identity = 7;
	}
	return s->ops->mapping(s, &m);
}

/* Some are kernel addresses. */
static uint64_t offset_of(uint32_t i)
{
	return i % 3 ? 0x1000 + i * 5 : 0xffffffff81000000ull + i * 5;
}

static uint32_t add_frame(struct profile *p, uint32_t mapping, uint32_t i)
{
	struct sink *s = profile_sink(p);

	return s->ops->frame(s, &(struct frame){ .kind = FRAME_NATIVE,
						 .mapping = add_mapping(p, mapping),
						 .offset = offset_of(i) });
}

/* A list of n lines; `file` and `number`: whether they say these. */
struct given {
	uint32_t name, n;
	bool file, number;
};

static void name_frame(struct profile *p, uint32_t frame, const struct given *g)
{
	struct sink *s = profile_sink(p);
	struct line lines[4];

	for (uint32_t k = 0; k < g->n; k++) {
		char name[64];

		snprintf(name, sizeof name, "f%u_%u", g->name, k);
		struct function f = { .name = sink_string(s, name) };
		if (g->file)
			f.file = sink_string(s, "a.c");
		f.start_line = g->name % 7;
		lines[k] = (struct line){ s->ops->function(s, &f), g->number ? 10 + k : 0,
					  k == 0 && g->name % 5 == 0 ? LINE_FOLDED : 0 };
	}
	s->ops->names(s, frame, lines, g->n);
}

static void check_frame(const struct profile *p, uint32_t frame, const struct given *g)
{
	const struct line *lines;

	ck_assert_uint_eq(names_get(&p->names, frame, &lines), g->n);
	for (uint32_t k = 0; k < g->n; k++) {
		const struct function *f = &p->names.functions.v[lines[k].function];
		char name[64];

		snprintf(name, sizeof name, "f%u_%u", g->name, k);
		ck_assert_str_eq(profile_str(p, f->name), name);
		ck_assert_str_eq(profile_str(p, f->file), g->file ? "a.c" : "");
		ck_assert_uint_eq(f->start_line, g->name % 7);
		ck_assert_uint_eq(lines[k].line, g->number ? 10 + k : 0);
		ck_assert_uint_eq(lines[k].column, k == 0 && g->name % 5 == 0 ? LINE_FOLDED : 0);
	}
}

static void apply_all(struct names_db *db, struct profile *p, struct names_applied *a)
{
	struct err err = { 0 };

	ck_assert_msg(names_db_apply(db, p, a, NULL, 0, &err) == 0, "%s", err.text);
}

static void write_all(struct names_db *db)
{
	struct err err = { 0 };

	ck_assert_msg(names_db_write(db, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(names_db_gathered_bytes(db), 0);
	ck_assert_uint_eq(names_db_first_sequence(db), UINT64_MAX);
}

static void add(struct names_db *db, struct profile *p, int32_t day)
{
	names_db_add(db, p, day, 1);
}

/* --- random names against a plain table ------------------------------------------------------- */

static uint32_t worth(const struct given *g)
{
	return g->n * 4 + g->file * 2 + g->number;
}

static void add_random(struct rng *r, struct names_db *db, struct given (*model)[OFFSETS])
{
	struct profile *p = profile_new();
	uint32_t n = 1 + rng_below(r, 400);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t m = rng_below(r, MAPPINGS), at = rng_below(r, OFFSETS);
		uint32_t frame = add_frame(p, m, at);
		struct given g = { rng_below(r, 500), 1 + rng_below(r, 3), rng_below(r, 2),
				   rng_below(r, 2) };
		const struct line *there;

		if (names_get(&p->names, frame, &there))
			continue; /* one list for each in one batch */
		name_frame(p, frame, &g);
		if (worth(&g) >= worth(&model[m][at]))
			model[m][at] = g;
	}
	add(db, p, 100);
	profile_free(p);
}

static void check_all(struct names_db *db, struct given (*model)[OFFSETS])
{
	struct profile *p = profile_new();
	struct names_applied applied = { 0 };

	for (uint32_t m = 0; m < MAPPINGS; m++)
		for (uint32_t i = 0; i < OFFSETS; i++)
			add_frame(p, m, i);
	apply_all(db, p, &applied);
	for (uint32_t m = 0; m < MAPPINGS; m++)
		for (uint32_t i = 0; i < OFFSETS; i++)
			check_frame(p, add_frame(p, m, i), &model[m][i]);
	names_applied_done(&applied);
	profile_free(p);
}

START_TEST(names_come_back)
{
	char *dir = folder();
	struct given(*model)[OFFSETS] = xcalloc(MAPPINGS, sizeof *model);
	struct names_db *db = open_db(dir, false);
	struct rng r = { 5 };

	for (int i = 0; i < 60; i++) {
		add_random(&r, db, model);
		if (rng_below(&r, 3) == 0)
			write_all(db);
		if (i % 10 == 9)
			check_all(db, model);
		if (i % 20 == 19) {
			write_all(db);
			names_db_close(db);
			db = open_db(dir, false);
			check_all(db, model);
		}
	}
	names_db_close(db);
	free(model);
	remove_folder(dir);
}
END_TEST

/* Everything at once: chunks are cut many times over. */
START_TEST(many_at_once)
{
	char *dir = folder();
	struct given(*model)[OFFSETS] = xcalloc(MAPPINGS, sizeof *model);
	struct names_db *db = open_db(dir, false);
	struct profile *p = profile_new();

	for (uint32_t i = 0; i < OFFSETS; i++) {
		model[1][i] = (struct given){ i, 1 + i % 3, true, true };
		name_frame(p, add_frame(p, 1, i), &model[1][i]);
	}
	add(db, p, 1);
	check_all(db, model);
	write_all(db);
	check_all(db, model);
	names_db_close(db);
	profile_free(p);
	free(model);
	remove_folder(dir);
}
END_TEST

/* --- which list stays ------------------------------------------------------------------------- */

static void offer(struct names_db *db, const struct given *g)
{
	struct profile *p = profile_new();

	name_frame(p, add_frame(p, 0, 1), g);
	add(db, p, 1);
	profile_free(p);
}

/* Stacks that share `frame`, and too many others for all of the dictionary to be asked for. */
static uint32_t add_stack(struct profile *p, uint32_t frame, uint32_t leaf)
{
	const uint32_t frames[] = { frame, add_frame(p, 1, leaf) };

	return profile_sink(p)->ops->stack(profile_sink(p), frames, 2);
}

static void add_stacks(struct profile *p, uint32_t frame)
{
	for (uint32_t i = 0; i < 40; i++)
		add_stack(p, frame, i);
}

/* Each time another stack of them. */
static void apply_stack(struct names_db *db, struct profile *p, struct names_applied *a,
			uint32_t frame, uint32_t leaf)
{
	uint32_t stack = add_stack(p, frame, leaf);
	struct err err = { 0 };

	ck_assert_msg(names_db_apply_stacks(db, p, a, &stack, 1, &err) == 0, "%s", err.text);
	ck_assert_uint_lt(a->n, p->frames.frames.n);
}

/* What stays after each offer, in a dictionary that asks every time, when names are written after offers of which the bit is set. */
static void check_offers(uint32_t written, bool by_stack)
{
	char *dir = folder();
	struct names_db *db = open_db(dir, false);
	struct profile *p = profile_new();
	uint32_t frame = add_frame(p, 0, 1);
	struct names_applied applied = { 0 };
	const struct given plain = { 1, 1, false, false }, with_file = { 2, 1, true, false },
			   corrected = { 3, 1, true, false }, inlined = { 4, 2, false, false };
	const struct {
		const struct given *offered, *stays;
	} steps[] = {
		{ &plain, &plain },         { &with_file, &with_file }, { &plain, &with_file },
		{ &corrected, &corrected }, { &inlined, &inlined },     { &with_file, &inlined },
	};

	if (by_stack)
		add_stacks(p, frame);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		offer(db, steps[i].offered);
		if (written >> i & 1)
			write_all(db);
		/* The same dictionary: old data shows new names. */
		if (by_stack)
			apply_stack(db, p, &applied, frame, i < 3 ? 50 : i);
		else
			apply_all(db, p, &applied);
		check_frame(p, frame, steps[i].stays);
	}
	names_applied_done(&applied);
	profile_free(p);
	names_db_close(db);
	remove_folder(dir);
}

START_TEST(better_or_newer_wins)
{
	for (uint32_t written = 0; written < 64; written += 7) {
		check_offers(written, false);
		check_offers(written, true);
	}
	check_offers(63, false);
	check_offers(63, true);
}
END_TEST

START_TEST(another_reader_sees_them)
{
	char *dir = folder();
	struct names_db *db = open_db(dir, false), *reader = open_db(dir, true);
	struct profile *p = profile_new();
	uint32_t frame = add_frame(p, 0, 1), other = add_frame(p, 0, 2);
	struct names_applied applied = { 0 };
	const struct given none = { 0 }, g = { 1, 1, true, true };

	apply_all(reader, p, &applied);
	check_frame(p, frame, &none);
	offer(db, &g);
	write_all(db);
	ck_assert_int_eq(names_db_apply(reader, p, &applied, &frame, 1, NULL), 0);
	check_frame(p, frame, &g);
	check_frame(p, other, &none);
	/* A frame that came after names were given. */
	ck_assert_uint_eq(applied.n, 1);
	names_applied_done(&applied);
	profile_free(p);
	names_db_close(reader);
	names_db_close(db);
	remove_folder(dir);
}
END_TEST

/* What is only in memory: this process's readers see it, and no other; also what comes while they have a dictionary, and what is written then. */
START_TEST(gathered_names_are_seen)
{
	char *dir = folder();
	struct names_db *db = open_db(dir, false), *stranger = open_db(dir, true), *reader;
	char *path = db_file(dir);
	struct profile *p = profile_new();
	uint32_t frame = add_frame(p, 0, 1), fresh;
	struct names_applied applied = { 0 }, other = { 0 };
	const struct given none = { 0 }, g = { 1, 1, true, true }, corrected = { 2, 1, true, true };

	ck_assert_int_eq(names_db_open(path,
				       &(struct names_db_opts){ .read_only = true, .beside = db },
				       &reader, NULL),
			 0);
	offer(db, &g);
	apply_all(stranger, p, &other);
	check_frame(p, frame, &none);
	apply_all(reader, p, &applied);
	check_frame(p, frame, &g);
	offer(db, &corrected);
	ck_assert_int_eq(names_db_apply(reader, p, &applied, &frame, 1, NULL), 0);
	check_frame(p, frame, &corrected);
	fresh = add_frame(p, 0, 1 + MAPPINGS);
	write_all(db);
	apply_all(reader, p, &applied);
	check_frame(p, frame, &corrected);
	check_frame(p, fresh, &none);
	names_applied_done(&applied);
	names_applied_done(&other);
	profile_free(p);
	names_db_close(reader);
	names_db_close(stranger);
	names_db_close(db);
	free(path);
	remove_folder(dir);
}
END_TEST

/* A batch is offered before it is safe: what it brings is known only once it was taken. */
START_TEST(offered_is_not_taken)
{
	char *dir = folder();
	struct names_db *db = open_db(dir, false);
	struct profile *p = profile_new();
	struct names_offer o;
	const struct given g = { 1, 1, true, true };

	name_frame(p, add_frame(p, 0, 1), &g);
	add_frame(p, 0, 2);
	for (int i = 0; i < 2; i++) {
		names_db_offer(db, p, 3, 7, &o);
		ck_assert_uint_eq(o.fresh.n, 1);
		names_offer_done(&o);
	}
	ck_assert_uint_eq(names_db_first_sequence(db), 7); /* that the mapping was used */
	write_all(db);
	names_db_offer(db, p, 3, 8, &o);
	ck_assert_uint_eq(names_db_first_sequence(db), UINT64_MAX);
	names_db_take(db, &o, 9);
	ck_assert_uint_eq(names_db_first_sequence(db), 9);
	names_offer_done(&o);
	names_db_offer(db, p, 3, 10, &o);
	ck_assert_uint_eq(o.fresh.n, 0);
	names_offer_done(&o);
	profile_free(p);
	names_db_close(db);
	remove_folder(dir);
}
END_TEST

/* Batches that come together are offered before the first is taken: what they have in common is in memory once. */
START_TEST(offered_together_is_taken_once)
{
	char *dir = folder();
	struct names_db *db = open_db(dir, false);
	struct profile *p = profile_new();
	struct names_offer first, second;
	uint64_t bytes;

	for (uint32_t i = 0; i < OFFSETS; i++)
		name_frame(p, add_frame(p, i % MAPPINGS, i), &(struct given){ i, 1, true, true });
	names_db_offer(db, p, 3, 7, &first);
	names_db_offer(db, p, 3, 8, &second);
	ck_assert_uint_eq(first.fresh.n, OFFSETS);
	ck_assert_uint_eq(second.fresh.n, OFFSETS);
	names_db_take(db, &first, 7);
	bytes = names_db_gathered_bytes(db);
	names_db_take(db, &second, 8);
	ck_assert_uint_eq(names_db_gathered_bytes(db), bytes);
	names_offer_done(&first);
	names_offer_done(&second);
	profile_free(p);
	names_db_close(db);
	remove_folder(dir);
}
END_TEST

/* More lists of one place than a chunk has places, some of them asked for before they are written: the last of the best stays. */
START_TEST(one_place_has_many_lists)
{
	enum { LISTS = 700 };
	const struct given best = { 9999, 1, true, true }, less = { 5, 1, false, true };

	for (uint32_t asked = 0; asked < 3; asked++) {
		char *dir = folder();
		struct names_db *db = open_db(dir, false);
		struct profile *p = profile_new();
		uint32_t frame = add_frame(p, 0, 1);
		struct names_applied applied = { 0 };

		for (uint32_t i = 0; i < LISTS; i++) {
			offer(db, &(struct given){ i, 1, true, true });
			if (asked && i % (100 * asked) == 0)
				apply_all(db, p, &applied);
		}
		offer(db, &best);
		offer(db, &less);
		if (asked)
			apply_all(db, p, &applied);
		if (asked)
			check_frame(p, frame, &best);
		write_all(db);
		apply_all(db, p, &applied);
		check_frame(p, frame, &best);
		names_applied_done(&applied);
		profile_free(p);
		names_db_close(db);
		remove_folder(dir);
	}
}
END_TEST

/* However much comes, so much is remembered of it; what is forgotten is offered again, and changes nothing. */
START_TEST(little_is_remembered)
{
	enum { BYTES = 4096, FRAMES = 3000 };
	char *dir = folder(), *path = db_file(dir);
	struct names_db *db;
	struct profile *p = profile_new();
	struct names_offer o;

	ck_assert_int_eq(
		names_db_open(path, &(struct names_db_opts){ .seen_bytes = BYTES }, &db, NULL), 0);
	for (uint32_t i = 0; i < FRAMES; i++)
		name_frame(p, add_frame(p, 0, i), &(struct given){ i, 1, true, true });
	for (int round = 0; round < 3; round++) {
		add(db, p, 1);
		write_all(db);
		ck_assert_uint_lt(names_db_memory_bytes(db), BYTES + 1024);
	}
	names_db_offer(db, p, 1, 1, &o);
	ck_assert_uint_gt(o.fresh.n, FRAMES - BYTES / 8 - 1);
	names_offer_done(&o);
	profile_free(p);
	names_db_close(db);
	free(path);
	remove_folder(dir);
}
END_TEST

/* Of those that are met again and again none is forgotten as long as there is room for them; with a set's eight in a row the ninth is. */
START_TEST(seen_by_sets)
{
	struct names_seen seen;

	names_seen_init(&seen, 64 * 4);
	ck_assert_uint_eq(seen.sets, 4);
	for (uint64_t i = 0; i < 9; i++)
		names_seen_put(&seen, 4 * i + 1);
	ck_assert(!names_seen_has(&seen, 1));
	for (uint64_t i = 1; i < 9; i++)
		ck_assert(names_seen_has(&seen, 4 * i + 1));
	ck_assert(!names_seen_has(&seen, 0)); /* free slots are not it */
	names_seen_put(&seen, 0);
	ck_assert(names_seen_has(&seen, 0));
	names_seen_clear(&seen);
	ck_assert(!names_seen_has(&seen, 5));
	names_seen_done(&seen);
}
END_TEST

/* Mappings of the same name are the same only when their hash is. */
START_TEST(files_are_told_apart)
{
	char *dir = folder();
	struct names_db *db = open_db(dir, false);
	struct profile *p = profile_new();
	struct names_applied applied = { 0 };
	const struct given g = { 1, 1, true, true }, none = { 0 };
	struct sink *s = profile_sink(p);
	struct mapping m = { .name = sink_string(s, "/lib/m3.so"), .identity = 8 };
	uint32_t twin = s->ops->mapping(s, &m);
	uint32_t frame = s->ops->frame(
		s,
		&(struct frame){ .kind = FRAME_NATIVE, .mapping = twin, .offset = offset_of(1) });
	uint32_t same = add_frame(p, 3, 1);
	struct profile *q = profile_new();

	name_frame(q, add_frame(q, 3, 1), &g);
	add(db, q, 1);
	apply_all(db, p, &applied);
	check_frame(p, same, &g);
	check_frame(p, frame, &none);
	names_applied_done(&applied);
	profile_free(q);
	profile_free(p);
	names_db_close(db);
	remove_folder(dir);
}
END_TEST

/* --- what goes -------------------------------------------------------------------------------- */

START_TEST(unused_mappings_go)
{
	char *dir = folder();
	struct names_db *db = open_db(dir, false);
	struct profile *p = profile_new(), *used = profile_new(), *fresh = profile_new();
	struct names_applied applied = { 0 };
	const struct given g = { 1, 1, true, true }, none = { 0 };
	uint32_t frames[3];

	for (uint32_t m = 0; m < 3; m++)
		name_frame(p, add_frame(p, m, 1), &g);
	add(db, p, 10);
	add_frame(used, 1, 2); /* without a name: the day's dictionary has it */
	names_db_use(db, used, 12, 1);
	names_db_use(db, used, 11, 1); /* does not go back */
	add(db, p, 9);
	ck_assert_int_eq(names_db_collect(db, 12, NULL), 1);
	ck_assert_int_eq(names_db_collect(db, 12, NULL), 0);

	for (uint32_t m = 0; m < 3; m++)
		frames[m] = add_frame(fresh, m, 1);
	apply_all(db, fresh, &applied);
	check_frame(fresh, frames[0], &none);
	check_frame(fresh, frames[1], &g);
	check_frame(fresh, frames[2], &none);

	/* They may come again. */
	add(db, p, 13);
	apply_all(db, fresh, &applied);
	check_frame(fresh, frames[0], &g);
	names_applied_done(&applied);
	profile_free(p);
	profile_free(used);
	profile_free(fresh);
	names_db_close(db);
	remove_folder(dir);
}
END_TEST

/* --- damage ----------------------------------------------------------------------------------- */

static void break_chunks(const char *dir)
{
	char *path = db_file(dir);
	sqlite3 *db;

	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(db, "UPDATE names SET data=x'28b52ffd00'", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	free(path);
}

START_TEST(damaged_names_are_none)
{
	char *dir = folder();
	struct names_db *db = open_db(dir, false);
	const struct given g = { 1, 1, true, true }, none = { 0 }, again = { 2, 1, false, false };
	struct profile *p = profile_new();
	uint32_t frame = add_frame(p, 0, 1);
	struct names_applied applied = { 0 };

	offer(db, &g);
	write_all(db);
	break_chunks(dir);
	apply_all(db, p, &applied);
	check_frame(p, frame, &none);
	offer(db, &again); /* and can be had again */
	write_all(db);
	apply_all(db, p, &applied);
	check_frame(p, frame, &again);
	names_applied_done(&applied);
	profile_free(p);
	names_db_close(db);
	remove_folder(dir);
}
END_TEST

/* Every cut and many flipped bytes of a chunk: refused or read, never beyond. */
START_TEST(chunks_from_elsewhere)
{
	struct profile *p = profile_new();
	struct names_chunk c, back;
	struct names_packer packer = { 0 };
	const struct buf *data = &packer.packed;
	struct rng r = { 9 };

	names_chunk_init(&c);
	for (uint32_t i = 0; i < 50; i++) {
		uint32_t frame = add_frame(p, 0, i);
		struct given g = { i, 1 + i % 4, i % 2, i % 3 == 0 };

		name_frame(p, frame, &g);
		struct names_lines l = { .strings = &p->strings, .names = &p->names };
		l.n = names_get(&p->names, frame, &l.lines);
		struct names_copy copy; /* the profile's tables grow */
		names_copy_init(&copy, l.strings, l.names);
		names_copy_to(&copy, &c.strings, &c.names);
		names_chunk_append(&c, 100 + i, &l, &copy);
		names_copy_done(&copy);
	}
	ck_assert(names_chunk_encode(&c, &packer));
	for (int i = 0; i < 3000; i++) {
		struct buf copy = { 0 };

		buf_add(&copy, data->data, i < (int)data->len ? (size_t)i : data->len);
		if (i >= (int)data->len)
			copy.data[rng_below(&r, data->len)] ^= 1 << rng_below(&r, 8);
		names_chunk_init(&back);
		int rc = names_chunk_decode(copy.data, copy.len, &back, NULL);
		ck_assert(rc == 0 || rc == -EBADMSG);
		ck_assert(i >= (int)data->len || rc);
		names_chunk_done(&back);
		buf_done(&copy);
	}
	names_packer_done(&packer);
	names_chunk_done(&c);
	profile_free(p);
}
END_TEST

/* What is packed without a chunk between is the same, byte by byte. */
START_TEST(lists_are_packed_as_chunks_are)
{
	struct profile *p = profile_new();
	struct names_packer with = { 0 }, without = { 0 };
	uint32_t frames[NAMES_CHUNK_ENTRIES];

	for (uint32_t i = 0; i < NAMES_CHUNK_ENTRIES; i++) {
		frames[i] = add_frame(p, 0, i);
		name_frame(p, frames[i], &(struct given){ i / 3, 1 + i % 4, i % 2, i % 3 == 0 });
	}
	for (uint32_t n = 1; n <= NAMES_CHUNK_ENTRIES; n = 2 * n + 1) {
		struct names_lines l = { .strings = &p->strings, .names = &p->names };
		struct names_copy copy, pack;
		struct names_chunk c;

		names_chunk_init(&c);
		names_copy_init(&copy, &p->strings, &p->names);
		names_copy_init(&pack, &p->strings, &p->names);
		names_copy_to(&copy, &c.strings, &c.names);
		names_pack_begin(&without, &pack);
		for (uint32_t i = 0; i < n; i++) {
			l.n = names_get(&p->names, frames[i], &l.lines);
			names_chunk_append(&c, 7 + 900 * i, &l, &copy);
			names_pack_add(&without, 7 + 900 * i, &l, &pack);
		}
		ck_assert(names_chunk_encode(&c, &with));
		ck_assert(names_pack_end(&without));
		ck_assert_uint_eq(with.packed.len, without.packed.len);
		ck_assert_mem_eq(with.packed.data, without.packed.data, with.packed.len);
		names_copy_done(&copy);
		names_copy_done(&pack);
		names_chunk_done(&c);
	}
	names_packer_done(&with);
	names_packer_done(&without);
	profile_free(p);
}
END_TEST

UNIT_MAIN("names_db", names_come_back, many_at_once, better_or_newer_wins, another_reader_sees_them,
	  gathered_names_are_seen, offered_is_not_taken, offered_together_is_taken_once,
	  one_place_has_many_lists, little_is_remembered, seen_by_sets, files_are_told_apart,
	  unused_mappings_go, damaged_names_are_none, chunks_from_elsewhere,
	  lists_are_packed_as_chunks_are)
