/* base/fs.h: whole files in, whole files out.
 *
 * Input is read up to a named limit and may be gzip, zstd or xz inside (found by content). Output goes to NAME.tmp and is
 * renamed by out_commit, so a failed run leaves no half file; "-" is standard output. A program that writes to a pipe must
 * ignore SIGPIPE to see EPIPE. */
#ifndef CRESSET_BASE_FS_H
#define CRESSET_BASE_FS_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Reads all that is left of fd and appends it to b, which is unchanged on failure. -EFBIG past max bytes. */
int fs_read_fd(int fd, size_t max, struct buf *b, struct err *err);

/* The same for a path relative to dirfd (AT_FDCWD). Good for /proc: the size is not asked first. Never waits: a pipe that
 * nobody writes to is empty, one without data fails with -EAGAIN. */
int fs_read_at(int dirfd, const char *path, size_t max, struct buf *b, struct err *err);

/* First line of a small file without its newline, cut to size - 1 bytes (size > 0). 0 or -errno; line is "" on failure. */
int fs_read_line(const char *path, char *line, size_t size);

/* What was made, renamed or removed in the folder that path is in is on the disk when it returns 0. Where a file system cannot, it does
 * nothing. */
int fs_sync_dir_of(const char *path, struct err *err);

/* Unpacks gzip (several members, too), zstd or xz when data starts like one of them, in place: b then holds the plain bytes.
 * Anything else is left alone. -EFBIG past max (a bomb), -EBADMSG when damaged or cut, -E2BIG when the decoder would need
 * too much memory; b is unchanged on failure. */
int fs_unpack(struct buf *b, size_t max, struct err *err);

/* Appends data as one gzip member: level 6, no name, time 0, so equal input gives equal output. */
int fs_gzip(const void *data, size_t len, struct buf *out);
/* The same at level 1: a third of the time, a fifth larger. */
int fs_gzip_fast(const void *data, size_t len, struct buf *out);

/* A new file without a name, open for reading and writing, in $TMPDIR or /tmp: it is gone once it is closed. The descriptor, or -errno. */
int fs_open_unnamed(struct err *err);

/* A file being written. Devices, pipes and names of descriptors (/dev/null, /dev/stdout) are written to directly. */
struct out {
	int fd;
	int failed;       /* errno of the first write that failed: nothing is written after it */
	char *path, *tmp; /* path is NULL for standard output, tmp when written to directly */
	struct buf pending;
};

/* On failure there is nothing to abort. */
int out_open(struct out *o, const char *path, struct err *err);

/* Buffered, 64 KiB. */
int out_write(struct out *o, const void *data, size_t len, struct err *err);

/* Hands to the kernel what is still buffered. */
int out_flush(struct out *o, struct err *err);

/* Flushes, closes, renames; always frees. On failure, of an earlier write, too, the .tmp is gone and the name untouched. */
int out_commit(struct out *o, struct err *err);

/* Closes, unlinks the .tmp and frees; fine after commit and for a zeroed struct. */
void out_abort(struct out *o);

#endif
