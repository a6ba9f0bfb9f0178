/* symbol/disk_cache.h: a symbol source that caches the responses of another one on disk: a second
 * recording names its frames without reading symbol tables. One file per ELF file (names_file.h)
 * in a directory of base/cache_dir.h, named by its build id and a hash of its stat data: another
 * file could fake a build id and supply false names.
 *
 * Cached names are valid only until a better source appears. So the caller provides *witnesses*:
 * hashes of the further files that names would come from now. If one of them is not recorded in
 * the cache file, the cache file is made again; if one is gone, the names it gave are retained. */
#ifndef CRESSET_SYMBOL_DISK_CACHE_H
#define CRESSET_SYMBOL_DISK_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_source;

enum { DISK_CACHE_MAX_WITNESSES = 32 };
#define DISK_CACHE_MAX_BYTES (256ull << 20) /* limit: kept names of all files */

struct disk_cache_opts {
	int dir; /* from cache_dir_open */
	int fd;  /* the ELF file; both stay the caller's and open until the source is closed */
	const uint8_t *build_id;
	size_t build_id_len;
	/* Returns the current witnesses, at most DISK_CACHE_MAX_WITNESSES. Called when the source
	 * is opened, and when its responses are written to disk (`saving`). */
	size_t (*witnesses)(void *ctx, bool saving, uint64_t *out);
	/* Opens the source itself, at the first address that is not cached. Returns 0, or -errno as
	 * symbol_open_elf. */
	int (*open)(void *ctx, struct symbol_source **out);
	void *ctx;
	bool *wrote; /* set when something was written to disk; may be NULL */
};

/* Never fails: names that cannot be read from disk are looked up, names that cannot be written are
 * not cached. Its origin is that of the last answer, NULL if there was none; `skipped` is that of
 * the source itself. */
struct symbol_source *disk_cache_open(const struct disk_cache_opts *opts);

/* Returns a hash of the open file's stat data, which identifies the file and is the same in other
 * mount namespaces. */
uint64_t disk_cache_identity(int fd);

#endif
