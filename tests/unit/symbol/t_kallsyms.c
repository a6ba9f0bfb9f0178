// tier: test
/* kallsyms: a real file from another machine checked line by line, rules on small texts, and the running kernel. */
#include "shell.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/vec.h"
#include "symbol/kallsyms.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <inttypes.h>

static struct symbol_source *open_fd(int fd)
{
	struct symbol_source *s;
	struct err err = { 0 };
	ck_assert_msg(symbol_open_kallsyms(fd, &s, &err) == 0, "%s", err.text);
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
	return symbol_lookup(s, addr, &sym) ? sym.linkage : "";
}

struct line {
	uint64_t addr;
	char type, name[128], module[64];
};

static bool is_function(const struct line *l)
{
	return strchr("tTwW", l->type) && l->name[0] != '$';
}

static int line_compare(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

static size_t lines_parse(char *text, struct line *lines, size_t max)
{
	char *save;
	size_t n = 0;
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save), n++) {
		ck_assert_uint_lt(n, max);
		lines[n].module[0] = '\0';
		ck_assert_int_ge(sscanf(l, "%" SCNx64 " %c %127s [%63[^]]", &lines[n].addr,
					&lines[n].type, lines[n].name, lines[n].module),
				 3);
	}
	qsort(lines, n, sizeof *lines, line_compare);
	return n;
}

/* Checks the lines of one address against the answers there and just before the next. */
static size_t check_address(struct symbol_source *s, const struct line *l, size_t n, uint64_t next)
{
	const struct line *named = NULL;
	struct symbol sym, last;
	bool found = symbol_lookup(s, l->addr, &sym);
	size_t functions = 0;
	for (size_t i = 0; i < n; i++)
		if (is_function(&l[i])) {
			functions++;
			if (found && strcmp(l[i].name, sym.linkage) == 0)
				named = &l[i];
		}
	ck_assert(found == (functions > 0));
	if (!found)
		return 0;
	ck_assert_ptr_nonnull(named);
	ck_assert_str_eq(sym.module ? sym.module : "", named->module);
	ck_assert_uint_eq(sym.start, l->addr);
	for (size_t i = 0; i < n; i++) {
		if (!is_function(&l[i]))
			continue;
		bool global = l[i].type < 'a', named_global = named->type < 'a';
		ck_assert(!global || named_global);
		ck_assert(global != named_global || strlen(l[i].name) >= strlen(named->name));
	}
	if (next - l->addr < 1 << 20) {
		ck_assert_uint_eq(sym.size, next - l->addr);
		ck_assert(symbol_lookup(s, next - 1, &last));
		ck_assert_ptr_eq(last.linkage, sym.linkage);
	}
	return 1;
}

START_TEST(every_line_of_an_arm_kernel)
{
	enum { N = 41418 };
	struct buf packed = { 0 };
	int fd = file_open("tests/golden/kernel/kallsyms.xz");
	ck_assert_int_eq(fs_read_fd(fd, 1 << 20, &packed, NULL), 0);
	close(fd);
	ck_assert_int_eq(fs_unpack(&packed, 8 << 20, NULL), 0);
	struct symbol_source *s = open_fd(file_of(packed.data, packed.len));
	struct line *lines = calloc(N + 1, sizeof *lines);
	ck_assert_uint_eq(lines_parse(buf_cstr(&packed), lines, N + 1), N);
	ck_assert_uint_eq(s->skipped, 0);
	size_t named = 0;
	for (size_t i = 0, next; i < N; i = next) {
		/* Data and mapping symbols end a function, too; only those named $… do not count. */
		for (next = i; next < N && lines[next].addr == lines[i].addr;)
			next++;
		bool only_marks = true;
		for (size_t k = i; k < next; k++)
			only_marks &= lines[k].name[0] == '$';
		size_t end = next;
		while (end < N && lines[end].name[0] == '$')
			end++;
		if (!only_marks && end < N && end == next)
			named += check_address(s, lines + i, next - i, lines[end].addr);
	}
	ck_assert_uint_gt(named, 15000);
	ck_assert_str_eq(at(s, 0xc0008000), "stext");
	ck_assert_str_eq(at(s, 0), "");
	free(lines);
	buf_done(&packed);
	symbol_close(s);
}
END_TEST

START_TEST(modules_and_bpf)
{
	struct symbol_source *s =
		open_text("ffffffff81000000 T _text\n"
			  "ffffffff81000100 t helper\n"
			  "ffffffff81000200 D datum\n"
			  "ffffffffc0000000 t init\t[ext4]\n"
			  "ffffffffc0000040 t read\t[ext4]\n"
			  "ffffffffc0300000 t bpf_prog_6deef7357e7b4530_on_cpu\t[bpf]\n"
			  "ffffffffa0000000 t outside_the_order\t[ext4]\n");
	struct symbol sym;
	ck_assert_uint_eq(s->skipped, 0);
	ck_assert(symbol_lookup(s, 0xffffffffc0300010, &sym));
	ck_assert_str_eq(sym.name, "bpf_prog_6deef7357e7b4530_on_cpu");
	ck_assert_str_eq(sym.module, "bpf");
	ck_assert(symbol_lookup(s, 0xffffffffc000003f, &sym));
	ck_assert_str_eq(sym.name, "init");
	ck_assert_str_eq(sym.module, "ext4");
	ck_assert(symbol_lookup(s, 0xffffffffa0000000, &sym));
	ck_assert_str_eq(sym.module, "ext4");
	ck_assert(symbol_lookup(s, 0xffffffff810001ff, &sym));
	ck_assert_ptr_null(sym.module);
	ck_assert_str_eq(at(s, 0xffffffff81000200), ""); /* data */
	ck_assert_str_eq(at(s, 0xffffffff80ffffff), "");
	ck_assert_str_eq(at(s, 0xffffffffc0200000), ""); /* after the module's last function */
	symbol_close(s);
}
END_TEST

START_TEST(one_name_per_address)
{
	struct symbol_source *s =
		open_text("1000 t local\n1000 T a_global_one\n1000 T global\n1000 W weaker\n"
			  "2000 A absolute\n2000 t only\n"
			  "3000 t _RNvCs1234_7mycrate3foo\n"
			  "4000 t end");
	struct symbol sym;
	ck_assert_str_eq(at(s, 0x1000), "global");
	ck_assert_str_eq(at(s, 0x2000), "only");
	ck_assert(symbol_lookup(s, 0x3000, &sym));
	ck_assert_str_eq(sym.name, "mycrate::foo");
	ck_assert_str_eq(at(s, 0x4000), "end");
	symbol_close(s);
}
END_TEST

static int open_rc(const char *text, struct err *err)
{
	int fd = file_of(text, strlen(text));
	struct symbol_source *s;
	int rc = symbol_open_kallsyms(fd, &s, err);
	if (rc == 0)
		symbol_close(s);
	close(fd);
	return rc;
}

START_TEST(hidden_or_empty)
{
	struct err err = { 0 };
	ck_assert_int_eq(
		open_rc("0000000000000000 T _text\n0000000000000000 t init\t[ext4]\n", &err),
		-EPERM);
	ck_assert_ptr_nonnull(strstr(err.hint, "kptr_restrict"));
	ck_assert_int_eq(open_rc("0000000000000000 T _text\n", NULL), -EPERM);
	ck_assert_int_eq(open_rc("", &err), -ENODATA);
	ck_assert_int_eq(open_rc("1000 D datum\n", &err), -ENODATA);
	ck_assert_int_eq(open_rc("no such thing\n\n\n", &err), -ENODATA);
}
END_TEST

START_TEST(bad_lines_are_counted)
{
	struct symbol_source *s = open_text("1000 T good\n"
					    "T 1000\n"
					    "2000\n"
					    "2000 T\n"
					    "2000 T \n"
					    "2000 T name\tmodule\n"
					    "2000 T name\t[module\n"
					    "10000000000000000 T large\n");
	ck_assert_uint_eq(s->skipped, 7);
	ck_assert_str_eq(at(s, 0x1000), "good");
	symbol_close(s);
}
END_TEST

/* The names at the addresses that the kernel itself gives for two of its functions. */
START_TEST(running_kernel)
{
	int fd = open("/proc/kallsyms", O_RDONLY);
	if (fd < 0)
		T_SKIP("no /proc/kallsyms");
	struct symbol_source *s;
	struct err err = { 0 };
	int rc = symbol_open_kallsyms(fd, &s, &err);
	close(fd);
	if (rc == -EPERM)
		T_SKIP("the kernel hides its addresses (not root)");
	ck_assert_msg(rc == 0, "%s", err.text);
	char *line = shell("grep -m1 ' [tT] schedule$' /proc/kallsyms");
	ck_assert_str_eq(at(s, strtoull(line, NULL, 16) + 1), "schedule");
	free(line);
	ck_assert_uint_eq(s->skipped, 0);
	symbol_close(s);
}
END_TEST

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void expect_same(struct symbol_source *text, struct symbol_source *table, uint64_t addr)
{
	struct symbol a, b;
	bool found = symbol_lookup(text, addr, &a);

	ck_assert_msg(symbol_lookup(table, addr, &b) == found, "%" PRIx64, addr);
	if (!found)
		return;
	ck_assert_str_eq(a.name, b.name);
	ck_assert_str_eq(a.linkage, b.linkage);
	ck_assert(same_text(a.module, b.module));
	ck_assert_uint_eq(a.start, b.start);
	ck_assert_uint_eq(a.size, b.size);
}

/* Around every symbol of the file, in file order and in reverse. */
static void compare_table(int fd, size_t bytes)
{
	struct symbol_source *text, *table;
	struct buf b = { 0 };
	struct err err = { 0 };
	char *line, *save;
	VEC(uint64_t) all = { 0 };

	ck_assert_int_eq(symbol_open_kallsyms(fd, &text, &err), 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_msg(symbol_open_kernel_table(fd, &table, &err) == 0, "%s", err.text);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(fs_read_fd(fd, 64 << 20, &b, NULL), 0);
	for (line = strtok_r(buf_cstr(&b), "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		vec_push(&all, strtoull(line, NULL, 16));
	ck_assert_uint_gt(all.n, 0);
	for (size_t i = 0; i < all.n; i++) {
		expect_same(text, table, all.v[i]);
		expect_same(text, table, all.v[i] + 1);
		expect_same(text, table, all.v[i] - 1);
	}
	for (size_t i = all.n; i-- > 0; i -= i > 97 ? 97 : 0)
		expect_same(text, table, all.v[i]);
	expect_same(text, table, 0);
	expect_same(text, table, UINT64_MAX);
	if (bytes)
		ck_assert_uint_lt(kernel_table_size_bytes(table), bytes);
	buf_done(&b);
	vec_done(&all);
	symbol_close(text);
	symbol_close(table);
}

START_TEST(compressed_it_gives_the_same)
{
	struct buf packed = { 0 };
	int fd = file_open("tests/golden/kernel/kallsyms.xz");

	ck_assert_int_eq(fs_read_fd(fd, 1 << 20, &packed, NULL), 0);
	close(fd);
	ck_assert_int_eq(fs_unpack(&packed, 8 << 20, NULL), 0);
	fd = file_of(packed.data, packed.len);
	compare_table(fd, packed.len / 5);
	close(fd);
	buf_done(&packed);
	static const char small[] = "ffffffff81000000 T _text\n"
				    "ffffffff81000100 t helper\n"
				    "ffffffffc0000000 t init\t[ext4]\n"
				    "ffffffffc0000040 t _RNvCs1234_7mycrate3foo\t[rust]\n"
				    "ffffffffc0300000 t bpf_prog_6deef7357e7b4530_on_cpu\t[bpf]\n"
				    "ffffffffc0300040 t again\t[ext4]\n";
	fd = file_of(small, strlen(small));
	compare_table(fd, 0);
	close(fd);
}
END_TEST

START_TEST(a_hidden_kernel_has_no_table)
{
	static const char hidden[] = "0000000000000000 T _text\n0000000000000000 t init\n";
	struct symbol_source *table = NULL;
	struct err err = { 0 };
	int fd = file_of(hidden, strlen(hidden));

	ck_assert_int_eq(symbol_open_kernel_table(fd, &table, &err), -EPERM);
	ck_assert_ptr_nonnull(strstr(err.hint, "kptr_restrict"));
	ck_assert_ptr_null(table);
	close(fd);
}
END_TEST

static const char loaded_high[] = "ffffffff9a200000 T _text\n"
				  "ffffffff9a200100 t helper\n"
				  "ffffffff9a200180 D data\n"
				  "ffffffff9a300000 T last\n"
				  "ffffffff9a300040 t __init_begin\n"
				  "ffffffffc0000000 t init\t[ext4]\n";
#define HIGH 0xffffffff9a200000ull

static struct buf stored_table(void)
{
	struct symbol_source *text, *table;
	struct buf b = { 0 };
	int fd = file_of(loaded_high, strlen(loaded_high));

	text = open_fd(fd);
	ck_assert_int_eq(kernel_table_of(text, HIGH + (64 << 20), HIGH + (65 << 20), &table),
			 -ENODATA);
	ck_assert_int_eq(kernel_table_of(text, HIGH, HIGH + 0x100040, &table), 0);
	kernel_table_write(table, &b);
	symbol_close(text);
	symbol_close(table);
	return b;
}

/* At the next boot the kernel is elsewhere. */
START_TEST(stored_it_moves_with_the_kernel)
{
	struct buf b = stored_table();
	struct symbol_source *table;
	struct symbol sym;
	const uint64_t low = 0xffffffff81000000;

	ck_assert_int_eq(kernel_table_read(b.data, b.len, low, &table), 0);
	ck_assert_ptr_null(memmem(b.data, b.len, "\x00\x00\x20\x9a\xff\xff\xff\xff", 8));
	ck_assert(symbol_lookup(table, low + 0x17f, &sym));
	ck_assert_str_eq(sym.name, "helper");
	ck_assert_uint_eq(sym.start, low + 0x100);
	ck_assert_uint_eq(sym.size, 0x80);
	ck_assert_ptr_null(sym.module);
	ck_assert(!symbol_lookup(table, low + 0x180, &sym)); /* data */
	ck_assert(symbol_lookup(table, low + 0x10003f, &sym));
	ck_assert_str_eq(sym.name, "last");
	ck_assert(!symbol_lookup(table, low + 0x100040, &sym)); /* not stored */
	ck_assert(!symbol_lookup(table, low - 1, &sym));
	ck_assert(!symbol_lookup(table, HIGH + 0x100, &sym));
	ck_assert(!symbol_lookup(table, 0xffffffffc0000000, &sym));
	symbol_close(table);
	buf_done(&b);
}
END_TEST

/* Any changed byte, and any end. */
START_TEST(a_damaged_file_has_no_table)
{
	struct buf b = stored_table();
	struct symbol_source *table = NULL;

	for (size_t i = 0; i < b.len; i++) {
		b.data[i] ^= 0x10;
		ck_assert_int_eq(kernel_table_read(b.data, b.len, HIGH, &table), -EBADMSG);
		b.data[i] ^= 0x10;
		ck_assert_int_eq(kernel_table_read(b.data, i, HIGH, &table), -EBADMSG);
	}
	ck_assert_ptr_null(table);
	buf_done(&b);
}
END_TEST

UNIT_MAIN("kallsyms", every_line_of_an_arm_kernel, modules_and_bpf, one_name_per_address,
	  hidden_or_empty, bad_lines_are_counted, running_kernel, compressed_it_gives_the_same,
	  a_hidden_kernel_has_no_table, stored_it_moves_with_the_kernel,
	  a_damaged_file_has_no_table)
