// tier: test
#include "read_text.h"

#include "base/buf.h"
#include "base/err.h"
#include "format/gperftools/gperftools.h"

static const struct format *const f = &format_gperf_text;

static int64_t total_of(struct profile *p, const char *type)
{
	uint32_t id = profile_pick_type(p, type);
	ck_assert_uint_ne(id, UINT32_MAX);
	return profile_total(p, id);
}

/* Totals are those of `go tool pprof`. */
START_TEST(known_files_add_up)
{
	static const struct {
		const char *file, *shown, *type;
		int64_t total;
	} cases[] = {
		{ "cpu.prof", "cpu", "samples", 86 },
		{ "heap.txt", "inuse_space", "inuse_space", 1200000 },
		{ "heap.txt", "inuse_space", "inuse_objects", 600 },
		{ "heap.txt", "inuse_space", "alloc_space", 1232000 },
		{ "heap.txt", "inuse_space", "alloc_objects", 1100 },
		{ "go119-heap.txt", "inuse_space", "inuse_space", 20979939 },
		{ "go119-heap.txt", "inuse_space", "inuse_objects", 158 },
		{ "go119-block.txt", "delay", "delay", 20227425 },
		{ "go119-block.txt", "delay", "contentions", 1 },
		{ "go127-goroutineleak.txt", "goroutineleak", "goroutineleak", 7 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char path[128];
		snprintf(path, sizeof path, "tests/golden/gperftools/%s", cases[i].file);
		struct profile *p = read_golden(path);
		const char *shown = profile_type_name(p, profile_pick_type(p, NULL));
		ck_assert_str_eq(shown, cases[i].shown);
		ck_assert_msg(total_of(p, cases[i].type) == cases[i].total, "%s: %s", path,
			      cases[i].type);
		ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
		profile_free(p);
	}
}
END_TEST

/* A caller's address is its return address less one; a leaf of a CPU profile is where it ran. */
START_TEST(addresses_are_offsets_in_files)
{
	struct profile *p = read_golden("tests/golden/gperftools/cpu.prof");
	uint32_t frames[16], n = stack_depth(&p->stacks, p->samples.stack[0]);
	ck_assert_uint_eq(n, 6);
	stack_frames(&p->stacks, p->samples.stack[0], frames);
	const struct frame *leaf = &p->frames.frames.v[frames[n - 1]];
	const struct frame *caller = &p->frames.frames.v[frames[n - 2]];
	ck_assert_uint_eq(leaf->offset, 0x1184);
	ck_assert_uint_eq(caller->offset, 0x11a5 - 1);
	ck_assert_str_eq(profile_str(p, p->frames.mappings.v[leaf->mapping].name), "/w/x/known");
	ck_assert_int_eq(p->series.series.v[0].period, 10000000);
	profile_free(p);
}
END_TEST

/* The same records in 32-bit words, and in the other byte order. */
START_TEST(words_of_every_kind)
{
	static const uint64_t words[] = { 0, 3, 0, 1000, 0, 5, 2, 0x2000, 0x3001, 0, 1, 0 };
	static const char map[] = "1000-4000 r-xp 00000100 08:01 7 /bin/a b\n";
	for (int form = 0; form < 4; form++) {
		bool wide = form & 1, big = form & 2;
		struct buf b = { 0 };
		for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
			uint64_t w64 = big ? htobe64(words[i]) : htole64(words[i]);
			uint32_t w32 = big ? htobe32(words[i]) : htole32(words[i]);
			buf_add(&b, wide ? (void *)&w64 : (void *)&w32, wide ? 8 : 4);
		}
		buf_adds(&b, map);
		ck_assert(format_gperf_cpu.detect(b.data, b.len));
		struct err err = { 0 };
		struct profile *p = read_bytes(&format_gperf_cpu, b.data, b.len, &err);
		ck_assert_msg(p != NULL, "%s", err.text);
		ck_assert_int_eq(profile_total(p, 0), 5);
		ck_assert_uint_eq(p->frames.frames.v[0].offset, 0x2000 - 0x1000 + 0x100);
		ck_assert_str_eq(profile_str(p, p->frames.mappings.v[0].name), "/bin/a b");
		check_cut_anywhere(&format_gperf_cpu, b.data, b.len);
		profile_free(p);
		buf_done(&b);
	}
}
END_TEST

/* A process that was killed wrote no end. */
START_TEST(records_without_an_end_are_cut)
{
	static const uint64_t words[] = { 0, 3, 0, 1000, 0, 5, 1, 0x2000, 7, 1, 0x3000 };
	struct err err = { 0 };
	struct profile *p = read_bytes(&format_gperf_cpu, words, sizeof words, &err);
	ck_assert_int_eq(profile_total(p, 0), 12);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 1);
	profile_free(p);
	ck_assert_ptr_null(read_bytes(&format_gperf_cpu, words, 5 * sizeof *words, &err));
	ck_assert_int_eq(err.code, EBADMSG);
}
END_TEST

START_TEST(huge_counts_are_harmless)
{
	static const uint64_t depth[] = { 0, 3, 0, 1000, 0, 5, UINT64_MAX / 8, 1, 2, 3 };
	static const uint64_t count[] = { 0, 3, 0, 1000, 0, UINT64_MAX, 1, 7, 0, 1, 0 };
	struct err err = { 0 };
	ck_assert_ptr_null(read_bytes(&format_gperf_cpu, depth, sizeof depth, &err));
	ck_assert_int_eq(err.code, EBADMSG);
	struct profile *p = read_bytes(&format_gperf_cpu, count, sizeof count, &err);
	ck_assert_int_eq(profile_total(p, 0), INT64_MAX);
	profile_free(p);
	check_folded(f, "a profile: total 1\n99999999999999999999999 @ 0x1\n", NULL, NULL,
		     "[unknown]+0x0 9223372036854775807\n", 0);
}
END_TEST

START_TEST(lines_that_are_none_are_counted)
{
	check_folded(f,
		     "goroutine profile: total 3\n2 @ 0x1 0x2\n# labels: {\"a\":\"b\"}\n"
		     "#\t0x1\tmain.(*T).run+0x1\t/a b/m.go:7\n#\t0x2\tmain.main+0x2\t/m.go:9\n\n"
		     "1 @\n#\t0x0\n\nnonsense\n3\n",
		     NULL, NULL, "[empty] 1\nmain.main;main.(*T).run 2\n", 2);
	check_folded(f,
		     "--- mutex:\ncycles/second=1000000000\nsampling period=2\n7 1 @ 0x10\n"
		     "#\t0xf\tf+0x1\tm.go:1\n",
		     NULL, "ns", "f 14\n", 0);
	/* Rows without frames are one; names belong to the row above them. */
	check_folded(f,
		     "a profile: total 9\n1 @\n2 @\n3 @\n4 @\n#\t0x1\tg+0x1\ta.go:1\n5 @\n"
		     "6 @ 0x1\n",
		     NULL, NULL, "[empty] 11\n[unknown]+0x0 6\ng 4\n", 0);
	check_refused(f, "heap profile: 1: 2\n", "not a text profile");
	check_refused(f, "", "not a text profile");
}
END_TEST

START_TEST(files_may_be_cut_anywhere)
{
	check_cut_file(f, "tests/golden/gperftools/heap.txt");
	check_cut_file(f, "tests/golden/gperftools/go119-block.txt");
}
END_TEST

START_TEST(content_tells_the_format)
{
	static const struct {
		const char *text;
		bool is;
	} cases[] = {
		{ "heap profile: 1: 2 [3: 4] @ heap_v2/524288\n", true },
		{ "heap profile: 1: 2\n", false },
		{ "--- contention:\n", true },
		{ "--- a/file\n", false },
		{ "goroutine profile: total 7\n", true },
		{ "my profile: total cost 7\n", false },
		{ "", false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_msg(f->detect(cases[i].text, strlen(cases[i].text)) == cases[i].is, "%s",
			      cases[i].text);
}
END_TEST

UNIT_MAIN("gperftools", known_files_add_up, addresses_are_offsets_in_files, words_of_every_kind,
	  records_without_an_end_are_cut, huge_counts_are_harmless, lines_that_are_none_are_counted,
	  files_may_be_cut_anywhere, content_tells_the_format)
