/* collect/mapped_file.h: opening the file that a process has mapped, and no other.
 *
 * The way through /proc/PID/map_files works for deleted files, memfds and files of other mount
 * namespaces; it needs CAP_CHECKPOINT_RESTORE. Without it, or after the process has unmapped the
 * file or ended, the path is tried below the process's own root and below ours. Whatever was opened
 * is compared with what the kernel said about the mapping (build id, else inode) before it is
 * trusted. Everything but a regular file is refused without opening it for reading: devices and
 * pipes may act on that. */
#ifndef CRESSET_COLLECT_MAPPED_FILE_H
#define CRESSET_COLLECT_MAPPED_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct mapped_file {
	uint32_t pid;
	uint64_t start, end, pgoff; /* where it is mapped */
	const char *path;           /* as the process sees it */
	const uint8_t *build_id;
	uint8_t build_id_len; /* 0: maj, min, ino tell the file */
	uint32_t maj, min;
	uint64_t ino;
};

/* Returns a read-only descriptor and its status, or -errno. */
int mapped_file_open(const struct mapped_file *f, struct stat *st);

/* The same by the mapping alone: a path may lead over a file system that does not answer. */
int mapped_file_open_mapping(const struct mapped_file *f, struct stat *st);

/* What "map_files/START-END" of an open /proc/PID leads to, if that is a regular file. */
int mapped_file_open_at(int process, const char *name, struct stat *st);

/* A regular file by its path in the root directory and mount namespace of a process; symbolic links
 * cannot lead out of there. */
int process_root_open(uint32_t pid, const char *path, struct stat *st);

/* A regular file, a folder, below a folder that stands for "/": links cannot lead out of it. */
int root_file_open(int root, const char *path, struct stat *st);
int root_dir_open(int root, const char *path);

/* A regular file by its path here. */
int plain_file_open(const char *path, struct stat *st);

#endif
