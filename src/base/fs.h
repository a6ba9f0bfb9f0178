/* base/fs.h: reading and writing whole files.
 *
 * Input is read up to a named limit and may be compressed with gzip, zstd or xz (detected by
 * content). Output goes to NAME.tmp and is renamed by out_commit, so a failed run leaves no
 * partial file; "-" is standard output. A program that writes to a pipe must ignore SIGPIPE to see
 * EPIPE. */
#ifndef CRESSET_BASE_FS_H
#define CRESSET_BASE_FS_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

struct err;

/* Reads fd to its end and appends to b, which is unchanged on failure. -EFBIG past max bytes. */
int fs_read_fd(int fd, size_t max, struct buf *b, struct err *err);

/* Does the same for a path relative to dirfd (AT_FDCWD). Works for /proc, as it does not need the
 * size. Never blocks: a pipe without a writer is empty, one without data fails with -EAGAIN. */
int fs_read_at(int dirfd, const char *path, size_t max, struct buf *b, struct err *err);

/* Writes all of data at the file position, also after signals. Returns 0 or -errno. */
int fs_write_fd(int fd, const void *data, size_t len);

/* Reads the first line of a small file without its newline, truncated to size - 1 bytes (size > 0).
 * Returns 0 or -errno; line is "" on failure. */
int fs_read_line(const char *path, char *line, size_t size);

/* Syncs the directory of path: creations, renames and removals in it are on disk when this returns
 * 0. Does nothing if the file system cannot sync directories. */
int fs_sync_dir_of(const char *path, struct err *err);

/* Decompresses gzip (also several members), zstd or xz in place if the data starts like one of
 * them; other data is unchanged. -EFBIG past max (a bomb), -EBADMSG if damaged or truncated,
 * -E2BIG if the decoder would need too much memory; b is unchanged on failure. */
int fs_unpack(struct buf *b, size_t max, struct err *err);

/* Appends data as one gzip member: level 6, no name, time 0, so equal input gives equal output. */
int fs_gzip(const void *data, size_t len, struct buf *out);
/* Does the same at level 1: a third of the time, a fifth larger. */
int fs_gzip_fast(const void *data, size_t len, struct buf *out);

/* Opens a new unnamed file in $TMPDIR or /tmp for reading and writing; it is deleted when closed.
 * Returns the descriptor or -errno. */
int fs_open_unnamed(struct err *err);

/* A file being written. Devices, pipes and links to descriptors (/dev/null, /dev/stdout) are
 * written directly. */
struct out {
	int fd;
	int failed;       /* errno of the first failed write: nothing is written after it */
	char *path, *tmp; /* path is NULL for standard output, tmp if written directly */
	struct buf pending;
};

/* After a failure there is nothing to abort. */
int out_open(struct out *o, const char *path, struct err *err);

/* Buffered, 64 KiB. */
int out_write(struct out *o, const void *data, size_t len, struct err *err);

/* Writes buffered data to the kernel. */
int out_flush(struct out *o, struct err *err);

/* Flushes, closes, renames; always frees. After a failure, also of an earlier write, the .tmp is
 * removed and the old file unchanged. */
int out_commit(struct out *o, struct err *err);

/* Closes, unlinks the .tmp and frees; does nothing after commit or for a zeroed struct. */
void out_abort(struct out *o);

#endif
