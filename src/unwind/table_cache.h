/* unwind/table_cache.h: a directory of unwind tables (base/cache_dir.h) that were built before: a
 * second recording, and a program that is run again, need no call frame information.
 *
 * A table belongs to one file, which is known by its build id, inode, size and times: a build id
 * alone can be claimed by any program. The cache has no table of a file without a
 * base/file_identity.h, so programs that are compiled and run once leave nothing here; nor of one
 * that changed while its table was built.
 *
 *     offset  bytes
 *     0       8     "CRTABLE\0"
 *     8       4     TABLE_CACHE_VERSION
 *     12      4     TABLE_CACHE_BUILDER of who built it
 *     16      8     sum of everything after it: hash_mix of the XXH3-64 of header and image
 *     24      48    inode, size, time of the last write and of the last change, in s and ns
 *     72      4     bytes of build id B
 *     76      64    the build id, then zeros
 *     140     4     number of rules
 *     144     12    chunks before the directory, its first page, its pages
 *     156     4     bytes of the image
 *     160     …     the image (bpf/unwind_table.h); nothing follows
 *
 * Numbers are little endian. */
#ifndef CRESSET_UNWIND_TABLE_CACHE_H
#define CRESSET_UNWIND_TABLE_CACHE_H

#include "unwind/table.h"

#include <stdbool.h>
#include <stdint.h>

struct err;

enum {
	TABLE_CACHE_VERSION = 1,
	TABLE_CACHE_BUILDER = 1, /* raise it whenever a file's table becomes another */
};
/* limit TABLE_CACHE_MAX_BYTES: unwind tables on disk, of all files */
#define TABLE_CACHE_MAX_BYTES     (256ull << 20)
/* limit TABLE_CACHE_UNSAVED_BYTES: those waiting for the disk; others are not saved */
#define TABLE_CACHE_UNSAVED_BYTES (4ull << 20)

#define TABLE_CACHE "tables" /* in the directory of all caches */

struct table_cache_stats {
	uint64_t loaded;
	uint64_t damaged; /* cache files with wrong contents: their tables are built again */
};
struct table_saver;
struct table_cache {
	int dir;                   /* from cache_dir_open; -1: none */
	struct table_saver *saver; /* NULL until there is something to save */
	struct table_cache_stats stats;
};

/* root: the directory of all caches; NULL, or one that cannot be used: nothing is saved. */
void table_cache_open(struct table_cache *c, const char *root);
/* Saves the rest, unless that takes longer than a moment: a disk may not respond. */
void table_cache_close(struct table_cache *c);

/* As unwind_table_build, or what that returned for this file in the past. A separate thread saves
 * the table: a disk may be busy for seconds. */
int table_cache_build(struct table_cache *c, int fd, struct unwind_table *out, struct err *err);
/* Waits until no table waits for the disk; returns the number of those saved so far. */
uint64_t table_cache_settle(struct table_cache *c);

#endif
