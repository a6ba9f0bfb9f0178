/* collect/local_file.h: the files of this machine that a recording of another program was made with.
 *
 * A file is looked for at its recorded path, then in perf's own cache (below HOME/.debug); [vdso] is that of this process. It is the
 * one that was running when its build id is the recorded one, or, where the recording has none, its inode and that inode's
 * generation. */
#ifndef CRESSET_COLLECT_LOCAL_FILE_H
#define CRESSET_COLLECT_LOCAL_FILE_H

#include <stdint.h>

struct local_file {
	const char *path;
	const uint8_t *build_id;
	uint8_t build_id_len;
	/* 0: not known. Without a build id and an inode the file at the path is believed. */
	uint64_t inode, generation;
};

/* Opens it for reading. home: where .debug may be; NULL: not looked at. -ESTALE: there is another; else -errno. */
int local_file_open(const struct local_file *f, const char *home);

/* What perf keeps of a build: HOME/.debug/.build-id/ab/cdef…/NAME. -ENOENT where it kept none. */
int local_file_open_kept(const struct local_file *f, const char *home, const char *name);

/* fd, when it is the file; else it is closed: -ESTALE. An error stays as it is. */
int local_file_keep(const struct local_file *f, int fd);

#endif
