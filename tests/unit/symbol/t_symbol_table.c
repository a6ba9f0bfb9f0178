// tier: test
/* symbol/symbol_table.h: a table gives the same answers as the file, at every place; anything else is refused; agent/symbols_upload.h: each once. */
#include "unit.h"

#include "agent/symbols_upload.h"
#include "base/fs.h"
#include "base/mem.h"
#include "collect/kernel/sampler_opts.h"
#include "collect/process/elf_names.h"
#include "symbol/symbol_table.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <unistd.h>
#include <zstd.h>

enum { RANDOM_PLACES = 20000 };
static const uint8_t some_id[] = { 0x12, 0x34, 0x56 };

static int make(int fd, uint64_t lines_ns, struct buf *out)
{
	const struct symbol_table_opts opts = { .build_id = some_id,
						.build_id_len = sizeof some_id,
						.lines_ns = lines_ns };
	return symbol_table_make(fd, &opts, out, NULL);
}

/* --- against the file ------------------------------------------------------------------------- */

static void compare_at(struct symbol_source *source, const struct symbol_table *t, uint64_t at)
{
	const struct symbol_table_function *f = symbol_table_find(t, at);
	struct symbol sym;
	bool found = symbol_lookup(source, at, &sym) && *sym.name;
	ck_assert_msg(found == (f != NULL), "at %#llx", (unsigned long long)at);
	if (!found)
		return;
	struct symbol_table_text name = symbol_table_text(t, f->name);
	struct symbol_table_text linkage = symbol_table_text(t, f->linkage);
	ck_assert_msg(strlen(sym.name) == name.len && !memcmp(sym.name, name.s, name.len),
		      "at %#llx: %s", (unsigned long long)at, sym.name);
	ck_assert_msg(strlen(sym.linkage) == linkage.len &&
			      !memcmp(sym.linkage, linkage.s, linkage.len),
		      "at %#llx: %s", (unsigned long long)at, sym.linkage);
}

/* False: there is no such file, or it has no functions. */
static bool compare_file(const char *path)
{
	struct symbol_source *source;
	struct symbol_table t;
	struct buf b = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || make(fd, 0, &b)) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	ck_assert_int_eq(symbol_open_elf(fd, NULL, NULL, &source, NULL), 0);
	ck_assert_int_eq(symbol_table_read(b.data, b.len, &t, NULL), 0);
	ck_assert_uint_gt(t.n_ranges, 0);
	for (uint32_t i = 0; i < t.n_ranges; i++) {
		const struct symbol_table_range *r = &t.ranges[i];
		compare_at(source, &t, r->start);
		compare_at(source, &t, r->start + r->size / 2);
		compare_at(source, &t, r->start + r->size - 1);
		compare_at(source, &t, r->start + r->size);
		if (r->start)
			compare_at(source, &t, r->start - 1);
	}
	uint64_t size = (uint64_t)lseek(fd, 0, SEEK_END), random = 88172645463325252ull;
	for (int i = 0; i < RANDOM_PLACES; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		compare_at(source, &t, random % (size + 4096));
	}
	symbol_close(source);
	symbol_table_done(&t);
	buf_done(&b);
	close(fd);
	return true;
}

static int compare_all(const char *pattern)
{
	glob_t g = { 0 };
	int n = 0;
	if (glob(pattern, 0, NULL, &g) == 0)
		for (size_t i = 0; i < g.gl_pathc && n < 12; i++)
			n += compare_file(g.gl_pathv[i]);
	globfree(&g);
	return n;
}

START_TEST(a_table_equals_the_file)
{
	ck_assert(compare_file("/proc/self/exe"));
	ck_assert_int_gt(compare_all("/lib/*-linux-gnu/libc.so.6"), 0);
	ck_assert_int_gt(compare_all("/usr/lib/*-linux-gnu/libstdc++.so.6"), 0);
	compare_all("/usr/lib/go*/bin/go");
	compare_all("tests/golden/elf/*");
}
END_TEST

static bool has_place(const struct symbol_table *t, const char *name, const char *file)
{
	for (uint32_t i = 0; i < t->n_functions; i++) {
		const struct symbol_table_function *f = &t->functions[i];
		struct symbol_table_text s = symbol_table_text(t, f->name);
		struct symbol_table_text in = symbol_table_text(t, f->file);
		if (s.len == strlen(name) && !memcmp(s.s, name, s.len))
			return f->start_line > 0 && in.len >= strlen(file) &&
			       !memcmp(in.s + in.len - strlen(file), file, strlen(file));
	}
	return false;
}

START_TEST(files_and_lines_come_from_debug_information)
{
	struct symbol_table t;
	struct buf b = { 0 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(make(fd, 30000000000ull, &b), 0);
	ck_assert_int_eq(symbol_table_read(b.data, b.len, &t, NULL), 0);
	ck_assert(has_place(&t, "compare_file", "t_symbol_table.c"));
	ck_assert(has_place(&t, "symbol_table_read", "symbol_table_read.c"));
	symbol_table_done(&t);
	buf_clear(&b);
	ck_assert_int_eq(make(fd, 0, &b), 0);
	ck_assert_int_eq(symbol_table_read(b.data, b.len, &t, NULL), 0);
	ck_assert(!has_place(&t, "compare_file", "t_symbol_table.c"));
	symbol_table_done(&t);
	buf_done(&b);
	close(fd);
}
END_TEST

/* --- hostile ones ----------------------------------------------------------------------------- */

static int read_plain(const void *plain, size_t n)
{
	struct symbol_table t;
	char packed[4096];
	size_t len = ZSTD_compress(packed, sizeof packed, plain, n, 1);
	int rc = symbol_table_read(packed, len, &t, NULL);
	if (rc == 0)
		symbol_table_done(&t);
	return rc;
}

/* "CRSYMT" version, id, texts main and a.c, one function, a range at 16 of 4 bytes. */
static const char good[] = "CRSYMT\1\0\2\x12\x34\2\4main\3a.c\1\1\1\2\7\1\x10\4";
static struct buf copy_good(void)
{
	struct buf b = { 0 };
	buf_add(&b, good, sizeof good); /* the last byte is the range's function: 0 */
	return b;
}

START_TEST(invalid_tables_are_refused)
{
	struct buf b = copy_good();
	struct symbol_table t;
	ck_assert_int_eq(read_plain(b.data, b.len), 0);
	for (size_t n = 0; n < b.len; n++)
		ck_assert_int_eq(read_plain(b.data, n), -EBADMSG);
	buf_addc(&b, 0);
	ck_assert_int_eq(read_plain(b.data, b.len), -EBADMSG);
	buf_done(&b);
	/* By place: another magic, version; no build id; an empty text; no name; a text or a function that does not exist; no size. */
	static const struct {
		size_t at;
		char now;
	} wrong[] = { { 0, 'X' }, { 6, 2 },  { 8, 0 },  { 12, 0 },
		      { 22, 0 },  { 23, 3 }, { 28, 0 }, { 29, 1 } };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		b = copy_good();
		b.data[wrong[i].at] = wrong[i].now;
		ck_assert_msg(read_plain(b.data, b.len) == -EBADMSG, "%zu", wrong[i].at);
		buf_done(&b);
	}
	ck_assert_int_eq(symbol_table_read("no zstd", 7, &t, NULL), -EBADMSG);
}
END_TEST

START_TEST(a_bomb_is_refused_before_it_is_unpacked)
{
	size_t n = SYMBOL_TABLE_MAX_BYTES + 1;
	char *zeros = xcalloc(n, 1), packed[16384];
	struct symbol_table t;
	size_t len = ZSTD_compress(packed, sizeof packed, zeros, n, 1);
	ck_assert(!ZSTD_isError(len));
	ck_assert_int_eq(symbol_table_read(packed, len, &t, NULL), -EFBIG);
	ck_assert(symbol_table_cost(packed, len) == UINT64_MAX);
	free(zeros);
}
END_TEST

/* --- sending ---------------------------------------------------------------------------------- */

struct server {
	int head, put; /* what it says */
	int heads, puts;
	bool is_good;
};

static int head(void *ctx, const uint8_t *id, size_t len, struct err *err)
{
	struct server *s = ctx;
	(void)id;
	(void)len;
	(void)err;
	s->heads++;
	return s->head;
}
static int put(void *ctx, const uint8_t *id, size_t len, const struct buf *table, struct err *err)
{
	struct server *s = ctx;
	struct symbol_table t;
	(void)err;
	s->puts++;
	s->is_good = symbol_table_read(table->data, table->len, &t, NULL) == 0 &&
		     t.build_id_len == len && memcmp(t.build_id, id, len) == 0;
	symbol_table_done(&t);
	return s->put;
}

struct sending {
	struct server server;
	struct name_files files;
	struct symbols_upload u;
	uint8_t id[64];
	size_t len;
	int fd;
};
static void sending_init(struct sending *s)
{
	*s = (struct sending){ 0 };
	const struct symbols_target target = { head, put, &s->server };
	name_files_open(&s->files, &(struct name_files_opts){ 0 });
	symbols_upload_init(&s->u, &target, &s->files);
	glob_t g = { 0 };
	ck_assert_int_eq(glob("/lib/*-linux-gnu/libc.so.6", 0, NULL, &g), 0);
	s->fd = open(g.gl_pathv[0], O_RDONLY | O_CLOEXEC);
	globfree(&g);
	int len = elf_build_id(s->fd, s->id, sizeof s->id);
	ck_assert_int_gt(len, 0);
	s->len = (size_t)len;
}
static void sending_done(struct sending *s)
{
	symbols_upload_done(&s->u);
	name_files_close(&s->files);
	close(s->fd);
}
static int give(struct sending *s, int fd)
{
	return symbols_upload_file(&s->u, s->id, s->len, fd, "/lib/libc.so.6", NULL);
}
static enum symbols_state state(struct sending *s)
{
	return symbols_upload_state(&s->u, s->id, s->len);
}

START_TEST(a_table_is_sent_once)
{
	struct sending s;
	sending_init(&s);
	ck_assert_int_eq(state(&s), SYMBOLS_UNKNOWN);
	ck_assert_int_eq(symbols_upload_state(&s.u, NULL, 0), SYMBOLS_NONE);
	s.server.head = -ETIMEDOUT;
	ck_assert_int_eq(give(&s, s.fd), -ETIMEDOUT);
	s.server.head = 0;
	s.server.put = -EAGAIN;
	ck_assert_int_eq(give(&s, s.fd), -EAGAIN);
	ck_assert_int_eq(state(&s), SYMBOLS_UNKNOWN);
	s.server.put = 0;
	ck_assert_int_eq(give(&s, s.fd), 0);
	ck_assert_int_eq(state(&s), SYMBOLS_THERE);
	ck_assert(s.server.is_good);
	ck_assert_int_eq(give(&s, s.fd), 0);
	ck_assert_int_eq(s.server.puts, 2);
	ck_assert_int_eq(s.server.heads, 3);
	ck_assert_uint_eq(s.u.tables, 1);
	sending_done(&s);
}
END_TEST

START_TEST(unwanted_tables_are_not_sent)
{
	static const struct {
		int head, put;
		enum symbols_state then;
		int puts;
	} cases[] = {
		{ 1, 0, SYMBOLS_THERE, 0 },       { -EPERM, 0, SYMBOLS_NONE, 0 },
		{ 0, -EEXIST, SYMBOLS_THERE, 1 }, { 0, -EFBIG, SYMBOLS_NONE, 1 },
		{ 0, -EINVAL, SYMBOLS_NONE, 1 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sending s;
		sending_init(&s);
		s.server.head = cases[i].head;
		s.server.put = cases[i].put;
		ck_assert_int_eq(give(&s, s.fd), 0);
		ck_assert_int_eq(state(&s), cases[i].then);
		ck_assert_int_eq(s.server.puts, cases[i].puts);
		sending_done(&s);
	}
}
END_TEST

START_TEST(another_file_is_not_believed)
{
	struct sending s;
	sending_init(&s);
	s.id[0] ^= 1;
	ck_assert_int_eq(give(&s, s.fd), 0);
	ck_assert_int_eq(state(&s), SYMBOLS_NONE);
	s.id[0] ^= 2;
	ck_assert_int_eq(give(&s, -1), 0);
	ck_assert_int_eq(state(&s), SYMBOLS_NONE);
	ck_assert_int_eq(s.server.puts, 0);
	sending_done(&s);
}
END_TEST

UNIT_MAIN("symbol_table", a_table_equals_the_file, files_and_lines_come_from_debug_information,
	  invalid_tables_are_refused, a_bomb_is_refused_before_it_is_unpacked, a_table_is_sent_once,
	  unwanted_tables_are_not_sent, another_file_is_not_believed)
