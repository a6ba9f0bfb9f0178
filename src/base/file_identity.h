/* base/file_identity.h: recognizes files, and changes of their content. */
#ifndef CRESSET_BASE_FILE_IDENTITY_H
#define CRESSET_BASE_FILE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

struct stat;

/* --- across runs ---
 *
 * Identifies a file by its inode, size and times, for caches of its content. No program can set the
 * time of the last change, so a file that replaces another one has another identity. */

#define FILE_SETTLED_NS 2000000000ll

/* Without padding: its bytes are stored and hashed. */
struct file_identity {
	uint64_t ino, size;
	int64_t mtime_s, mtime_ns, ctime_s, ctime_ns;
};

/* Identifies the regular file that is open at fd. Returns false if its times may not show every
 * change: it
 *
 *   - was changed less than FILE_SETTLED_NS ago: another change may leave its times as they are;
 *   - is on a file system in memory, or of a user's program: inode numbers are used again, writes
 *     through a mapping leave no time, any time can be claimed. */
bool file_identity_of(int fd, struct file_identity *out);

/* Returns whether the file still has that identity: it was not changed since. */
bool file_identity_is(int fd, const struct file_identity *id);

/* --- while it is open ---
 *
 * Size and times of an open file show that it was written again in place: its inode and its
 * mappings stay, its content is another one. */

struct file_stamp { /* zeroed = unknown */
	uint64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns; /* set by writes, and by renames, links and unlinks as well */
};

struct file_stamp file_stamp_of(const struct stat *st);
struct file_stamp file_stamp_of_fd(int fd);
bool file_stamp_is(const struct file_stamp *stamp, const struct stat *st);
/* Returns whether the file was written after a time of CLOCK_MONOTONIC, so that something else may
 * have run then. False for time 0, and for files with a time in the future. */
bool file_stamp_is_newer(const struct file_stamp *stamp, uint64_t mono_ns);

#endif
