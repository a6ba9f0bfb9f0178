// tier: test
#include "read_text.h"

#include "base/buf.h"
#include "base/err.h"
#include "format/python/python.h"

static const struct format *const f = &format_austin_binary;

/* As austin writes it: six bits and a sign, then seven bits a byte, lowest first. */
static void put_number(struct buf *b, int64_t n)
{
	uint64_t v = n < 0 ? -(uint64_t)n : (uint64_t)n;
	uint8_t first = (v & 0x3f) | (n < 0 ? 0x40 : 0);
	v >>= 6;
	buf_addc(b, first | (v ? 0x80 : 0));
	while (v) {
		uint8_t byte = v & 0x7f;
		v >>= 7;
		buf_addc(b, byte | (v ? 0x80 : 0));
	}
}

static void put_text(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text) + 1);
}

static void put_setting(struct buf *b, const char *key, const char *value)
{
	buf_addc(b, 1);
	put_text(b, key);
	put_text(b, value);
}

static void put_stack(struct buf *b, int version, int64_t pid, const char *tid)
{
	buf_addc(b, 2);
	put_number(b, pid);
	if (version >= 3)
		put_number(b, 0);
	put_text(b, tid);
}

static void put_string(struct buf *b, int64_t key, const char *text)
{
	buf_addc(b, 11);
	put_number(b, key);
	put_text(b, text);
}

static void put_event(struct buf *b, char event, int64_t number)
{
	buf_addc(b, event);
	put_number(b, number);
}

static void put_frame(struct buf *b, int version, int64_t key, int64_t file, int64_t function,
		      int64_t line)
{
	int64_t numbers[] = { key, file, function, line, line, 1, 2 };
	buf_addc(b, 3);
	for (int i = 0; i < (version >= 2 ? 7 : 4); i++)
		put_number(b, numbers[i]);
}

/* Two processes use the same keys. */
static struct buf made_file(int version, const char *mode)
{
	struct buf b = { 0 };
	buf_adds(&b, "MOJ");
	buf_addc(&b, version);
	put_setting(&b, "austin", "3.7.0");
	put_setting(&b, "mode", mode);
	for (int process = 1; process <= 2; process++) {
		put_stack(&b, version, 70000 + process, "1f4");
		put_string(&b, 300, "a.py");
		put_string(&b, 301, process == 1 ? "main" : "other");
		put_string(&b, 302, "work");
		put_frame(&b, version, 12345, 300, 301, 7);
		put_frame(&b, version, 12346, 300, 302, 70000);
		put_event(&b, 5, 12345);
		put_event(&b, 5, 12346);
		put_event(&b, 9, 100000);
		put_stack(&b, version, 70000 + process, "1f4");
		put_event(&b, 5, 12345);
		buf_addc(&b, 8);
		put_event(&b, 9, 50);
		put_event(&b, 10, -4096);
	}
	return b;
}

static void check_made(int version, const char *mode, const char *type, const char *unit,
		       const char *want)
{
	struct buf b = made_file(version, mode);
	struct err err = { 0 };
	ck_assert(f->detect(b.data, b.len));
	struct profile *p = read_bytes(f, b.data, b.len, &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	char *got = folded_type(p, type, unit);
	ck_assert_str_eq(got, want);
	ck_assert_uint_eq(p->samples.tid[0], 0x1f4);
	ck_assert_uint_eq(p->samples.pid[0], 70001);
	ck_assert_uint_eq(frame_named(p, "work")->line, 70000);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	free(got);
	profile_free(p);
	buf_done(&b);
}

START_TEST(samples_of_every_version_and_mode)
{
	static const char times[] = "main 50\nmain;work 100000\nother 50\nother;work 100000\n";
	for (int version = 1; version <= 3; version++)
		check_made(version, "wall", "wall", "us", times);
	check_made(3, "cpu", "cpu", "us", times);
	check_made(3, "full", "wall", "us", times);
	check_made(3, "full", "cpu", "us", "main;work 100000\nother;work 100000\n");
	check_made(3, "full", "free_space", "bytes", "main 4096\nother 4096\n");
}
END_TEST

/* The type that is shown does not depend on what the first sample has. */
START_TEST(the_first_type_is_shown)
{
	for (int full = 0; full < 2; full++) {
		struct buf b = { 0 };
		struct err err = { 0 };
		buf_adds(&b, "MOJ\3");
		put_setting(&b, "mode", full ? "full" : "memory");
		for (int i = 0; i < 2; i++) {
			put_stack(&b, 3, 7, "1");
			put_event(&b, 10, i ? 8192 : -4096);
			if (full && i)
				put_event(&b, 9, 100);
		}
		struct profile *p = read_bytes(f, b.data, b.len, &err);
		ck_assert_str_eq(profile_type_name(p, profile_pick_type(p, NULL)),
				 full ? "wall" : "alloc_space");
		profile_free(p);
		buf_done(&b);
	}
}
END_TEST

START_TEST(bad_files_are_refused_or_cut)
{
	struct buf b = made_file(3, "wall");
	check_cut_anywhere(f, b.data, b.len);
	for (size_t i = 4; i < b.len; i++) {
		struct err err = { 0 };
		char before = b.data[i];
		b.data[i] = '\xff';
		profile_free(read_bytes(f, b.data, b.len, &err));
		b.data[i] = before;
	}
	check_refused(f, "MOJ\x09", "version 9");
	ck_assert(f->detect("MOJ\x09", 4));
	ck_assert(!f->detect("MOJO: yes", 9));
	check_refused(f, "MOJ\3", "no sample");
	buf_done(&b);
}
END_TEST

/* austin 3.7 -bf, of a program that spins in a function with two callers. Its events have the same sums. */
START_TEST(a_file_of_austin)
{
	struct profile *p = read_golden("tests/golden/python/austin-full.mojo");
	char *got = folded_type(p, "wall", "microseconds");
	ck_assert_int_eq(profile_total(p, profile_pick_type(p, "wall")), 1523575000);
	ck_assert_int_eq(profile_total(p, profile_pick_type(p, "cpu")), 1523575000);
	ck_assert_str_eq(got, "[empty] 131797\n<module>;main;heavy;spin 940657\n"
			      "<module>;main;light;spin 451121\n");
	ck_assert_uint_eq(frame_named(p, "heavy")->line, 6);
	ck_assert_str_eq(profile_str(p, frame_named(p, "spin")->file), "/srv/app/known.py");
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	free(got);
	profile_free(p);
}
END_TEST

UNIT_MAIN("austin_binary", a_file_of_austin, samples_of_every_version_and_mode,
	  bad_files_are_refused_or_cut, the_first_type_is_shown)
