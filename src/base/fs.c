/* Reads files up to a limit. Files are written under a temporary name, then renamed. */
#include "base/fs.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include <zlib.h>

enum { FS_CHUNK = 64 * 1024 };

/* Makes space for the next piece in b, which may grow from start to start + max: at least one byte
 * unless it is full. Capacity doubles, but never past the limit. */
static size_t fs_room(struct buf *b, size_t start, size_t max)
{
	size_t limit = max > SIZE_MAX - start ? SIZE_MAX : start + max;
	if (b->len < b->cap)
		return (b->cap < limit ? b->cap : limit) - b->len;
	size_t cap = b->cap < SIZE_MAX / 2 ? 2 * b->cap : limit;
	cap = cap < b->len + FS_CHUNK ? b->len + FS_CHUNK : cap;
	cap = cap > limit ? limit : cap;
	if (cap > b->cap) {
		b->data = xrealloc(b->data, cap);
		b->cap = cap;
	}
	return cap - b->len;
}

static ssize_t fs_read_some(int fd, void *data, size_t size)
{
	ssize_t n;
	do
		n = read(fd, data, size < SSIZE_MAX ? size : SSIZE_MAX);
	while (n < 0 && errno == EINTR);
	return n;
}

int fs_write_fd(int fd, const void *data, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, (const char *)data + done, len - done);
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? n : 0;
	}
	return 0;
}

static int fs_too_large(const char *name, size_t max, struct err *err)
{
	return err_set(err, EFBIG, "%s is larger than %zu bytes", name, max);
}

static int fs_read_named(int fd, const char *name, size_t max, struct buf *b, struct err *err)
{
	size_t start = b->len;
	for (;;) {
		char extra;
		size_t room = fs_room(b, start, max);
		ssize_t n = fs_read_some(fd, room ? b->data + b->len : &extra, room ? room : 1);
		if (n == 0)
			return 0;
		if (n > 0 && room > 0) {
			b->len += n;
			continue;
		}
		b->len = start;
		if (n > 0)
			return fs_too_large(name, max, err);
		return err_set(err, errno, "cannot read %s: %s", name, strerror(errno));
	}
}

int fs_read_fd(int fd, size_t max, struct buf *b, struct err *err)
{
	return fs_read_named(fd, "the input", max, b, err);
}

int fs_read_at(int dirfd, const char *path, size_t max, struct buf *b, struct err *err)
{
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return err_set(err, errno, "cannot open %s: %s", path, strerror(errno));
	int rc = fs_read_named(fd, path, max, b, err);
	close(fd);
	return rc;
}

int fs_read_line(const char *path, char *line, size_t size)
{
	size_t len = 0;
	ssize_t n = 1;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int rc = fd < 0 ? -errno : 0;
	line[0] = '\0';
	while (rc == 0 && n > 0 && len + 1 < size && !memchr(line, '\n', len)) {
		n = fs_read_some(fd, line + len, size - 1 - len);
		rc = n < 0 ? -errno : 0;
		len += n > 0 ? n : 0;
	}
	line[rc ? 0 : len] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (fd >= 0)
		close(fd);
	return rc;
}

int fs_unpack(struct buf *b, size_t max, struct err *err)
{
	enum unpack_kind kind = unpack_detect(b->data, b->len);
	if (kind == UNPACK_NONE)
		return 0;
	struct unpack *u = unpack_new(kind);
	struct cur in = cur_of(b->data, b->len);
	struct buf plain = { 0 };
	int rc = 1;
	while (rc == 1) {
		char extra;
		size_t room = fs_room(&plain, 0, max), got;
		rc = unpack_step(u, &in, true, room ? plain.data + plain.len : &extra,
				 room ? room : 1, &got, err);
		if (rc >= 0 && got > 0 && room == 0)
			rc = fs_too_large("the decompressed data", max, err);
		else
			plain.len += room ? got : 0;
	}
	unpack_free(u);
	if (rc == 0) {
		struct buf packed = *b;
		*b = plain;
		plain = packed;
	}
	buf_done(&plain);
	return rc;
}

static int gzip_at(int level, const void *data, size_t len, struct buf *out)
{
	enum { GZIP_WRAPPER = 16, MEM_LEVEL = 8 };
	z_stream z = { .next_in = (void *)data };
	if (deflateInit2(&z, level, Z_DEFLATED, MAX_WBITS + GZIP_WRAPPER, MEM_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	int rc = Z_OK;
	while (rc != Z_STREAM_END) {
		if (z.avail_in == 0) { /* zlib counts in 32 bits: pass larger input in pieces */
			z.avail_in = len < UINT_MAX ? len : UINT_MAX;
			len -= z.avail_in;
		}
		buf_reserve(out, FS_CHUNK);
		z.next_out = (Bytef *)out->data + out->len;
		z.avail_out = FS_CHUNK;
		rc = deflate(&z, len ? Z_NO_FLUSH : Z_FINISH);
		out->len += FS_CHUNK - z.avail_out;
	}
	deflateEnd(&z);
	return 0;
}

int fs_gzip(const void *data, size_t len, struct buf *out)
{
	return gzip_at(6, data, len, out);
}

int fs_gzip_fast(const void *data, size_t len, struct buf *out)
{
	return gzip_at(1, data, len, out);
}

int fs_open_unnamed(struct err *err)
{
	const char *dir = getenv("TMPDIR");
	char *path = xasprintf("%s/cresset-XXXXXX", dir && *dir ? dir : "/tmp");
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd < 0)
		fd = err_set(err, errno, "cannot create %s: %s", path, strerror(errno));
	else
		unlink(path);
	free(path);
	return fd;
}

/* "a/b/" and "a/b" are in "a"; "b" is in ".". */
static char *dir_of(const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	while (len && path[len - 1] != '/')
		len--;
	while (len > 1 && path[len - 1] == '/')
		len--;
	return len ? xasprintf("%.*s", (int)len, path) : xstrdup(".");
}

int fs_sync_dir_of(const char *path, struct err *err)
{
	char *dir = dir_of(path);
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = 0;

	/* Ignore directories without read permission, and file systems without fsync. */
	if ((fd < 0 || fsync(fd)) && errno != EACCES && errno != EINVAL && errno != EROFS)
		rc = err_set(err, errno, "cannot write %s to the disk: %s", dir, strerror(errno));
	if (fd >= 0)
		close(fd);
	free(dir);
	return rc;
}
