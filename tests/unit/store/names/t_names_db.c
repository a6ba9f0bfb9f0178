// tier: test
/* Names in a database: given names come back, files are told apart, unused names go, and damaged names are none. */
#include "names_db_world.h"
#include "rand.h"
#include "unit.h"

#include "base/mem.h"
#include "store/codec/names_chunk.h"

#include <errno.h>
#include <sqlite3.h>

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
			continue; /* one list for each, per batch */
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
	char *dir = directory();
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
	remove_directory(dir);
}
END_TEST

/* Everything at the same time: chunks are split many times. */
START_TEST(many_together)
{
	char *dir = directory();
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
	remove_directory(dir);
}
END_TEST

/* --- files ------------------------------------------------------------------------------------ */

/* Mappings of the same name are the same only if their hash is. */
START_TEST(files_are_distinguished)
{
	char *dir = directory();
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
	remove_directory(dir);
}
END_TEST

/* --- removal ---------------------------------------------------------------------------------- */

START_TEST(unused_mappings_go)
{
	char *dir = directory();
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
	remove_directory(dir);
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
	char *dir = directory();
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
	remove_directory(dir);
}
END_TEST

/* Every truncation and many flipped bytes of a chunk: refused or read, never overread. */
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

/* What is compressed without a chunk in between is the same, byte by byte. */
START_TEST(lists_are_encoded_like_chunks)
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

UNIT_MAIN("names_db", names_come_back, many_together, files_are_distinguished, unused_mappings_go,
	  damaged_names_are_none, chunks_from_elsewhere, lists_are_encoded_like_chunks)
