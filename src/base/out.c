/* An output file with a buffer: written under a temporary name, and renamed when complete. */
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OUT_PENDING_BYTES = 64 * 1024 };

static const char *out_name(const struct out *o)
{
	return o->path ? o->path : "standard output";
}

static int out_fail(struct out *o, int code, struct err *err)
{
	o->failed = code;
	return err_set(err, code, "cannot write %s: %s", out_name(o), strerror(code));
}

/* Creates the .tmp. An existing one is unlinked, not followed: it may be another user's link. */
static int out_create(struct out *o, const char *path)
{
	o->tmp = xasprintf("%s.tmp", path);
	unlink(o->tmp);
	return open(o->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

/* Whether a path must not be replaced by a file: devices, pipes, and links to descriptors
 * (/dev/stdout, /proc/self/fd/1). Any other link is replaced, not followed. */
static bool out_is_direct(const char *path)
{
	struct stat st;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return true;
	return (str_starts(path, "/dev/") || str_starts(path, "/proc/")) && lstat(path, &st) == 0 &&
	       S_ISLNK(st.st_mode);
}

int out_open(struct out *o, const char *path, struct err *err)
{
	*o = (struct out){ .fd = STDOUT_FILENO };
	if (strcmp(path, "-") == 0)
		return 0;
	o->path = xstrdup(path);
	if (out_is_direct(path))
		o->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	else
		o->fd = out_create(o, path);
	if (o->fd >= 0)
		return 0;
	int rc = err_set(err, errno, "cannot create %s: %s", path, strerror(errno));
	out_abort(o);
	return rc;
}

/* Writes all data; polls if another process left standard output non-blocking. */
static int out_write_fd(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);
		if (n < 0 && errno == EAGAIN)
			poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
		else if (n < 0 && errno != EINTR)
			return errno;
		data += n > 0 ? n : 0;
		len -= n > 0 ? n : 0;
	}
	return 0;
}

int out_flush(struct out *o, struct err *err)
{
	int code = o->failed ? o->failed : out_write_fd(o->fd, o->pending.data, o->pending.len);
	buf_clear(&o->pending);
	return code ? out_fail(o, code, err) : 0;
}

int out_write(struct out *o, const void *data, size_t len, struct err *err)
{
	if (o->pending.len + len > OUT_PENDING_BYTES) {
		int rc = out_flush(o, err);
		if (rc)
			return rc;
	}
	if (len < OUT_PENDING_BYTES) {
		buf_add(&o->pending, data, len);
		return 0;
	}
	int code = out_write_fd(o->fd, data, len);
	return code ? out_fail(o, code, err) : 0;
}

int out_commit(struct out *o, struct err *err)
{
	int rc = out_flush(o, err);
	if (o->path && close(o->fd) != 0 && rc == 0)
		rc = out_fail(o, errno, err);
	if (rc == 0 && o->tmp && rename(o->tmp, o->path) != 0)
		rc = err_set(err, errno, "cannot rename %s to %s: %s", o->tmp, o->path,
			     strerror(errno));
	if (rc == 0) {
		free(o->tmp);
		o->tmp = NULL;
	}
	o->fd = -1;
	out_abort(o);
	return rc;
}

void out_abort(struct out *o)
{
	if (o->path && o->fd >= 0)
		close(o->fd);
	if (o->tmp)
		unlink(o->tmp);
	free(o->path);
	free(o->tmp);
	buf_done(&o->pending);
	*o = (struct out){ .fd = -1 };
}
