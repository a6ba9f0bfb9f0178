/* collect/process/local_file.h: files of this machine that were mapped in a recording of another
 * program.
 *
 * A file is looked for at its recorded path, then in perf's own cache (below HOME/.debug); [vdso]
 * is that of this process. It is the right file if its build id is the recorded one, or, if the
 * recording has none, its inode and the inode's generation. */
#ifndef CRESSET_COLLECT_PROCESS_LOCAL_FILE_H
#define CRESSET_COLLECT_PROCESS_LOCAL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct local_file {
	const char *path;
	const uint8_t *build_id;
	uint8_t build_id_len;
	/* 0: unknown. Without a build id and an inode the file at the path is trusted. */
	uint64_t inode, generation;
};

/* Whether another file is at a path than the one recorded there: another inode of the same device,
 * or another generation of it. Where devices of inodes are not those of stat (overlayfs, btrfs)
 * this is not known, and false. generation 0: unknown. */
bool local_file_is_replaced(const char *path, uint32_t dev_major, uint32_t dev_minor,
			    uint64_t inode, uint64_t generation);

/* Whether the content of the file at a path was changed after this Unix time. */
bool local_file_is_newer(const char *path, int64_t than_ns);

/* Whether files at two paths have this build id, but not the same code or names. */
bool local_files_differ(const char *a, const char *b, const uint8_t *build_id, size_t len);

/* Opens it for reading. home: where .debug may be; NULL: not searched. -ESTALE: it is another file;
 * else -errno. */
int local_file_open(const struct local_file *f, const char *home);

/* Opens what perf has cached of a build: HOME/.debug/.build-id/ab/cdef…/NAME. -ENOENT if
 * nothing. */
int local_file_open_kept(const struct local_file *f, const char *home, const char *name);

/* Returns fd if it is the right file; otherwise closes it and returns -ESTALE. An error is passed
 * through. */
int local_file_keep(const struct local_file *f, int fd);

#endif
