// tier: test
/* Decompressed debug sections on disk: they come back unchanged, for the same file only, and lines are the same with and without the cache. */
#include "shell.h"
#include "symbol/dwarf/section_cache.h"
#include "symbol/elf/elf_file.h"
#include "symbol/symbol.h"

#include "base/clock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { BYTES = 3 * SECTION_CACHE_MIN + 5, FUNCTIONS = 1500 };
static const struct section_place place = { .offset = 4711, .packed_bytes = 99, .bytes = BYTES };

/* In the directory of this program: /tmp may be a file system in memory, and nothing of it is stored. */
static char dir[256], root[300], copy[300];
static char file[300]; /* read for sections: this program, which is settled, or the copy */
static uint8_t content[BYTES], got[BYTES];

static void settle(const char *path)
{
	struct stat st;
	uint64_t end_ns = clock_mono_ns() + 60000000000ull;

	ck_assert_int_eq(stat(path, &st), 0);
	while ((int64_t)clock_wall_ns() <
	       st.st_ctim.tv_sec * 1000000000ll + st.st_ctim.tv_nsec + FILE_SETTLED_NS) {
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
	snprintf(copy, sizeof copy, "%s/copy", dir);
	ck_assert_int_eq(readlink("/proc/self/exe", file, sizeof file - 1), len);
	file[len] = '\0';
	for (size_t i = 0; i < BYTES; i++)
		content[i] = i * 7 + i / 256;
}

static void teardown(void)
{
	shell_do("rm -rf %s", dir);
}

/* Returns whether something can be stored. */
static bool open_cache(struct section_cache *c, struct elf_file *f)
{
	ck_assert_int_eq(elf_file_open(f, file_open(file), NULL), 0);
	section_cache_open(c, cache_dir_open(root, SECTION_CACHE, NULL), f);
	return c->build_id_len;
}

static void close_cache(struct section_cache *c, struct elf_file *f)
{
	section_cache_close(c);
	close(f->fd);
	elf_file_close(f);
}

static bool load(const struct section_cache *c)
{
	memset(got, 0, sizeof got);
	if (!section_cache_load(c, &place, got))
		return false;
	ck_assert_mem_eq(got, content, BYTES);
	return true;
}

/* The only file of the cache; the caller frees it. */
static char *stored_file(void)
{
	char *text = shell("find %s -type f", root);

	text[strcspn(text, "\n")] = '\0';
	ck_assert(*text);
	return text;
}

#define NEEDS_DISK "the build directory is on a file system in memory"
#define SETUP_OR_SKIP(c, f) \
	do { \
		setup(); \
		settle(file); \
		if (!open_cache(c, f)) { \
			close_cache(c, f); \
			teardown(); \
			T_SKIP(NEEDS_DISK); \
		} \
	} while (0)

START_TEST(comes_back)
{
	struct section_cache c;
	struct elf_file f;

	SETUP_OR_SKIP(&c, &f);
	ck_assert(!load(&c));
	section_cache_save(&c, &place, f.fd, content);
	ck_assert(load(&c));
	close_cache(&c, &f);
	open_cache(&c, &f);
	ck_assert(load(&c));
	close_cache(&c, &f);
	ck_assert(!load(&c)); /* a zeroed one */
	teardown();
}
END_TEST

START_TEST(damage_is_noticed)
{
	struct section_cache c;
	struct elf_file f;

	SETUP_OR_SKIP(&c, &f);
	section_cache_save(&c, &place, f.fd, content);
	char *path = stored_file();
	int fd = open(path, O_RDWR | O_CLOEXEC);
	off_t size = lseek(fd, 0, SEEK_END);
	ck_assert_int_eq(size, 160 + BYTES);
	for (off_t at = 0; at < size; at += at < 160 ? 1 : 9973) {
		uint8_t byte, other;

		ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
		other = byte ^ 0x10;
		ck_assert_int_eq(pwrite(fd, &other, 1, at), 1);
		ck_assert_msg(!load(&c), "byte %d", (int)at);
		ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	}
	ck_assert(load(&c));
	ck_assert_int_eq(pwrite(fd, "", 1, size), 1);
	ck_assert(!load(&c));
	for (off_t len = size - 1; len >= 0; len = len > 200 ? len / 2 : len - 1) {
		ck_assert_int_eq(ftruncate(fd, len), 0);
		ck_assert(!load(&c));
	}
	section_cache_save(&c, &place, f.fd, content);
	ck_assert(load(&c));
	close(fd);
	free(path);
	close_cache(&c, &f);
	teardown();
}
END_TEST

/* Names of files in the cache are hashes: another file or section may have the same. */
START_TEST(only_of_the_same_file)
{
	struct section_cache c, other;
	struct elf_file f;
	struct section_place elsewhere = place;

	SETUP_OR_SKIP(&c, &f);
	section_cache_save(&c, &place, f.fd, content);
	other = c;
	other.build_id[1] ^= 1;
	ck_assert(!section_cache_load(&other, &place, got));
	other = c;
	other.file.ctime_ns++;
	ck_assert(!section_cache_load(&other, &place, got));
	elsewhere.offset++;
	ck_assert(!section_cache_load(&c, &elsewhere, got));
	char *path = stored_file();
	section_cache_save(&c, &elsewhere, f.fd, content);
	char *both = shell("find %s -type f ! -path %s", root, path);
	both[strcspn(both, "\n")] = '\0';
	ck_assert_int_eq(rename(both, path), 0);
	ck_assert(!load(&c));
	free(both);
	free(path);
	close_cache(&c, &f);
	teardown();
}
END_TEST

START_TEST(a_changed_file_is_not_stored)
{
	struct section_cache c;
	struct elf_file f;

	SETUP_OR_SKIP(&c, &f);
	close_cache(&c, &f);
	shell_do("cp %s %s", file, copy);
	snprintf(file, sizeof file, "%s", copy);
	settle(file);
	ck_assert(open_cache(&c, &f));
	shell_do("touch -r /proc/self/exe %s", copy);
	section_cache_save(&c, &place, f.fd, content);
	ck_assert(!load(&c));
	close_cache(&c, &f);
	ck_assert(!open_cache(&c, &f)); /* another change may leave its times as they are */
	section_cache_save(&c, &place, f.fd, content);
	ck_assert(!load(&c));
	close_cache(&c, &f);
	teardown();
}
END_TEST

START_TEST(small_and_large_sections_are_not_stored)
{
	struct section_place small = { .bytes = SECTION_CACHE_MIN - 1 },
			     large = { .bytes = SECTION_CACHE_SECTION_BYTES + 1 };
	struct section_cache c;
	struct elf_file f;

	SETUP_OR_SKIP(&c, &f);
	section_cache_save(&c, &small, f.fd, content);
	section_cache_save(&c, &large, f.fd, content);
	ck_assert(!section_cache_load(&c, &small, got));
	ck_assert(!section_cache_load(&c, &large, got));
	char *text = shell("find %s -type f", root);
	ck_assert_str_eq(text, "");
	free(text);
	close_cache(&c, &f);
	teardown();
}
END_TEST

START_TEST(another_users_file_is_not_read)
{
	struct section_cache c;
	struct elf_file f;

	if (geteuid() != 0)
		T_SKIP("files of another user need root");
	SETUP_OR_SKIP(&c, &f);
	section_cache_save(&c, &place, f.fd, content);
	char *path = stored_file();
	ck_assert_int_eq(chown(path, 12345, 12345), 0);
	ck_assert(!load(&c));
	ck_assert_int_eq(chown(path, 0, 0), 0);
	ck_assert_int_eq(chmod(path, 0666), 0);
	ck_assert(!load(&c));
	free(path);
	close_cache(&c, &f);
	teardown();
}
END_TEST

/* Writes fail in the middle, as on a full disk. */
START_TEST(a_full_disk_leaves_nothing)
{
	const struct rlimit limit = { BYTES / 2, RLIM_INFINITY };
	struct section_cache c;
	struct elf_file f;

	SETUP_OR_SKIP(&c, &f);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	section_cache_save(&c, &place, f.fd, content);
	ck_assert(!load(&c));
	char *text = shell("find %s -type f", root);
	ck_assert_str_eq(text, "");
	free(text);
	close_cache(&c, &f);
	teardown();
}
END_TEST

START_TEST(several_processes_together)
{
	enum { PROCESSES = 4, TIMES = 100 };
	struct section_cache c;
	struct elf_file f;
	int status;

	SETUP_OR_SKIP(&c, &f);
	section_cache_save(&c, &place, f.fd, content);
	for (int i = 0; i < PROCESSES; i++) {
		if (fork())
			continue;
		for (int k = 0; k < TIMES; k++) {
			section_cache_save(&c, &place, f.fd, content);
			if (!section_cache_load(&c, &place, got) || memcmp(got, content, BYTES))
				_exit(1);
		}
		_exit(0);
	}
	for (int i = 0; i < PROCESSES; i++) {
		ck_assert_int_gt(wait(&status), 0);
		ck_assert_int_eq(status, 0);
	}
	free(stored_file());
	close_cache(&c, &f);
	teardown();
}
END_TEST

/* --- lines ------------------------------------------------------------------------------------------------------------ */

static void build(void)
{
	shell_do("cd %s && for i in $(seq %d); do echo \"static inline int in$i(int x) { return x "
		 "* $i + 1; }"
		 " int out$i(int x) { return in$i(x) ^ in$i(x + $i); }\"; done >p.c && echo 'int "
		 "main(void) { return out7(1); }' >>p.c &&"
		 " gcc -O2 -g -gz -Wl,--build-id p.c -o copy",
		 dir, FUNCTIONS);
}

static int locate(void *ctx, const struct debug_request *req, unsigned attempt)
{
	(void)attempt;
	return req->kind == DEBUG_SECTION_CACHE ? cache_dir_open(ctx, SECTION_CACHE, NULL) : -1;
}

/* The chains of all functions; cache: the directory of all caches, or NULL. The caller frees them. */
static char *all_lines(char *cache)
{
	struct symbol_source *source;
	struct symbol_line lines[8];
	int fd = file_open(file);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	ck_assert_int_eq(symbol_open_elf(fd, cache ? locate : NULL, cache, &source, NULL), 0);
	for (uint64_t at = 0x1000; at < 0x1000 + FUNCTIONS * 8; at += 5) {
		uint32_t n = symbol_lines(source, at, lines, 8);

		for (uint32_t i = 0; i < n; i++)
			fprintf(out, "%#x %s %s:%u %u\n", (unsigned)at, lines[i].name,
				lines[i].file ? lines[i].file : "", lines[i].line,
				lines[i].start_line);
	}
	fclose(out);
	symbol_close(source);
	close(fd);
	return text;
}

START_TEST(lines_are_the_same)
{
	setup();
	build();
	snprintf(file, sizeof file, "%s", copy);
	settle(file);
	char *without = all_lines(NULL), *first = all_lines(root);
	char *files = shell("find %s -type f", root);
	if (!*files) {
		teardown();
		T_SKIP(NEEDS_DISK);
	}
	ck_assert_ptr_nonnull(strstr(without, "in7 "));
	ck_assert_str_eq(first, without);
	char *second = all_lines(root);
	ck_assert_str_eq(second, without);
	shell_do("for f in $(find %s -type f); do printf x | dd of=$f bs=1 seek=5000 conv=notrunc "
		 "status=none; done",
		 root);
	char *damaged = all_lines(root);
	ck_assert_str_eq(damaged, without);
	char *kept = shell("find %s -type f", root);
	ck_assert_str_eq(kept, files);
	free(kept);
	free(damaged);
	free(second);
	free(files);
	free(first);
	free(without);
	teardown();
}
END_TEST

UNIT_MAIN("section_cache", a_changed_file_is_not_stored, a_full_disk_leaves_nothing,
	  another_users_file_is_not_read, comes_back, damage_is_noticed, lines_are_the_same,
	  only_of_the_same_file, several_processes_together,
	  small_and_large_sections_are_not_stored)
