// tier: test
/* jitdump: two real files of Julia, and records made here. */
#include "base/buf.h"
#include "base/err.h"
#include "shell.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <sys/stat.h>

#define JITDUMP_DIR "tests/golden/jitdump/"

static int open_fd(int fd, struct symbol_source **s, struct err *err)
{
	*s = NULL;
	int rc = symbol_open_jitdump(fd, s, err);
	close(fd);
	return rc;
}

static const char *at(struct symbol_source *s, uint64_t addr)
{
	struct symbol sym;
	return symbol_lookup(s, addr, &sym) ? sym.name : "";
}

/* --- a writer -------------------------------------------------------------------------------------------------------- */

static void add_u32(struct buf *b, uint32_t v)
{
	buf_add(b, &v, sizeof v);
}

static void add_u64(struct buf *b, uint64_t v)
{
	buf_add(b, &v, sizeof v);
}

static void add_header(struct buf *b, uint32_t version, uint64_t flags)
{
	add_u32(b, 0x4a695444);
	add_u32(b, version);
	add_u32(b, 40);
	add_u32(b, 62);
	add_u32(b, 0);
	add_u32(b, 1234);
	add_u64(b, 5);
	add_u64(b, flags);
}

static void add_record(struct buf *b, uint32_t id, uint32_t size, uint64_t time)
{
	add_u32(b, id);
	add_u32(b, size);
	add_u64(b, time);
}

static void add_load(struct buf *b, uint64_t time, uint64_t addr, uint64_t size, uint64_t index,
		     const char *name)
{
	static const char code[64];
	add_record(b, 0, 56 + strlen(name) + 1 + size, time);
	add_u32(b, 1234);
	add_u32(b, 1235);
	add_u64(b, addr);
	add_u64(b, addr);
	add_u64(b, size);
	add_u64(b, index);
	buf_add(b, name, strlen(name) + 1);
	buf_add(b, code, size);
}

static void add_move(struct buf *b, uint64_t time, uint64_t from, uint64_t to, uint64_t size,
		     uint64_t index)
{
	add_record(b, 1, 64, time);
	add_u32(b, 1234);
	add_u32(b, 1235);
	add_u64(b, to);
	add_u64(b, from);
	add_u64(b, to);
	add_u64(b, size);
	add_u64(b, index);
}

static struct symbol_source *open_buf(struct buf *b)
{
	struct symbol_source *s;
	struct err err = { 0 };
	ck_assert_msg(open_fd(file_of(b->data, b->len), &s, &err) == 0, "%s", err.text);
	return s;
}

/* --- tests ----------------------------------------------------------------------------------------------------------- */

START_TEST(julia)
{
	struct symbol_source *s;
	ck_assert_int_eq(open_fd(file_open(JITDUMP_DIR "jit-1560413.dump"), &s, NULL), 0);
	ck_assert_str_eq(at(s, 0x7e1304b00a30), "julia_b_11");
	ck_assert_uint_eq(s->skipped, 0);
	ck_assert_str_eq(at(s, 0), "");
	symbol_close(s);
}
END_TEST

/* Every load record of the real files is found in the bytes by its name. */
static size_t check_loads(const char *path)
{
	struct symbol_source *s;
	size_t found = 0;
	int fd = file_open(path);
	struct stat st;
	ck_assert_int_eq(fstat(fd, &st), 0);
	char *data = malloc(st.st_size);
	ck_assert_int_eq(pread(fd, data, st.st_size, 0), st.st_size);
	ck_assert_int_eq(open_fd(fd, &s, NULL), 0);
	for (char *p = data + 40; p < data + st.st_size;) {
		uint32_t record[2];
		uint64_t code[3]; /* vma, address, size */
		memcpy(record, p, sizeof record);
		memcpy(code, p + 24, sizeof code);
		if (record[0] == 0) {
			ck_assert_str_eq(at(s, code[1]), p + 56);
			ck_assert_str_eq(at(s, code[1] + code[2] - 1), p + 56);
			found++;
		}
		p += record[1];
	}
	free(data);
	symbol_close(s);
	return found;
}

START_TEST(every_load_is_found)
{
	ck_assert_uint_eq(check_loads(JITDUMP_DIR "jit-1560413.dump"), 20);
	ck_assert_uint_eq(check_loads(JITDUMP_DIR "jit-simple-julia.dump"), 13);
}
END_TEST

START_TEST(code_over_code)
{
	struct buf b = { 0 };
	add_header(&b, 1, 0);
	add_load(&b, 100, 0x1000, 64, 1, "first");
	add_load(&b, 300, 0x1000, 64, 3, "third"); /* written before the second, but later */
	add_load(&b, 200, 0x1000, 32, 2, "second");
	struct symbol_source *s = open_buf(&b);
	ck_assert_str_eq(at(s, 0x1010), "third");
	symbol_jitdump_at(s, 99);
	ck_assert_str_eq(at(s, 0x1010), "");
	symbol_jitdump_at(s, 100);
	ck_assert_str_eq(at(s, 0x1010), "first");
	symbol_jitdump_at(s, 299);
	ck_assert_str_eq(at(s, 0x1010), "second");
	ck_assert_str_eq(at(s, 0x1020), "first");
	symbol_jitdump_at(s, 300);
	ck_assert_str_eq(at(s, 0x1010), "third");
	symbol_jitdump_at(s, UINT64_MAX);
	ck_assert_str_eq(at(s, 0x1020), "third");
	symbol_close(s);
	buf_done(&b);
}
END_TEST

START_TEST(moved_code)
{
	struct buf b = { 0 };
	add_header(&b, 1, 0);
	add_load(&b, 100, 0x1000, 64, 7, "_Z3fooi");
	add_move(&b, 200, 0x1000, 0x1020, 64, 7); /* the new place overlaps the old one */
	add_move(&b, 250, 0x5000, 0x6000, 64, 8); /* of code that was never loaded */
	add_record(&b, 3, 16, 300);               /* close */
	struct symbol_source *s = open_buf(&b);
	ck_assert_uint_eq(s->skipped, 1);
	ck_assert_str_eq(at(s, 0x1000), "");
	ck_assert_str_eq(at(s, 0x1020), "foo(int)");
	ck_assert_str_eq(at(s, 0x105f), "foo(int)");
	symbol_jitdump_at(s, 150);
	ck_assert_str_eq(at(s, 0x1000), "foo(int)");
	ck_assert_str_eq(at(s, 0x105f), "");
	symbol_close(s);
	buf_done(&b);
}
END_TEST

START_TEST(times_of_a_cpu_counter)
{
	struct buf b = { 0 };
	add_header(&b, 1, 1);
	add_load(&b, 900, 0x1000, 64, 1, "old");
	add_load(&b, 800, 0x1000, 64, 2, "new");
	struct symbol_source *s = open_buf(&b);
	symbol_jitdump_at(s, 0);
	ck_assert_str_eq(at(s, 0x1000), "new");
	symbol_close(s);
	buf_done(&b);
}
END_TEST

static int open_rc(const void *data, size_t len, struct err *err)
{
	struct symbol_source *s;
	int rc = open_fd(file_of(data, len), &s, err);
	symbol_close(s);
	return rc;
}

START_TEST(foreign_files)
{
	struct err err = { 0 };
	struct buf b = { 0 };
	ck_assert_int_eq(open_rc("", 0, &err), -EBADMSG);
	ck_assert_int_eq(open_rc("JiTD", 4, &err), -ENOTSUP); /* big endian */
	ck_assert_ptr_nonnull(strstr(err.text, "byte order"));
	ck_assert_int_eq(open_rc("DTiJ", 4, &err), -EBADMSG);
	add_header(&b, 2, 0);
	ck_assert_int_eq(open_rc(b.data, b.len, &err), -ENOTSUP);
	buf_clear(&b);
	add_header(&b, 1, 0);
	ck_assert_int_eq(open_rc(b.data, b.len, &err), -ENODATA);
	add_record(&b, 0, 15, 1); /* shorter than itself */
	ck_assert_int_eq(open_rc(b.data, b.len, &err), -ENODATA);
	buf_done(&b);
}
END_TEST

/* Truncated anywhere: intact records are there, and a truncated one is counted. */
START_TEST(cut_anywhere)
{
	struct buf b = { 0 };
	size_t ends[3];
	add_header(&b, 1, 0);
	for (int i = 0; i < 3; i++) {
		add_load(&b, i, 0x1000 + i * 64, 64, i, "name");
		ends[i] = b.len;
	}
	for (size_t len = ends[0]; len <= b.len; len++) {
		struct symbol_source *s;
		size_t whole = 1 + (len >= ends[1]) + (len >= ends[2]), named = 0;
		ck_assert_int_eq(open_fd(file_of(b.data, len), &s, NULL), 0);
		for (int i = 0; i < 3; i++)
			named += *at(s, 0x1000 + i * 64) != '\0';
		ck_assert_uint_eq(named, whole);
		ck_assert_uint_eq(s->skipped, len != ends[whole - 1]);
		symbol_close(s);
	}
	for (size_t len = 0; len < ends[0]; len++)
		ck_assert_int_lt(open_rc(b.data, len, NULL), 0);
	buf_done(&b);
}
END_TEST

START_TEST(odd_records)
{
	struct buf b = { 0 };
	char name[3000];
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	add_header(&b, 1, 0);
	add_load(&b, 1, 0x1000, 0, 1, "no code");
	add_load(&b, 1, UINT64_MAX, 64, 1, "wraps around");
	add_load(&b, 1, 0x2000, 64, 1, "");
	add_record(&b, 0, 56, 1); /* ends before its name */
	for (int i = 0; i < 5; i++)
		add_u64(&b, 0x3000);
	add_record(&b, 77, 24, 1); /* from a later version */
	add_u64(&b, 0);
	add_load(&b, 1, 0x4000, 64, 1, name);
	struct symbol_source *s = open_buf(&b);
	ck_assert_uint_eq(s->skipped, 4);
	ck_assert_uint_eq(strlen(at(s, 0x4000)), 1024);
	symbol_close(s);
	buf_done(&b);
}
END_TEST

UNIT_MAIN("jitdump", julia, every_load_is_found, code_over_code, moved_code, times_of_a_cpu_counter,
	  foreign_files, cut_anywhere, odd_records)
