/* symbol/disk_cache.h: a symbol source in front of another one, which keeps on disk what was looked up: a second recording names
 * its frames without reading symbol tables. One file per ELF file (names_file.h) in a folder of base/cache_dir.h, called by its
 * build id and by what stat says of it: a build id alone could be claimed by a file that lies about its names.
 *
 * What is kept is right only as long as nothing better is there. So whoever opens a source says what its names depend on:
 * *witnesses*, hashes of the further files that they would come from now. When one of them is not among those of the file, the
 * file is made anew; that one has gone is no reason to forget the names it gave. */
#ifndef CRESSET_SYMBOL_DISK_CACHE_H
#define CRESSET_SYMBOL_DISK_CACHE_H

#include "symbol/symbol.h"

enum { DISK_CACHE_MAX_WITNESSES = 32 };
#define DISK_CACHE_MAX_BYTES (256ull << 20) /* of all names files together */

struct disk_cache_opts {
	int dir; /* from cache_dir_open */
	int fd;  /* the ELF file; both stay the caller's and open until the source is closed */
	const uint8_t *build_id;
	size_t build_id_len;
	/* The witnesses as of now, at most DISK_CACHE_MAX_WITNESSES; asked when the source is opened, and when what it gave
	 * (`saving`) goes to disk. */
	size_t (*witnesses)(void *ctx, bool saving, uint64_t *out);
	/* Opens the source behind, at the first address that is not kept: 0, or -errno as symbol_open_elf. */
	int (*open)(void *ctx, struct symbol_source **out);
	void *ctx;
	bool *wrote; /* set when something went to disk; may be NULL */
};

/* Never fails: what cannot be read from disk is looked up, what cannot be written is not kept. Its origin is that of the last
 * answer, NULL when there was none; `skipped` counts what could not be read of the source behind. */
struct symbol_source *disk_cache_open(const struct disk_cache_opts *opts);

/* What stat says of the open file, as a number that tells files apart and stays the same in other mount namespaces. */
uint64_t disk_cache_identity(int fd);

#endif
