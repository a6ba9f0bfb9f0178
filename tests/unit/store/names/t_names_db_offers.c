// tier: test
/* Names that are offered to a database: the better list stays, later names reach old dictionaries, readers see them, and what was offered before is
 * known. */
#include "names_db_world.h"
#include "unit.h"

#include "base/err.h"
#include "store/names/names_db_state.h"

/* --- which list stays ------------------------------------------------------------------------- */

/* Stacks that share `frame`, and enough others that the whole dictionary cannot be asked for. */
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

/* Applies another of those stacks each time. */
static void apply_stack(struct names_db *db, struct profile *p, struct names_applied *a,
			uint32_t frame, uint32_t leaf)
{
	uint32_t stack = add_stack(p, frame, leaf);
	struct err err = { 0 };

	ck_assert_msg(names_db_apply_stacks(db, p, a, &stack, 1, &err) == 0, "%s", err.text);
	ck_assert_uint_lt(a->n, p->frames.frames.n);
}

/* Checks what stays after each offer, in a dictionary that asks every time, when names are written after the offers whose bit is set. */
static void check_offers(uint32_t written, bool by_stack)
{
	char *dir = directory();
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
	remove_directory(dir);
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

/* Names by an older reader, however much detail they have, give way to those of a newer one; where that one has none, they stay. */
static void check_reader(uint8_t reader, uint8_t newer, bool written)
{
	char *dir = directory();
	struct names_db *db = open_db_of(dir, &(struct names_db_opts){ .reader = reader });
	struct profile *p = profile_new();
	uint32_t frame = add_frame(p, 0, 1), other = add_frame(p, 0, 2);
	struct names_applied applied = { 0 };
	const struct given invented = { 1, 3, true, true }, right = { 2, 1, false, false };
	struct profile *more = profile_new();

	name_frame(more, add_frame(more, 0, 2), &invented);
	add(db, more, 100);
	offer(db, &invented);
	write_all(db);
	names_db_close(db);
	db = open_db_of(dir, &(struct names_db_opts){ .reader = newer });
	apply_all(db, p, &applied);
	check_frame(p, frame, &invented);
	offer(db, &right);
	if (written)
		write_all(db);
	apply_all(db, p, &applied);
	check_frame(p, frame, newer > reader ? &right : &invented);
	check_frame(p, other, &invented);
	names_applied_done(&applied);
	profile_free(more);
	profile_free(p);
	names_db_close(db);
	remove_directory(dir);
}

START_TEST(newer_readers_win)
{
	static const uint8_t readers[][2] = {
		{ 2, 3 }, { 2, 4 }, { 3, 4 }, { 3, 5 }, { 2, 2 }, { 3, 3 },
	};

	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
		check_reader(readers[i][0], readers[i][1], false);
		check_reader(readers[i][0], readers[i][1], true);
	}
}
END_TEST

/* They are kept as long as the days that need them. */
START_TEST(older_names_stay_in_use)
{
	char *dir = directory();
	struct names_db *db = open_db_of(dir, &(struct names_db_opts){ .reader = 2 });
	const struct given g = { 1, 1, true, true };
	struct names_applied applied = { 0 };
	struct profile *p = profile_new(), *q = profile_new();
	struct err err = { 0 };

	name_frame(q, add_frame(q, 0, 1), &g);
	add(db, q, 100);
	write_all(db);
	names_db_close(db);
	db = open_db(dir, false);
	uint32_t frame = add_frame(p, 0, 1);
	names_db_use(db, p, 130, 0);
	while (names_db_collect(db, 120, &err) > 0)
		;
	apply_all(db, p, &applied);
	check_frame(p, frame, &g);
	names_applied_done(&applied);
	profile_free(p);
	profile_free(q);
	names_db_close(db);
	remove_directory(dir);
}
END_TEST

START_TEST(another_reader_sees_them)
{
	char *dir = directory();
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
	/* A frame that arrived after names were given. */
	ck_assert_uint_eq(applied.n, 1);
	names_applied_done(&applied);
	profile_free(p);
	names_db_close(reader);
	names_db_close(db);
	remove_directory(dir);
}
END_TEST

/* Names only in memory: readers in this process see them, and no others do; also names that arrive while they hold a dictionary, and names written
 * then. */
START_TEST(gathered_names_are_seen)
{
	char *dir = directory();
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
	remove_directory(dir);
}
END_TEST

/* A batch is offered before it is safe: its names are known only once it was taken. */
START_TEST(offered_is_not_taken)
{
	char *dir = directory();
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
	remove_directory(dir);
}
END_TEST

/* Batches that arrive together are offered before the first is taken: what they share is in memory once. */
START_TEST(offered_together_is_taken_once)
{
	char *dir = directory();
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
	remove_directory(dir);
}
END_TEST

/* One place has more lists than a chunk has places, and some are asked for before they are written: the last of the best stays. */
START_TEST(one_place_has_many_lists)
{
	enum { LISTS = 700 };
	const struct given best = { 9999, 1, true, true }, less = { 5, 1, false, true };

	for (uint32_t asked = 0; asked < 3; asked++) {
		char *dir = directory();
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
		remove_directory(dir);
	}
}
END_TEST

/* However much arrives, memory of it is bounded; what is forgotten is offered again, and changes nothing. */
START_TEST(little_is_remembered)
{
	enum { BYTES = 4096, FRAMES = 3000 };
	char *dir = directory(), *path = db_file(dir);
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
	remove_directory(dir);
}
END_TEST

/* Those that are seen again and again are not forgotten while there is room for them; a set holds eight in a row, so the ninth displaces one. */
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

UNIT_MAIN("names_db_offers", better_or_newer_wins, newer_readers_win, older_names_stay_in_use,
	  another_reader_sees_them, gathered_names_are_seen, offered_is_not_taken,
	  offered_together_is_taken_once, one_place_has_many_lists, little_is_remembered,
	  seen_by_sets)
