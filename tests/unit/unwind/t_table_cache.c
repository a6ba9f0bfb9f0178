// tier: test
/* Unwind tables on disk: a loaded one equals the built one, and is only used for the file that it was built from. */
#include "base/cache_dir.h"
#include "base/clock.h"
#include "base/file_identity.h"
#include "base/fs.h"
#include "unit.h"
#include "unwind/table_cache.h"

#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <stdlib.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the directory of this program: /tmp may be a file system in memory, and nothing in it is saved. */
static char dir[256], root[300];
static const char *const program = "/proc/self/exe";
static struct table_cache cache;
static uint64_t n_saved; /* since the cache was opened */
static struct unwind_table truth;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static void copy_program(const char *to)
{
	struct buf b = { 0 };
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(fs_read_fd(from, 1 << 28, &b, NULL), 0);
	close(from);
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	ck_assert_int_eq(write(fd, b.data, b.len), b.len);
	close(fd);
	buf_done(&b);
}

/* A file is settled after two seconds; here its change is in the past. */
static void settle(const char *path)
{
	struct stat st;
	uint64_t end_ns = clock_mono_ns() + 60000000000ull;

	ck_assert_int_eq(stat(path, &st), 0);
	int64_t settled_ns =
		st.st_ctim.tv_sec * 1000000000ll + st.st_ctim.tv_nsec + FILE_SETTLED_NS;
	while ((int64_t)clock_wall_ns() < settled_ns) {
		ck_assert_uint_lt(clock_mono_ns(), end_ns);
		usleep(10000);
	}
}

static void setup(void)
{
	ssize_t len = readlink("/proc/self/exe", dir, sizeof dir - 40);

	ck_assert_int_gt(len, 0);
	snprintf(dir + len, sizeof dir - len, ".%d", (int)getpid());
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	snprintf(root, sizeof root, "%s/cache", dir);
	table_cache_open(&cache, root);
	ck_assert_int_ge(cache.dir, 0);
	int fd = open(program, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(unwind_table_build(fd, &truth, NULL), 0);
	close(fd);
}

static void teardown(void)
{
	unwind_table_done(&truth);
	table_cache_close(&cache);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void is_truth(const struct unwind_table *t)
{
	ck_assert_mem_eq(&t->ref, &truth.ref, sizeof t->ref);
	ck_assert_uint_eq(t->n_rules, truth.n_rules);
	ck_assert_uint_eq(t->image.len, truth.image.len);
	ck_assert_mem_eq(t->image.data, truth.image.data, truth.image.len);
}

/* Builds or loads the table of a file, and compares it with the truth. */
static void take(const char *path)
{
	struct unwind_table t;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(table_cache_build(&cache, fd, &t, NULL), 0);
	close(fd);
	is_truth(&t);
	unwind_table_done(&t);
	n_saved = table_cache_settle(&cache);
}

static void counts(uint64_t loaded, uint64_t saved, uint64_t damaged)
{
	ck_assert_uint_eq(cache.stats.loaded, loaded);
	ck_assert_uint_eq(n_saved, saved);
	ck_assert_uint_eq(cache.stats.damaged, damaged);
}

static bool can_save(void)
{
	settle(program);
	take(program);
	return n_saved == 1;
}

#define NEEDS_DISK "the build directory is on a file system in memory"

START_TEST(a_second_run_loads)
{
	setup();
	if (!can_save()) {
		teardown();
		T_SKIP(NEEDS_DISK);
	}
	table_cache_close(&cache);
	table_cache_open(&cache, root);
	take(program);
	counts(1, 0, 0);
	teardown();
}
END_TEST

/* Its times could stay when it is changed once more. */
START_TEST(a_file_that_was_just_changed_is_not_saved)
{
	char copy[320];
	uint64_t changed_ns;
	int tries = 0;

	setup();
	snprintf(copy, sizeof copy, "%s/copy", dir);
	do { /* unless copying takes two seconds */
		cache.stats = (struct table_cache_stats){ 0 };
		copy_program(copy);
		changed_ns = clock_mono_ns();
		take(copy);
	} while (clock_mono_ns() - changed_ns >= FILE_SETTLED_NS / 2 && tries++ < 20);
	counts(0, 0, 0);
	teardown();
}
END_TEST

static char found[600];
static int note_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)at;
	if (type == FTW_F)
		snprintf(found, sizeof found, "%s", path);
	return 0;
}

static void damage(off_t at, const char *bytes, size_t n)
{
	int fd = open(found, O_RDWR | O_CLOEXEC);

	ck_assert_int_eq(pwrite(fd, bytes, n, at), n);
	close(fd);
}

/* Each is built again, and replaced. */
START_TEST(damaged_files_are_ignored_and_counted)
{
	struct stat st;
	uint64_t saved = 1;

	setup();
	if (!can_save()) {
		teardown();
		T_SKIP(NEEDS_DISK);
	}
	nftw(root, note_file, 8, FTW_PHYS);
	ck_assert_int_eq(stat(found, &st), 0);
	ck_assert_uint_eq(st.st_size, 160 + truth.image.len);
	const struct {
		off_t at;
		bool is_other; /* of another version or file: nothing wrong */
	} places[] = { { 0, false },         { 8, true },
		       { 12, true },         { 16, false },
		       { 24, false },        { 76, false },
		       { 144, false },       { 156, false },
		       { 160, false },       { st.st_size - 1, false },
		       { st.st_size, false } };
	uint64_t damaged = 0;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		char byte = 0;
		int fd = open(found, O_RDONLY | O_CLOEXEC);

		ck_assert_int_ge(pread(fd, &byte, 1, places[i].at), 0);
		close(fd);
		byte ^= 0x55;
		damage(places[i].at, &byte, 1);
		take(program);
		damaged += !places[i].is_other;
		counts(0, ++saved, damaged);
	}
	ck_assert_int_eq(truncate(found, 100), 0);
	take(program);
	ck_assert_int_eq(truncate(found, 0), 0);
	take(program);
	ck_assert_int_eq(truncate(found, st.st_size - 4096), 0);
	take(program);
	counts(0, saved + 3, damaged + 3);
	take(program);
	counts(1, saved + 3, damaged + 3);
	teardown();
}
END_TEST

/* Names of files in the cache are hashes: the file that is there may be another program's. */
/* Copies have the build id, size and bytes of this program, and another inode. */
static void copies(char paths[2][320])
{
	for (int i = 0; i < 2; i++) {
		snprintf(paths[i], 320, "%s/copy%d", dir, i);
		copy_program(paths[i]);
	}
	settle(paths[1]);
}

static void write_in_place(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(pwrite(fd, "\x7f", 1, 0), 1);
	ck_assert_int_eq(futimens(fd, (struct timespec[2]){ st.st_atim, st.st_mtim }), 0);
	close(fd);
}

/* Names of files in the cache are hashes: a file there may belong to another program. A file that was written in
 * place, with its size and time of writing put back, is another file. */
START_TEST(another_file_does_not_get_it)
{
	char copy[2][320], of_first[600];

	setup();
	copies(copy);
	take(copy[0]);
	if (!n_saved) {
		teardown();
		T_SKIP(NEEDS_DISK);
	}
	nftw(root, note_file, 8, FTW_PHYS);
	memcpy(of_first, found, sizeof found);
	ck_assert_int_eq(unlink(of_first), 0);
	take(copy[1]);
	counts(0, 2, 0);
	nftw(root, note_file, 8, FTW_PHYS);
	ck_assert_int_eq(rename(found, of_first), 0);
	take(copy[0]);
	counts(0, 3, 0);
	write_in_place(copy[0]);
	take(copy[0]);
	counts(0, 3, 0);
	settle(copy[0]);
	take(copy[0]);
	counts(0, 4, 0);
	take(copy[0]);
	counts(1, 4, 0);
	teardown();
}
END_TEST

/* Opening files there waits until the descriptor is closed, as on a disk that does not respond. -1: not possible here. */
static int hang_opening(const char *file)
{
	char path[600];
	int fd = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY);

	snprintf(path, sizeof path, "%s", file);
	if (fd >= 0 && fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN_PERM | FAN_EVENT_ON_CHILD, AT_FDCWD,
				     dirname(path)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

START_TEST(a_disk_that_does_not_respond_delays_no_end)
{
	struct unwind_table t;
	int hung = -1;

	setup();
	if (can_save()) {
		nftw(root, note_file, 8, FTW_PHYS);
		ck_assert_int_eq(unlink(found), 0);
		hung = hang_opening(found);
	}
	if (hung < 0) {
		teardown();
		T_SKIP(NEEDS_DISK ", or no right to delay others");
	}
	int fd = open(program, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(table_cache_build(&cache, fd, &t, NULL), 0);
	close(fd);
	unwind_table_done(&t);
	table_cache_close(&cache);
	ck_assert_int_ne(access(found, F_OK), 0);
	close(hung);
	for (int i = 0; i < 30000 && access(found, F_OK); i++)
		usleep(1000);
	ck_assert_int_eq(access(found, F_OK), 0); /* in the same directory */
	teardown();
}
END_TEST

START_TEST(without_a_directory_nothing_is_saved)
{
	setup();
	table_cache_close(&cache);
	table_cache_open(&cache, NULL);
	settle(program);
	take(program);
	take(program);
	counts(0, 0, 0);
	teardown();
}
END_TEST

UNIT_MAIN("table_cache", a_disk_that_does_not_respond_delays_no_end, a_second_run_loads,
	  a_file_that_was_just_changed_is_not_saved, another_file_does_not_get_it,
	  damaged_files_are_ignored_and_counted, without_a_directory_nothing_is_saved)
