// tier: test
/* perf-PID.map: a real one of .NET, malformed lines, overlaps, and a million entries. */
#include "base/buf.h"
#include "base/err.h"
#include "shell.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>

static struct symbol_source *open_fd(int fd)
{
	struct symbol_source *s;
	struct err err = { 0 };
	ck_assert_msg(symbol_open_perf_map(fd, &s, &err) == 0, "%s", err.text);
	close(fd);
	return s;
}

static struct symbol_source *open_text(const char *text)
{
	return open_fd(file_of(text, strlen(text)));
}

static const char *at(struct symbol_source *s, uint64_t addr)
{
	struct symbol sym;
	return symbol_lookup(s, addr, &sym) ? sym.name : "";
}

START_TEST(dotnet)
{
	static const char path[] = "tests/golden/perfmap/ddprof-perf-42.map";
	struct symbol_source *s = open_fd(file_open(path));
	ck_assert_ptr_nonnull(
		strstr(at(s, 0x7FB0614BB980), "RuntimeEnvironmentInfo::get_OsPlatform"));
	ck_assert_uint_eq(s->skipped, 0);
	/* Every line but three: those stubs were generated again in the same place. */
	char *text = shell("cat %s", path), *save;
	size_t found = 0, n = 0;
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save), n++) {
		uint64_t start, size;
		int name;
		struct symbol first, last;
		ck_assert_int_eq(sscanf(l, "%" SCNx64 " %" SCNx64 " %n", &start, &size, &name), 2);
		ck_assert(symbol_lookup(s, start, &first) &&
			  symbol_lookup(s, start + size - 1, &last));
		ck_assert_uint_lt(start - first.start, first.size);
		found += strcmp(first.name, l + name) == 0 && strcmp(last.name, l + name) == 0 &&
			 first.start == start && first.size == size;
	}
	ck_assert_uint_eq(n, 2268);
	ck_assert_uint_eq(found, 2265);
	free(text);
	symbol_close(s);
}
END_TEST

START_TEST(malformed_lines_are_counted)
{
	struct symbol_source *s =
		open_fd(file_open("tests/golden/perfmap/ddprof-perf-1-malformed.map"));
	ck_assert_uint_eq(s->skipped, 3);
	ck_assert_str_eq(at(s, 0xFFFFFFFFFFFFFFFE), "");
	/* 1400 characters, cut */
	const char *name = at(s, 0x7FB06149E6A0);
	ck_assert_ptr_eq(strstr(name, "int32 [System.Private.CoreLib] System.SpanHelpers::IndexOf"),
			 name);
	ck_assert_uint_eq(strlen(name), 1024);
	symbol_close(s);

	s = open_text("10 10 good\n"
		      "zz 10 no number\n"
		      "20\n"
		      "20 10\n"
		      "20 10 \n"
		      "\n"
		      "-20 10 sign\n"
		      "20 0 empty\n"
		      "11112222333344445 10 too many digits\n"
		      "0x30 0x8 last without newline");
	ck_assert_uint_eq(s->skipped, 7);
	ck_assert_str_eq(at(s, 0x1f), "good");
	ck_assert_str_eq(at(s, 0x20), "");
	ck_assert_str_eq(at(s, 0x37), "last without newline");
	ck_assert_str_eq(at(s, 0x38), "");
	symbol_close(s);
}
END_TEST

START_TEST(nothing_usable)
{
	struct symbol_source *s;
	struct err err = { 0 };
	int fd = file_of("garbage\n\x7f"
			 "ELF",
			 12);
	ck_assert_int_eq(symbol_open_perf_map(fd, &s, &err), -ENODATA);
	ck_assert_str_ne(err.text, "");
	close(fd);
	fd = file_of("", 0);
	ck_assert_int_eq(symbol_open_perf_map(fd, &s, NULL), -ENODATA);
	close(fd);
	fd = file_open("/");
	ck_assert_int_eq(symbol_open_perf_map(fd, &s, NULL), -EISDIR);
	close(fd);
}
END_TEST

START_TEST(later_wins)
{
	struct symbol_source *s = open_text("100 100 old\n"
					    "180 20 inside\n"
					    "f0 20 over the start\n"
					    "1a0 20 _ZN3foo3barEi\n"
					    "1a0 8 same start\n");
	ck_assert_str_eq(at(s, 0x10f), "over the start");
	ck_assert_str_eq(at(s, 0x110), "old");
	ck_assert_str_eq(at(s, 0x180), "inside");
	ck_assert_str_eq(at(s, 0x1a7), "same start");
	ck_assert_str_eq(at(s, 0x1a8), "foo::bar(int)");
	ck_assert_str_eq(at(s, 0x1c0), "old");
	struct symbol sym;
	ck_assert(symbol_lookup(s, 0x1c0, &sym));
	ck_assert_uint_eq(sym.start, 0x100);
	ck_assert_uint_eq(sym.size, 0x100);
	symbol_close(s);
}
END_TEST

/* Of lines longer than the window, the rest is lost, but not the next line. */
START_TEST(long_lines)
{
	struct buf text = { 0 };
	for (int i = 0; i < 3; i++) {
		buf_addf(&text, "%x 10 n%d", 0x1000 + i * 16, i);
		for (int k = 0; k < 65530 + i * 70000; k++)
			buf_addc(&text, 'x');
		buf_addc(&text, '\n');
	}
	struct symbol_source *s = open_text(buf_cstr(&text));
	ck_assert_uint_eq(s->skipped, 0);
	for (int i = 0; i < 3; i++) {
		const char *name = at(s, 0x1000 + i * 16);
		ck_assert_uint_eq(strlen(name), 1024);
		ck_assert_int_eq(name[1], '0' + i);
	}
	symbol_close(s);
	buf_done(&text);
}
END_TEST

START_TEST(a_million_entries)
{
	enum { N = 1000000 };
	struct buf text = { 0 };
	for (int i = 0; i < N; i++)
		buf_addf(&text, "7f%010x 30 LazyCompile:*function_%d file.js:%d\n", i * 32, i,
			 i % 977);
	int fd = file_of(text.data, text.len);
	size_t text_len = text.len;
	buf_done(&text);
	struct mallinfo2 before = mallinfo2();
	struct symbol_source *s = open_fd(fd);
	struct mallinfo2 after = mallinfo2();
	/* 36 bytes for each entry, and the names, in arrays that grow by half. (Address sanitizer counts nothing here.) */
	ck_assert_uint_lt(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd,
			  1.5 * (N * 36 + text_len));
	for (int i = 0; i < N - 1; i += 997) {
		char wanted[64];
		snprintf(wanted, sizeof wanted, "LazyCompile:function_%d file.js:%d", i, i % 977);
		ck_assert_str_eq(at(s, 0x7f0000000000 + i * 32ull + 31), wanted);
	}
	symbol_close(s);
}
END_TEST

UNIT_MAIN("perf_map", dotnet, malformed_lines_are_counted, nothing_usable, later_wins, long_lines,
	  a_million_entries)
