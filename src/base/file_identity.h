/* base/file_identity.h: identifies a file across runs by its inode, size and times, for caches of
 * its content. No program can set the time of the last change, so a file that replaces
 * another one has another identity. */
#ifndef CRESSET_BASE_FILE_IDENTITY_H
#define CRESSET_BASE_FILE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
