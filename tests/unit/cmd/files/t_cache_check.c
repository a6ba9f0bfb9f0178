// tier: test
/* Whether the directory of all caches can be written (cmd/files/names_env.c). */
#include "base/err.h"
#include "cmd/files/names_env.h"
#include "shell.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

/* In a private file system. */
START_TEST(unwritable_directories_are_reported)
{
	char dir[32], root[64];
	struct err err = { 0 };

	temp_dir(dir);
	snprintf(root, sizeof root, "%s/cache", dir);
	ck_assert_int_eq(cache_root_check(root, &err), 0);
	shell_do("chmod o+w %s/names", root);
	ck_assert_int_eq(cache_root_check(root, &err), -EPERM);
	shell_do("rm -r %s", root);
	if (getuid() || unshare(CLONE_NEWNS) || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, "size=2m,mode=0700")) {
		shell_do("rm -r %s", dir);
		T_SKIP("no right to mount file systems");
	}
	ck_assert_int_eq(cache_root_check(root, &err), 0);
	shell_do("head -c 1500000 /dev/zero >%s/large", dir);
	ck_assert_int_eq(cache_root_check(root, &err), -ENOSPC);
	ck_assert(strstr(err.text, root));
	shell_do("rm %s/large", dir);
	ck_assert_int_eq(cache_root_check(root, &err), 0);
	ck_assert_int_eq(mount("none", dir, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	ck_assert_int_eq(cache_root_check(root, &err), -EROFS);
	ck_assert_int_eq(umount(dir), 0);
	shell_do("rm -r %s", dir);
}
END_TEST

UNIT_MAIN("cache_check", unwritable_directories_are_reported)
