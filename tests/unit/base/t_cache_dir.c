// tier: test
#include "base/cache_dir.h"
#include "base/err.h"
#include "shell.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char key[] = "\x12\x34\x56\x78\x9a";
enum { KEY_LEN = 5 };

static int open_below(const char *dir, const char *name)
{
	char root[64];
	struct err err = { 0 };
	snprintf(root, sizeof root, "%s/a/b", dir);
	int fd = cache_dir_open(root, name, &err);
	ck_assert_msg(fd >= 0, "%s", err.text);
	return fd;
}

static int put(int dir, const void *name, size_t len, const char *text)
{
	struct cache_file f;
	int rc = cache_file_create(dir, name, len, ".x", &f);
	if (rc)
		return rc;
	ck_assert_int_eq(write(f.fd, text, strlen(text)), strlen(text));
	return cache_file_commit(&f, false);
}

static char *get(int dir, const void *name, size_t len)
{
	static char text[64];
	int fd = cache_file_open(dir, name, len, ".x");
	if (fd < 0)
		return NULL;
	ssize_t n = read(fd, text, sizeof text - 1);
	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	close(fd);
	return text;
}

START_TEST(stored_files_are_there)
{
	char dir[32];
	temp_dir(dir);
	int fd = open_below(dir, "names");
	ck_assert_ptr_null(get(fd, key, KEY_LEN));
	ck_assert_int_eq(put(fd, key, KEY_LEN, "one"), 0);
	ck_assert_str_eq(get(fd, key, KEY_LEN), "one");
	ck_assert_int_eq(put(fd, key, KEY_LEN, "two"), 0);
	ck_assert_str_eq(get(fd, key, KEY_LEN), "two");
	ck_assert_int_eq(put(fd, key, KEY_LEN - 1, "shorter"), 0);
	ck_assert_str_eq(get(fd, key, KEY_LEN), "two");
	shell_do("test -f %s/a/b/names/12/3456789a.x", dir);
	/* An aborted write keeps the old file, and leaves nothing of the new one. */
	struct cache_file f;
	ck_assert_int_eq(cache_file_create(fd, key, KEY_LEN, ".x", &f), 0);
	cache_file_abort(&f);
	ck_assert_str_eq(get(fd, key, KEY_LEN), "two");
	shell_do("test $(find %s -type f | wc -l) = 2", dir);
	/* Keys that are no valid names. */
	char long_key[CACHE_MAX_KEY + 1] = "";
	ck_assert_int_eq(put(fd, long_key, CACHE_MAX_KEY, "long"), 0);
	ck_assert_int_eq(put(fd, long_key, CACHE_MAX_KEY + 1, "longer"), -ENAMETOOLONG);
	ck_assert_int_eq(put(fd, key, 1, "short"), -ENAMETOOLONG);
	close(fd);
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(unsafe_directories_are_refused)
{
	char dir[32], root[64];
	struct err err = { 0 };
	temp_dir(dir);
	snprintf(root, sizeof root, "%s/a/b", dir);
	close(open_below(dir, "names"));
	shell_do("chmod g+w %s", root);
	ck_assert_int_eq(cache_dir_open(root, "names", &err), -EPERM);
	ck_assert(strstr(err.text, root));
	shell_do("chmod g-w %s && chmod o+w %s/names", root, root);
	ck_assert_int_eq(cache_dir_open(root, "names", &err), -EPERM);
	shell_do("chmod o-w %s/names", root);
	int fd = open_below(dir, "names");
	ck_assert_int_eq(put(fd, key, KEY_LEN, "one"), 0);
	shell_do("chmod o+w %s/names/12/*", root);
	ck_assert_int_eq(cache_file_open(fd, key, KEY_LEN, ".x"), -EPERM);
	/* A link is not followed, and a pipe does not block. */
	shell_do("cd %s/names/12 && rm * && ln -s /etc/passwd 3456789a.x", root);
	ck_assert_int_eq(cache_file_open(fd, key, KEY_LEN, ".x"), -ELOOP);
	ck_assert_int_eq(put(fd, key, KEY_LEN, "replaced"), 0);
	ck_assert_str_eq(get(fd, key, KEY_LEN), "replaced");
	shell_do("cd %s/names/12 && rm * && mkfifo -m 600 3456789a.x", root);
	ck_assert_int_eq(cache_file_open(fd, key, KEY_LEN, ".x"), -EPERM);
	close(fd);
	shell_do("rm -r %s/names && ln -s /tmp %s/names", root, root);
	ck_assert_int_lt(cache_dir_open(root, "names", &err), 0);
	if (getuid() == 0) {
		shell_do("rm %s/names && mkdir %s/names && chown 65534 %s/names", root, root, root);
		ck_assert_int_eq(cache_dir_open(root, "names", &err), -EPERM);
	}
	ck_assert_int_lt(cache_dir_open("/proc/nowhere", "names", &err), 0);
	shell_do("rm -r %s", dir);
}
END_TEST

/* Times of use are in the past, so that a read is later than all. */
START_TEST(the_least_recently_used_go_first)
{
	char dir[32], text[8192];
	temp_dir(dir);
	int fd = open_below(dir, "names");
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	for (uint8_t i = 0; i < 16; i++) {
		uint8_t name[2] = { i, i };
		ck_assert_int_eq(put(fd, name, 2, text), 0);
		shell_do("touch -d '%d minutes ago' %s/a/b/names/%02x/%02x.x", 100 - i, dir, i, i);
	}
	cache_dir_trim(fd, 16 * 8192);
	shell_do("test $(find %s -type f | wc -l) = 16", dir);
	get(fd, "\0\0", 2); /* the oldest is used */
	cache_dir_trim(fd, 8 * 8192);
	char *left = shell("cd %s/a/b/names && find . -type f | sort | tr '\\n' ' '", dir);
	ck_assert_str_eq(left, "./00/00.x ./0b/0b.x ./0c/0c.x ./0d/0d.x ./0e/0e.x ./0f/0f.x ");
	free(left);
	cache_dir_trim(fd, 0);
	shell_do("test $(find %s -type f | wc -l) = 0", dir);
	close(fd);
	shell_do("rm -r %s", dir);
}
END_TEST

/* Readers concurrent with writers see one whole file or another. */
START_TEST(writers_and_readers_together)
{
	char dir[32];
	temp_dir(dir);
	int fd = open_below(dir, "names");
	ck_assert_int_eq(put(fd, key, KEY_LEN, "start"), 0);
	shell_do("true");
	pid_t writers[4];
	for (int w = 0; w < 4; w++) {
		writers[w] = fork();
		if (writers[w] == 0) {
			char text[32];
			for (int i = 0; i < 300; i++) {
				snprintf(text, sizeof text, "writer %d writes %03d", w, i);
				put(fd, key, KEY_LEN, text);
			}
			_exit(0);
		}
	}
	for (int i = 0; i < 2000; i++) {
		const char *text = get(fd, key, KEY_LEN);
		ck_assert_ptr_nonnull(text);
		ck_assert_msg(!strcmp(text, "start") || strlen(text) == 19, "%s", text);
	}
	for (int w = 0; w < 4; w++)
		ck_assert_int_eq(waitpid(writers[w], NULL, 0), writers[w]);
	shell_do("test $(find %s -type f | wc -l) = 1", dir);
	close(fd);
	shell_do("rm -r %s", dir);
}
END_TEST

UNIT_MAIN("cache_dir", stored_files_are_there, unsafe_directories_are_refused,
	  the_least_recently_used_go_first, writers_and_readers_together)
