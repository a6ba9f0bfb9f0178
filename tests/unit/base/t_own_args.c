// tier: test
/* A process hides its command line, and its heap and environment stay as they are. */
#include "base/own_args.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static ssize_t args_bytes(void)
{
	char text[4096];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof text);

	close(fd);
	return n;
}

START_TEST(they_are_hidden)
{
	const char *path = getenv("PATH");

	ck_assert_int_gt(args_bytes(), 0);
	int rc = own_args_hide();

	if (rc == -EINVAL || rc == -EPERM)
		T_SKIP("this kernel cannot (CONFIG_CHECKPOINT_RESTORE)");
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(args_bytes(), 0);
	ck_assert_ptr_eq(getenv("PATH"), path);
	ck_assert_ptr_ne(sbrk(1 << 20), (void *)-1);
	char *block = malloc(100000);
	ck_assert_ptr_nonnull(block);
	memset(block, 1, 100000);
	free(block);
}
END_TEST

UNIT_MAIN("own_args", they_are_hidden)
