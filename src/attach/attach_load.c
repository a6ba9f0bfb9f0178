/* Makes and removes files in a process's /tmp; fills the descriptor of the new thread, and waits
 * until it has loaded the library and ended. */
#include "attach/attach_load.h"

#include "attach/attach_call.h"
#include "attach/attach_code.h"
#include "base/clock.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* --- files ------------------------------------------------------------------------------------ */

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

/* --- the thread ------------------------------------------------------------------------------- */

#ifdef __x86_64__

enum { GO_LOAD = 1, GO_END = 2, NAP_NS = 200000 };

/* Writes the path first: the thread reads it once it may go. */
static int tell(const struct attach_load *l, int32_t go, const struct attach_words *w)
{
	char path[sizeof w->path] = "";

	snprintf(path, sizeof path, "/proc/self/task/%" PRIu32 "/fd/%" PRId32, w->tid, w->fd);
	if (pwrite(l->memory, path, sizeof path,
		   ATTACH_WORDS + offsetof(struct attach_words, path)) < 0 ||
	    pwrite(l->memory, &go, sizeof go, ATTACH_WORDS + offsetof(struct attach_words, go)) < 0)
		return -errno;
	return 0;
}

static int wait_stage(const struct attach_load *l, int32_t stage, uint64_t until_ns,
		      struct attach_words *w)
{
	struct timespec nap = { 0, NAP_NS };

	for (;;) {
		int rc = attach_words_read(l->memory, w);
		if (rc < 0 || w->stage >= stage)
			return rc;
		if (syscall(SYS_pidfd_send_signal, l->pidfd, 0, NULL, 0) < 0 && errno == ESRCH)
			return -ESRCH;
		if (clock_mono_ns() > until_ns)
			return -ETIMEDOUT;
		nanosleep(&nap, NULL);
	}
}

static int write_all(int fd, const uint8_t *p, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = pwrite(fd, p + at, len - at, at);
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += n;
	}
	return 0;
}

/* Takes the descriptor from the process as opened there, so that we can only write where the
 * process could write. */
static int fill(const struct attach_load *l, const struct attach_words *w, struct err *err)
{
	if (w->fd < 0)
		return err_set(err, EIO, "the process cannot open memory for the library: %s",
			       strerror(-w->fd));
	if (l->is_written)
		return 0;
	int fd = syscall(SYS_pidfd_getfd, l->pidfd, w->fd, 0);
	int rc = fd < 0 ? -errno : write_all(fd, l->image, l->size);
	if (fd >= 0)
		close(fd);
	return rc < 0 ? err_set(err, -rc, "cannot write the library: %s", strerror(-rc)) : 0;
}

int attach_load(const struct attach_load *l, struct err *err)
{
	uint64_t until_ns = clock_mono_ns() + l->limit_ns;
	struct attach_words w;
	int rc = wait_stage(l, ATTACH_OPENED, until_ns, &w);

	if (rc == 0) {
		rc = fill(l, &w, err);
		int told = tell(l, rc < 0 ? GO_END : GO_LOAD, &w);
		if (rc < 0)
			return rc;
		rc = told < 0 ? told : wait_stage(l, ATTACH_FINISHED, until_ns, &w);
	}
	if (rc == -ETIMEDOUT)
		return err_set(
			err, ETIMEDOUT,
			"the library is still loading: nothing was stopped, it may finish later");
	if (rc < 0)
		return err_set(err, -rc, "the process ended, or its shared memory did: %s",
			       strerror(-rc));
	if (!w.handle)
		return err_set(err, EIO, "the process cannot load the library: %s",
			       *w.error ? w.error : "dlopen does not say why");
	return 0;
}

#endif
