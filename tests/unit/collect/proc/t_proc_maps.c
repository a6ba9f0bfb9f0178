// tier: test
/* /proc/PID/maps: a very large real one and this process's current one, both also parsed by awk; and invalid lines. */
#include "base/buf.h"
#include "collect/proc/proc_maps.h"
#include "shell.h"

#include <errno.h>
#include <inttypes.h>

#define LARGE "tests/golden/kernel/ddprof-proc-maps-large.txt"

static bool parse(const char *text, struct proc_map *m)
{
	static char line[8192];

	snprintf(line, sizeof line, "%s", text);
	return proc_map_parse(line, m);
}

static bool print_map(void *ctx, const struct proc_map *m)
{
	buf_addf(ctx, "%" PRIx64 " %" PRIx64 " %d %" PRIx64 " %x %x %" PRIu64 " %s\n", m->start,
		 m->end, m->executable, m->pgoff, m->maj, m->min, m->ino, m->name);
	return true;
}

/* The same line by line, from the columns of the text. */
static char *print_by_awk(const char *path)
{
	return shell(
		"awk '{ split($1, a, \"-\"); split($4, d, \":\"); name = $0;"
		"  if (NF > 5) { i = index(name, $6); name = substr(name, i) } else name = \"\";"
		"  for (i in a) sub(/^0+/, \"\", a[i]); for (i in d) sub(/^0+/, \"\", d[i]);"
		"  sub(/^0+/, \"\", $3);"
		"  print a[1], a[2], substr($2, 3, 1) == \"x\" ? 1 : 0, $3 == \"\" ? 0 : $3,"
		"    d[1] == \"\" ? 0 : d[1], d[2] == \"\" ? 0 : d[2], $5, name }' %s",
		path);
}

static void compare(int fd, const char *path)
{
	struct buf b = { 0 };

	ck_assert_int_eq(proc_maps_read_fd(fd, print_map, &b), 0);
	char *want = print_by_awk(path);
	ck_assert_str_eq(buf_cstr(&b), want);
	free(want);
	buf_done(&b);
}

START_TEST(large_file)
{
	int fd = file_open(LARGE);

	compare(fd, LARGE);
	close(fd);
}
END_TEST

START_TEST(for_a_process)
{
	char dir[32], path[64];
	struct buf b = { 0 };

	temp_dir(dir);
	snprintf(path, sizeof path, "%s/maps", dir);
	shell_do("cat /proc/%d/maps > %s", getppid(), path);
	ck_assert_int_eq(proc_maps_read(getppid(), print_map, &b), 0);
	char *want = print_by_awk(path);
	ck_assert_str_eq(buf_cstr(&b), want);
	ck_assert_ptr_nonnull(strstr(b.data, "[vdso]"));
	free(want);
	buf_done(&b);
	shell_do("rm -rf %s", dir);
}
END_TEST

START_TEST(names)
{
	struct proc_map m;

	ck_assert(parse("1000-2000 r-xp 00000000 fe:00 12   /a b/c (deleted)", &m));
	ck_assert_str_eq(m.name, "/a b/c (deleted)");
	ck_assert(parse("1000-2000 r-xp 00000000 fe:00 12 /two\\012lines\\012", &m));
	ck_assert_str_eq(m.name, "/two\nlines\n");
	ck_assert(parse("1000-2000 r-xp 00000000 fe:00 12 /not\\01 \\013", &m));
	ck_assert_str_eq(m.name, "/not\\01 \\013");
	ck_assert(parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]", &m));
	ck_assert_uint_eq(m.end, 0xffffffffff601000);
	ck_assert(m.executable);
	ck_assert(parse("1000-2000 rw-s fffffffffffff000 fff:fffff 18446744073709551615", &m));
	ck_assert_uint_eq(m.ino, UINT64_MAX);
	ck_assert_uint_eq(m.min, 0xfffff);
	ck_assert(!m.executable);
	ck_assert_str_eq(m.name, "");
}
END_TEST

START_TEST(malformed)
{
	static const char *const bad[] = {
		"",
		"\n",
		"1000",
		"1000-",
		"1000-2000",
		"1000-2000 ",
		"1000-2000 r-x",
		"1000-2000 r-xp",
		"1000-2000 r-xp 0",
		"1000-2000 r-xp 0 fe:00",
		"1000-2000 r-xp 0 fe:00 ",
		"1000-2000 r-xp 0 fe:00 x",
		"1000-2000 r-xp 0 fe:00 1x",
		"1000-2000 r-xp 0 fe 1",
		"1000-2000 r-xp 0 1fffffffff:00 1",
		"1000-2000 r-xp 0 fe:00 18446744073709551616",
		"2000-1000 r-xp 0 fe:00 1",
		"1000-1000 r-xp 0 fe:00 1",
		"10000000000000000-20000000000000000 r-xp 0 fe:00 1",
		"1000-2000 rwxq 0 fe:00 1",
		"1000-2000 xxxp 0 fe:00 1",
		"1000-2000  r-xp 0 fe:00 1",
		"-1000-2000 r-xp 0 fe:00 1",
	};
	struct proc_map m = { .start = 7 };

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(!parse(bad[i], &m) && m.start == 7, "%s", bad[i]);
}
END_TEST

static bool count(void *ctx, const struct proc_map *m)
{
	uint64_t *n = ctx;

	*n += m->end - m->start;
	return *n < 3;
}

START_TEST(reading)
{
	static const char text[] =
		"1-2 r-xp 0 0:0 0\nrubbish\n2-3 r-xp 0 0:0 0 \n3-4 r-xp 0 0:0 0\n"
		"4-5 r-xp 0 0:0 0\n";
	uint64_t n = 0;
	int fd = file_of(text, sizeof text - 1);

	ck_assert_int_eq(proc_maps_read_fd(fd, count, &n), 0);
	ck_assert_uint_eq(n, 3); /* garbage was skipped, the last line was not requested */
	close(fd);
	ck_assert_int_eq(proc_maps_read(INT32_MAX, count, &n), -ENOENT);
}
END_TEST

/* A line longer than any window is dropped, not split into two. */
START_TEST(endless_line)
{
	struct buf b = { 0 };
	uint64_t n = 0;

	buf_adds(&b, "1-2 r-xp 0 0:0 0 /");
	for (int i = 0; i < 300000; i++)
		buf_adds(&b, "3-4 r-xp 0 0:0 0 ");
	buf_adds(&b, "\n2-3 r-xp 0 0:0 0 /b\n");
	int fd = file_of(b.data, b.len);
	ck_assert_int_eq(proc_maps_read_fd(fd, count, &n), 0);
	ck_assert_uint_eq(n, 2);
	close(fd);
	buf_done(&b);
}
END_TEST

UNIT_MAIN("proc_maps", large_file, for_a_process, names, malformed, reading, endless_line)
