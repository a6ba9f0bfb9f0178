/* base/cache_dir.h: a cache directory of files named by a key of bytes (build ids):
 * ROOT/NAME/ab/cdef…SUFFIX.
 *
 * Directories and files that belong to another user, or that others may write, are not trusted and
 * refused. Files are written under a temporary name and renamed, so readers see a whole file or
 * none, and the later of two writers wins. The access time of a file is its last use;
 * cache_dir_trim deletes the least recently used files. */
#ifndef CRESSET_BASE_CACHE_DIR_H
#define CRESSET_BASE_CACHE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum {
	CACHE_MAX_KEY = 64,      /* bytes; longer keys have no file */
	CACHE_MAX_FILES = 65536, /* limit: files in a cache directory; see cache_dir_trim */
};

/* Makes missing directories. Returns a descriptor of ROOT/NAME, which the caller closes, or -errno;
 * -EPERM: others could write there. */
int cache_dir_open(const char *root, const char *name, struct err *err);

/* Opens a file for reading and marks it as used now. Returns a descriptor or -errno. */
int cache_file_open(int dir, const void *key, size_t len, const char *suffix);

struct cache_file { /* being written */
	int fd, dir;
	char path[2 * CACHE_MAX_KEY + 32], tmp[2 * CACHE_MAX_KEY + 64];
};
/* After a failure there is nothing to abort. */
int cache_file_create(int dir, const void *key, size_t len, const char *suffix,
		      struct cache_file *f);
/* Both close the file. A failed commit leaves the previous file. With `sync` not even a crash of
 * the machine leaves a partial file: for files whose content would not show that. */
int cache_file_commit(struct cache_file *f, bool sync);
void cache_file_abort(struct cache_file *f);

/* If the files exceed max_bytes or CACHE_MAX_FILES, removes the least recently used ones until a
 * quarter of the limit is free. Reads the whole directory: once per run is enough. */
void cache_dir_trim(int dir, uint64_t max_bytes);

#endif
