// tier: test
#include "read_peak.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/input.h"
#include "format/heaptrack/heaptrack.h"

static const struct format *const f = &format_heaptrack;

/* What heaptrack_print says of the same file; the bytes that it rounds are sums of the program's
 * known allocations and of one by the C++ library. */
START_TEST(known_files_add_up)
{
	static const struct {
		const char *file, *type;
		int64_t total;
	} cases[] = {
		{ "alloc15", "alloc_objects", 1101 },
		{ "alloc15", "temporary_objects", 501 },
		{ "alloc15", "alloc_space", 0x12000 + 300 * 4000 + 500 * 64 },
		{ "alloc15", "peak_space", 0x12000 + 300 * 4000 + 64 },
		{ "alloc15", "peak_objects", 602 },
		{ "alloc15", "inuse_space", 300 * 4000 },
		{ "alloc15", "inuse_objects", 600 },
		{ "inlined14", "alloc_objects", 56 },
		{ "inlined14", "temporary_objects", 1 },
		{ "inlined14", "peak_space", 0x11c00 + 50 * 100 },
		{ "inlined14", "inuse_space", 35 * 100 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char path[128];
		snprintf(path, sizeof path, "tests/golden/heaptrack/%s.zst", cases[i].file);
		struct profile *p = read_golden(path);
		int64_t total = profile_total(p, profile_pick_type(p, cases[i].type));
		ck_assert_msg(total == cases[i].total, "%s: %s is %lld", path, cases[i].type,
			      (long long)total);
		ck_assert_str_eq(profile_type_name(p, profile_pick_type(p, NULL)), "peak_space");
		ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
		profile_free(p);
	}
}
END_TEST

/* The functions of a place are innermost first. */
START_TEST(inlined_functions_are_where_they_belong)
{
	struct profile *p = read_golden("tests/golden/heaptrack/inlined14.zst");
	char *got = folded_type(p, "inuse_space", NULL);
	ck_assert_msg(strstr(got, "main;outer;mid;inner 3500\n") != NULL, "%s", got);
	ck_assert_uint_eq(frame_named(p, "mid")->line, 4);
	ck_assert_str_eq(profile_str(p, p->meta.command), "./inl");
	free(got);
	profile_free(p);
}
END_TEST

#define HEAD "v 10400 3\nX ./a\ns 1 f\ns 3 a.c\ni 10 0 1 2 7\nt 1 0\ni 20 0\nt 2 1\n"

/* The peak is the first moment of most bytes; what is freed later was there. */
START_TEST(the_peak_is_a_moment)
{
	check_folded(f, HEAD "a 64 1\na a 2\n+ 0\n+ 1\n- 0\n+ 1\n- 1\n", "peak_space", "bytes",
		     "f 100\nf;0x20 10\n", 0);
	check_folded(f, HEAD "a 64 1\na a 2\n+ 0\n- 0\n+ 0\n", "peak_objects", NULL, "f 1\n", 0);
	/* Versions before 3 give no lengths of strings. */
	check_folded(f, "v 10200 2\nX a\ns my f\ni 10 0 1 0 0\nt 1 0\na 1 1\n+ 0\n", NULL, NULL,
		     "my f 1\n", 0);
}
END_TEST

START_TEST(bad_lines_are_counted)
{
	check_folded(f, HEAD "a 1 1\n+ 0\n+ 7\n- 9\n- zz\nt 99 1\nt 1 99\ni\n?\na 1 99\n", NULL,
		     NULL, "f 1\n", 8);
	check_folded(f, HEAD "a ffffffffffffffff 1\n+ 0\n+ 0\n", "alloc_space", "bytes",
		     "f 9223372036854775807\n", 0);
	check_refused(f, "v 10400 3\nx 1 a\nm 1 0\n", "raw data of heaptrack");
	check_refused(f, "v 10400 4\nX a\n", "version 4 of heaptrack's data is unknown");
	check_refused(f, "a;b 1\n", "not the data of heaptrack");
	check_refused(f, "", "not the data of heaptrack");
}
END_TEST

/* A name longer than a line may be: the strings after it are still numbered right. */
START_TEST(a_long_name_is_cut)
{
	struct buf b = { 0 };
	struct err err = { 0 };
	buf_adds(&b, "v 10400 3\ns 1000001 ");
	for (unsigned i = 0; i < INPUT_MAX_LINE; i++)
		buf_addc(&b, 'x');
	buf_adds(&b, "\ns 1 f\ni 10 0 2 0 0\nt 1 0\na 1 1\n+ 0\n");
	struct profile *p = read_bytes(f, b.data, b.len, &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	char *got = folded_type(p, "alloc_objects", NULL);
	ck_assert_str_eq(got, "f 1\n");
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 1);
	free(got);
	profile_free(p);
	buf_done(&b);
}
END_TEST

START_TEST(a_file_may_be_cut_anywhere)
{
	static const char text[] = HEAD "a 64 1\na a 2\n+ 0\n+ 1\n- 0\nc 10\n";
	check_cut_anywhere(f, text, strlen(text));
}
END_TEST

START_TEST(content_tells_the_format)
{
	ck_assert(f->detect(HEAD, strlen(HEAD)));
	ck_assert(!f->detect("v 1 2\nhello\n", 12));
	ck_assert(!f->detect("v x\nX a\n", 8));
	ck_assert(!f->detect("", 0));
}
END_TEST

/* A place with many inlined functions on each of many stacks is a small file. */
START_TEST(inlined_functions_take_bounded_memory)
{
	enum { STACKS = 100000 };
	struct buf b = { 0 };
	buf_adds(&b, "v 10500 3\nX x\nI 1000 1\ns 1 m\ns 1 f\ni 1 1");
	for (int i = 0; i < HEAPTRACK_MAX_INLINED; i++)
		buf_adds(&b, " 2 2 1");
	for (int i = 0; i < STACKS; i++)
		buf_addf(&b, "\nt 1 %x", i);
	buf_adds(&b, "\na 10 1\n+ 0\n");
	struct profile *p = check_peak(f, &b);
	ck_assert_int_eq(profile_total(p, profile_pick_type(p, "alloc_space")), 0x10);
	ck_assert_uint_gt(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	profile_free(p);
	buf_done(&b);
}
END_TEST

/* Lines of the command that look like lines of the file are none. */
START_TEST(a_command_may_have_line_breaks)
{
	check_folded(f,
		     "v 10400 3\nX python3 -c\nimport a\n+ b\nt = 1\nsum(a)\n\nI 1000 5e\ns 1 f\n"
		     "s 3 a.c\ni 10 0 1 2 7\nt 1 0\na 64 1\n+ 0\n",
		     "peak_space", "bytes", "f 100\n", 0);
}
END_TEST

UNIT_MAIN("heaptrack", known_files_add_up, inlined_functions_are_where_they_belong,
	  the_peak_is_a_moment, bad_lines_are_counted, a_long_name_is_cut,
	  a_file_may_be_cut_anywhere, content_tells_the_format,
	  inlined_functions_take_bounded_memory, a_command_may_have_line_breaks)
