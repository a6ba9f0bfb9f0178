// tier: test
/* Which file systems may hang, according to the kernel's list. */
#include "collect/worker/far_device.h"

#include "base/buf.h"
#include "shell.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static int near(const char *line, bool other_user_ns)
{
	return mount_line_is_near(line, strlen(line), 0, 45, other_user_ns);
}

START_TEST(lines)
{
	ck_assert_int_eq(
		near("36 35 0:45 / /mnt rw,noatime shared:1 master:2 - tmpfs tmpfs rw", false), 1);
	ck_assert_int_eq(near("36 35 0:45 / /mnt rw - nfs4 server:/x rw,vers=4.2", false), 0);
	ck_assert_int_eq(near("36 35 0:45 / /mnt rw shared:1 - fuse.sshfs a:/ rw", false), 0);
	ck_assert_int_eq(near("36 35 0:45 / /mnt rw - fuse tmpfs rw", false), 0);
	ck_assert_int_eq(near("36 35 0:45 / /mnt rw - 9p x rw", false), 0);
	ck_assert_int_eq(near("36 35 0:45 / / rw - overlay overlay rw,lowerdir=/a", false), 1);
	ck_assert_int_eq(near("36 35 0:45 / / rw - overlay overlay rw,lowerdir=/a", true), 0);
	ck_assert_int_eq(near("36 35 0:45 /a\\040-\\040tmpfs /m rw - cifs //a/b rw", false), 0);
	ck_assert_int_eq(near("36 35 0:46 / /mnt rw - tmpfs tmpfs rw", false), -1);
	ck_assert_int_eq(near("36 35 0:4 / /mnt rw - tmpfs tmpfs rw", false), -1);
	ck_assert_int_eq(near("36 35 0:451 / /mnt rw - tmpfs tmpfs rw", false), -1);
}
END_TEST

START_TEST(cut_anywhere)
{
	static const char line[] = "36 35 0:45 / /mnt rw shared:1 - nfs4 server:/x rw";

	for (size_t len = 0; len < sizeof line; len++)
		ck_assert_int_ne(mount_line_is_near(line, len, 0, 45, false), 1);
}
END_TEST

/* A user who has made very many mounts makes nobody look through all of them. */
START_TEST(very_many)
{
	struct buf b = { 0 };

	for (int i = 0; i < 100000; i++)
		buf_addf(&b, "%d 35 0:%d / /%060d rw - tmpfs tmpfs rw\n", i, i, i);
	ck_assert_uint_gt(b.len, 2 * FAR_MAX_MOUNTS_BYTES);
	int fd = file_of(b.data, b.len);
	ck_assert(mounts_are_near(fd, 0, 10000, false));
	ck_assert(!mounts_are_near(fd, 0, 99999, false));
	buf_done(&b);
	close(fd);
}
END_TEST

START_TEST(here)
{
	struct stat st;
	int fd = file_of("x", 1);

	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert(!device_is_far(getpid(), major(st.st_dev), minor(st.st_dev)));
	close(fd);
	ck_assert_int_eq(stat("/proc", &st), 0); /* it contains no program files */
	ck_assert(device_is_far(getpid(), major(st.st_dev), minor(st.st_dev)));
	ck_assert(device_is_far(getpid(), 0, 999999));
	ck_assert(!device_is_near_here(0, 999999));
	ck_assert(device_is_near_here(8, 1));
	int memory = memfd_create("x", MFD_CLOEXEC);
	ck_assert_int_eq(fstat(memory, &st), 0);
	ck_assert(device_is_near_here(major(st.st_dev), minor(st.st_dev)));
	close(memory);
	ck_assert(!device_is_far(getpid(), 8, 1)); /* of blocks */
}
END_TEST

UNIT_MAIN("far_device", lines, cut_anywhere, very_many, here)
