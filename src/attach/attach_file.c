/* Makes and removes files in a process's /tmp. */
#include "attach/attach_file.h"

#include "base/clock.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Links cannot lead out of the process's root. */
static int open_tmp(uint32_t pid)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	char path[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/root", pid);
	int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	int dir = syscall(SYS_openat2, root, "tmp", &how, sizeof how);
	int rc = dir < 0 ? -errno : dir;
	close(root);
	return rc;
}

void attach_file_drop(struct attach_file *f)
{
	if (f->fd >= 0) {
		unlinkat(f->dir, f->path + strlen("/tmp/"), 0);
		close(f->fd);
	}
	if (f->dir >= 0)
		close(f->dir);
	f->fd = f->dir = -1;
}

int attach_file_make(uint32_t pid, const char *name, struct attach_file *f, struct err *err)
{
	char proc[32];
	struct stat owner;
	int dir = open_tmp(pid);

	if (dir < 0)
		return err_set(err, -dir, "cannot open /tmp of process %" PRIu32 ": %s", pid,
			       strerror(-dir));
	snprintf(f->path, sizeof f->path, "/tmp/%.60s.%" PRIu32 ".%" PRIx64, name, pid,
		 clock_mono_ns());
	snprintf(proc, sizeof proc, "/proc/%" PRIu32, pid);
	f->dir = dir;
	f->fd = openat(dir, f->path + strlen("/tmp/"),
		       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc = f->fd < 0 ? -errno : 0;
	if (rc == 0 && (stat(proc, &owner) < 0 || fchown(f->fd, owner.st_uid, owner.st_gid) < 0))
		rc = -errno;
	if (rc == 0)
		return 0;
	err_set(err, -rc, "cannot make a file in /tmp of process %" PRIu32 ": %s", pid,
		strerror(-rc));
	attach_file_drop(f);
	return rc;
}
