/* collect/process/file_stamp.h: size and times of an open file, which show that it was written
 * again in place: its inode and its mappings stay, its content is another one. */
#ifndef CRESSET_COLLECT_PROCESS_FILE_STAMP_H
#define CRESSET_COLLECT_PROCESS_FILE_STAMP_H

#include <stdbool.h>
#include <stdint.h>

struct stat;

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
