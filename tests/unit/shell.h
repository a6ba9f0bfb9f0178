/* tests/unit/shell.h: runs other programs as witnesses and reads their output; temporary files. */
#ifndef CRESSET_TESTS_SHELL_H
#define CRESSET_TESTS_SHELL_H

#include "unit.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

/* Runs a shell command (up to 4 KiB) and returns its standard output, which the caller frees. Fails the test if the command fails. */
__attribute__((format(printf, 1, 2))) static inline char *shell(const char *fmt, ...)
{
	char command[4096];
	va_list ap;
	va_start(ap, fmt);
	int len = vsnprintf(command, sizeof command, fmt, ap);
	va_end(ap);
	ck_assert_int_lt(len, sizeof command);
	FILE *p = popen(command, "r");
	ck_assert_ptr_nonnull(p);
	size_t n = 0, cap = 1 << 16;
	char *text = malloc(cap);
	for (size_t got; (got = fread(text + n, 1, cap - n - 1, p)) > 0;) {
		n += got;
		if (n + 1 == cap)
			text = realloc(text, cap *= 2);
	}
	text[n] = '\0';
	ck_assert_msg(pclose(p) == 0, "%s", command);
	return text;
}

/* The same, only for its effect. */
#define shell_do(...) free(shell(__VA_ARGS__))

/* An open memory file with these bytes. */
static inline int file_of(const void *data, size_t len)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, data, len), len);
	return fd;
}

static inline int file_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_msg(fd >= 0, "%s", path);
	return fd;
}

/* Creates a directory under /tmp; end with shell_do("rm -rf %s", dir). */
static inline void temp_dir(char dir[32])
{
	snprintf(dir, 32, "/tmp/cresset-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

#endif
