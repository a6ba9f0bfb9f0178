/* collect/proc/mapped_file.h: opens the file that a process has mapped, and no other.
 *
 * /proc/PID/map_files also works for deleted files, memfds and files of other mount namespaces; it
 * needs CAP_CHECKPOINT_RESTORE. Without it, or after the process has unmapped the file or ended,
 * the path is tried below the process's own root and below ours. The opened file is compared with
 * what the kernel said about the mapping (build id, else inode) before it is trusted. Everything
 * but a regular file is refused without opening it for reading, which may have effects on devices
 * and pipes. */
#ifndef CRESSET_COLLECT_PROC_MAPPED_FILE_H
#define CRESSET_COLLECT_PROC_MAPPED_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct mapped_file {
	uint32_t pid;
	uint64_t start, end, pgoff; /* where it is mapped */
	const char *path;           /* as the process sees it */
	const uint8_t *build_id;
	uint8_t build_id_len; /* 0: maj, min, ino identify the file */
	uint32_t maj, min;
	uint64_t ino;
};

/* Returns a read-only descriptor and its status, or -errno. */
int mapped_file_open(const struct mapped_file *f, struct stat *st);

/* The same, through the mapping only: a path may cross a file system that does not respond. */
int mapped_file_open_mapping(const struct mapped_file *f, struct stat *st);

/* Opens the target of "map_files/START-END" in an open /proc/PID, if it is a regular file. */
int mapped_file_open_at(int process, const char *name, struct stat *st);

/* Opens the root directory of a process, with its mount namespace, for root_file_open. */
int process_root_dir(uint32_t pid);

/* Opens a regular file by its path in the root directory and mount namespace of a process; symbolic
 * links cannot lead out of it. */
int process_root_open(uint32_t pid, const char *path, struct stat *st);

/* Open a regular file, or a directory, below a directory that stands for "/"; links cannot lead out
 * of it. */
int root_file_open(int root, const char *path, struct stat *st);
int root_dir_open(int root, const char *path);

/* Opens a regular file by its path here. */
int plain_file_open(const char *path, struct stat *st);

#endif
