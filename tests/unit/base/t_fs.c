// tier: test
#include "rand.h"
#include "unit.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory for one test, with the names of two files in it. */
struct place {
	char dir[32], file[48], tmp[48], other[48];
};

static struct place place_new(void)
{
	struct place p = { .dir = "/tmp/cresset-fs-XXXXXX" };
	ck_assert_ptr_nonnull(mkdtemp(p.dir));
	snprintf(p.file, sizeof p.file, "%s/file", p.dir);
	snprintf(p.tmp, sizeof p.tmp, "%s/file.tmp", p.dir);
	snprintf(p.other, sizeof p.other, "%s/other", p.dir);
	return p;
}

static void place_done(const struct place *p)
{
	unlink(p->file);
	unlink(p->tmp);
	unlink(p->other);
	ck_assert_int_eq(rmdir(p->dir), 0); /* nothing else was left there */
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static void check_content(const char *path, const char *text)
{
	struct buf b = { 0 };
	ck_assert_int_eq(fs_read_at(AT_FDCWD, path, 1 << 20, &b, NULL), 0);
	ck_assert_str_eq(buf_cstr(&b), text);
	buf_done(&b);
}

static bool exists(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0;
}

/* --- reading --- */

START_TEST(reads_up_to_the_limit)
{
	struct place p = place_new();
	struct buf b = { 0 };
	struct err err = { 0 };
	put(p.file, "0123456789");
	buf_adds(&b, "before:");
	ck_assert_int_eq(fs_read_at(AT_FDCWD, p.file, 10, &b, NULL), 0);
	ck_assert_str_eq(buf_cstr(&b), "before:0123456789");
	ck_assert_int_eq(fs_read_at(AT_FDCWD, p.file, 9, &b, &err), -EFBIG);
	ck_assert_ptr_nonnull(strstr(err.text, p.file));
	ck_assert_str_eq(buf_cstr(&b), "before:0123456789");
	int dir = open(p.dir, O_PATH | O_DIRECTORY);
	ck_assert_int_eq(fs_read_at(dir, "file", SIZE_MAX, &b, NULL), 0);
	ck_assert_uint_eq(b.len, 27);
	close(dir);
	buf_done(&b);
	place_done(&p);
}
END_TEST

START_TEST(reads_large_files_and_proc)
{
	struct place p = place_new();
	struct rng r = { 37 };
	struct buf text = { 0 }, b = { 0 };
	while (text.len < 300000)
		buf_addu(&text, rng_next(&r));
	put(p.file, buf_cstr(&text));
	ck_assert_int_eq(fs_read_at(AT_FDCWD, p.file, text.len, &b, NULL), 0);
	ck_assert_uint_eq(b.len, text.len);
	ck_assert_mem_eq(b.data, text.data, b.len);
	buf_clear(&b);
	ck_assert_int_eq(fs_read_at(AT_FDCWD, "/proc/self/stat", 1 << 20, &b, NULL), 0);
	ck_assert_int_eq(strtol(buf_cstr(&b), NULL, 10), getpid());
	buf_done(&text);
	buf_done(&b);
	place_done(&p);
}
END_TEST

START_TEST(reports_unreadable_files)
{
	struct place p = place_new();
	struct buf b = { 0 };
	struct err err = { 0 };
	ck_assert_int_eq(fs_read_at(AT_FDCWD, p.file, 10, &b, &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, p.file));
	ck_assert_ptr_nonnull(strstr(err.text, "No such file"));
	ck_assert_int_eq(fs_read_at(AT_FDCWD, p.dir, 10, &b, &err), -EISDIR);
	ck_assert_int_eq(fs_read_fd(-1, 10, &b, NULL), -EBADF);
	ck_assert_uint_eq(b.len, 0);
	buf_done(&b);
	place_done(&p);
}
END_TEST

/* The test's timeout is the proof. */
START_TEST(never_waits_for_a_pipe)
{
	struct place p = place_new();
	struct buf b = { 0 };
	char line[16];
	ck_assert_int_eq(mkfifo(p.file, 0600), 0);
	ck_assert_int_eq(fs_read_at(AT_FDCWD, p.file, 10, &b, NULL), 0);
	ck_assert_int_eq(fs_read_line(p.file, line, sizeof line), 0);
	int writer = open(p.file, O_RDWR);
	ck_assert_int_eq(fs_read_at(AT_FDCWD, p.file, 10, &b, NULL), -EAGAIN);
	close(writer);
	buf_done(&b);
	place_done(&p);
}
END_TEST

START_TEST(reads_one_line)
{
	static const struct {
		const char *text, *line;
		size_t size;
	} known[] = {
		{ "", "", 16 },
		{ "one", "one", 16 },
		{ "one\n", "one", 16 },
		{ "\n", "", 16 },
		{ "one\ntwo", "one", 16 },
		{ "123456789", "1234567", 8 },
		{ "1234567\n", "1234567", 8 },
		{ "abc", "", 1 },
	};
	struct place p = place_new();
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		char line[16] = "not touched";
		put(p.file, known[i].text);
		ck_assert_int_eq(fs_read_line(p.file, line, known[i].size), 0);
		ck_assert_str_eq(line, known[i].line);
	}
	char line[16] = "old";
	ck_assert_int_eq(fs_read_line(p.other, line, sizeof line), -ENOENT);
	ck_assert_str_eq(line, "");
	place_done(&p);
}
END_TEST

/* --- writing --- */

START_TEST(commit_replaces_atomically)
{
	struct place p = place_new();
	struct out o;
	put(p.file, "old");
	ck_assert_int_eq(out_open(&o, p.file, NULL), 0);
	ck_assert_int_eq(out_write(&o, "new", 3, NULL), 0);
	check_content(p.file, "old");
	ck_assert(exists(p.tmp));
	ck_assert_int_eq(out_commit(&o, NULL), 0);
	check_content(p.file, "new");
	ck_assert(!exists(p.tmp));
	out_abort(&o);
	check_content(p.file, "new");
	place_done(&p);
}
END_TEST

START_TEST(abort_leaves_nothing)
{
	struct place p = place_new();
	struct out o, zero = { 0 };
	ck_assert_int_eq(out_open(&o, p.file, NULL), 0);
	ck_assert_int_eq(out_write(&o, "half", 4, NULL), 0);
	out_abort(&o);
	out_abort(&o);
	ck_assert(!exists(p.file));
	ck_assert(!exists(p.tmp));
	out_abort(&zero);
	ck_assert_int_ge(fcntl(0, F_GETFD), 0); /* standard input was not closed as descriptor 0 */
	place_done(&p);
}
END_TEST

START_TEST(pieces_of_any_size_arrive_in_order)
{
	struct place p = place_new();
	struct rng r = { 41 };
	struct buf text = { 0 }, b = { 0 };
	struct out o;
	char *piece = xmalloc(200000);
	ck_assert_int_eq(out_open(&o, p.file, NULL), 0);
	for (int i = 0; i < 100; i++) {
		size_t n = rng_below(&r, i % 10 ? 5000 : 200000);
		memset(piece, 'a' + i % 26, n);
		buf_add(&text, piece, n);
		ck_assert_int_eq(out_write(&o, piece, n, NULL), 0);
	}
	ck_assert_int_eq(out_commit(&o, NULL), 0);
	ck_assert_int_eq(fs_read_at(AT_FDCWD, p.file, SIZE_MAX, &b, NULL), 0);
	ck_assert_uint_eq(b.len, text.len);
	ck_assert_mem_eq(b.data, text.data, b.len);
	free(piece);
	buf_done(&text);
	buf_done(&b);
	place_done(&p);
}
END_TEST

/* A file size limit of 100 KB simulates a full disk. */
START_TEST(full_disk_leaves_the_old_file)
{
	struct place p = place_new();
	struct out o;
	struct err err = { 0 };
	char *block = xcalloc(1, 1 << 16);
	put(p.file, "old");
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(out_open(&o, p.file, NULL), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 100000, RLIM_INFINITY }), 0);
	ck_assert_int_eq(out_write(&o, block, 1 << 16, &err), 0);
	ck_assert_int_eq(out_write(&o, block, 1 << 16, &err), -EFBIG);
	ck_assert_ptr_nonnull(strstr(err.text, p.file));
	err = (struct err){ 0 };
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }),
			 0);
	ck_assert_int_eq(out_write(&o, "more", 4, &err), 0); /* buffered: fails at the end */
	ck_assert_int_eq(out_commit(&o, &err), -EFBIG);
	ck_assert_int_eq(err.code, EFBIG);
	ck_assert(!exists(p.tmp));
	check_content(p.file, "old");
	free(block);
	place_done(&p);
}
END_TEST

START_TEST(full_device_is_reported)
{
	int saved = dup(1);
	struct out o;
	struct err err = { 0 };
	dup2(open("/dev/full", O_WRONLY), 1);
	ck_assert_int_eq(out_open(&o, "-", NULL), 0);
	int wrote = out_write(&o, "x", 1, &err), rc = out_commit(&o, &err);
	dup2(saved, 1);
	ck_assert_int_eq(wrote, 0);
	ck_assert_int_eq(rc, -ENOSPC);
	ck_assert_str_eq(err.text, "cannot write standard output: No space left on device");
}
END_TEST

START_TEST(closed_pipe_is_reported)
{
	int ends[2], saved = dup(1);
	struct out o;
	struct err err = { 0 };
	signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(pipe(ends), 0);
	close(ends[0]);
	dup2(ends[1], 1);
	ck_assert_int_eq(out_open(&o, "-", NULL), 0);
	int wrote = out_write(&o, "x", 1, &err), rc = out_commit(&o, &err);
	ck_assert_int_ge(fcntl(1, F_GETFD), 0); /* stays open for others */
	dup2(saved, 1);
	ck_assert_int_eq(wrote, 0);
	ck_assert_int_eq(rc, -EPIPE);
	ck_assert_str_eq(err.text, "cannot write standard output: Broken pipe");
}
END_TEST

START_TEST(standard_output)
{
	int ends[2], saved = dup(1);
	char got[16] = { 0 };
	struct out o;
	ck_assert_int_eq(pipe(ends), 0);
	dup2(ends[1], 1);
	ck_assert_int_eq(out_open(&o, "-", NULL), 0);
	int rc = out_write(&o, "data", 4, NULL) + out_commit(&o, NULL);
	dup2(saved, 1);
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(read(ends[0], got, sizeof got), 4);
	ck_assert_str_eq(got, "data");
}
END_TEST

/* A device or a pipe keeps its name: /dev/null must not become a file. */
START_TEST(pipes_are_written_to_directly)
{
	struct place p = place_new();
	struct out o;
	struct stat st;
	char got[16] = { 0 };
	ck_assert_int_eq(mkfifo(p.file, 0600), 0);
	int reader = open(p.file, O_RDWR);
	ck_assert_int_eq(out_open(&o, p.file, NULL), 0);
	ck_assert_int_eq(out_write(&o, "data", 4, NULL), 0);
	ck_assert_int_eq(out_commit(&o, NULL), 0);
	ck_assert_int_eq(read(reader, got, sizeof got), 4);
	ck_assert_int_eq(lstat(p.file, &st), 0);
	ck_assert(S_ISFIFO(st.st_mode));
	close(reader);
	place_done(&p);
}
END_TEST

/* Like /dev/stdout with a redirection: the link stays, and its target is written. */
START_TEST(names_of_descriptors_are_written_to_directly)
{
	struct place p = place_new();
	struct out o;
	char name[32];
	struct stat st;
	int fd = open(p.file, O_RDWR | O_CREAT, 0600);
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	ck_assert_int_eq(out_open(&o, name, NULL), 0);
	ck_assert_int_eq(out_write(&o, "data", 4, NULL), 0);
	ck_assert_int_eq(out_commit(&o, NULL), 0);
	check_content(p.file, "data");
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_size, 4); /* the same file, not a new one of that name */
	close(fd);
	place_done(&p);
}
END_TEST

START_TEST(a_link_laid_at_the_tmp_name_is_not_followed)
{
	struct place p = place_new();
	struct out o;
	put(p.other, "precious");
	ck_assert_int_eq(symlink(p.other, p.tmp), 0);
	ck_assert_int_eq(out_open(&o, p.file, NULL), 0);
	ck_assert_int_eq(out_write(&o, "mine", 4, NULL), 0);
	ck_assert_int_eq(out_commit(&o, NULL), 0);
	check_content(p.other, "precious");
	check_content(p.file, "mine");
	place_done(&p);
}
END_TEST

START_TEST(reports_uncreatable_files)
{
	struct place p = place_new();
	struct out o;
	struct err err = { 0 };
	char path[64];
	snprintf(path, sizeof path, "%s/none/file", p.dir);
	ck_assert_int_eq(out_open(&o, path, &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, path));
	ck_assert_int_eq(out_open(&o, p.dir, &err), -EISDIR);
	out_abort(&o);
	place_done(&p);
}
END_TEST

/* Several pieces follow each other; the reason of a failure is returned. */
START_TEST(writes_to_a_descriptor)
{
	struct place p = place_new();
	struct buf got = { 0 };
	int fd = open(p.file, O_RDWR | O_CREAT, 0600), full = open("/dev/full", O_WRONLY);

	ck_assert_int_eq(fs_write_fd(fd, "one", 3), 0);
	ck_assert_int_eq(fs_write_fd(fd, "", 0), 0);
	ck_assert_int_eq(fs_write_fd(fd, "two", 3), 0);
	ck_assert_int_eq(fs_read_at(AT_FDCWD, p.file, 100, &got, NULL), 0);
	ck_assert_str_eq(buf_cstr(&got), "onetwo");
	ck_assert_int_eq(fs_write_fd(full, "one", 3), -ENOSPC);
	ck_assert_int_eq(fs_write_fd(-1, "one", 3), -EBADF);
	close(full);
	close(fd);
	buf_done(&got);
	place_done(&p);
}
END_TEST

UNIT_MAIN("fs", writes_to_a_descriptor, reads_up_to_the_limit, reads_large_files_and_proc,
	  reports_unreadable_files, never_waits_for_a_pipe, reads_one_line,
	  commit_replaces_atomically, abort_leaves_nothing, pieces_of_any_size_arrive_in_order,
	  full_disk_leaves_the_old_file, full_device_is_reported, closed_pipe_is_reported,
	  standard_output, pipes_are_written_to_directly,
	  names_of_descriptors_are_written_to_directly, a_link_laid_at_the_tmp_name_is_not_followed,
	  reports_uncreatable_files)
