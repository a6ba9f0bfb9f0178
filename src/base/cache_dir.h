/* base/cache_dir.h: a folder of files that can be made again, named by bytes (build ids): ROOT/NAME/ab/cdef…SUFFIX.
 *
 * Only what this user made is believed: a folder that belongs to somebody else, or that others may write to, is refused, and
 * so is such a file in it. Files are made under another name and renamed, so readers see all of one or nothing, and of two
 * writers the later one wins. When a file was last used is kept as its time of access; cache_dir_trim lets go of those
 * that were not used for longest. */
#ifndef CRESSET_BASE_CACHE_DIR_H
#define CRESSET_BASE_CACHE_DIR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CACHE_MAX_KEY = 64,      /* bytes; longer keys have no file */
	CACHE_MAX_FILES = 65536, /* in one folder; see cache_dir_trim */
};

/* Makes what is missing of it. Returns a descriptor of ROOT/NAME, the caller's to close, or -errno; -EPERM: others could write
 * there. */
int cache_dir_open(const char *root, const char *name, struct err *err);

/* An open file for reading, which counts as used from now on, or -errno. */
int cache_file_open(int dir, const void *key, size_t len, const char *suffix);

struct cache_file { /* being written */
	int fd, dir;
	char path[2 * CACHE_MAX_KEY + 32], tmp[2 * CACHE_MAX_KEY + 64];
};
/* On failure there is nothing to abort. */
int cache_file_create(int dir, const void *key, size_t len, const char *suffix,
		      struct cache_file *f);
/* Both close it. A commit that fails leaves what was there before. With `sync` not even a crash of the machine leaves half a file:
 * for those whose content does not tell. */
int cache_file_commit(struct cache_file *f, bool sync);
void cache_file_abort(struct cache_file *f);

/* When files take more than max_bytes or are more than CACHE_MAX_FILES, removes the ones not used for longest until a quarter
 * of that is free. Reads the whole folder: once a run is enough. */
void cache_dir_trim(int dir, uint64_t max_bytes);

#endif
