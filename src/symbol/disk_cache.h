/* symbol/disk_cache.h: a symbol source that caches the responses of another one on disk: a second
 * recording names its frames without reading symbol tables. One file per ELF file (format below)
 * in a directory of base/cache_dir.h, named by its build id and a hash of its stat data: another
 * file could fake a build id and supply false names.
 *
 * Cached names are valid only until a better source appears. So the caller provides *witnesses*:
 * hashes of the further files that names would come from now. If one of them is not recorded in
 * the cache file, the cache file is made again; if one is gone, the names it gave are retained. */
#ifndef CRESSET_SYMBOL_DISK_CACHE_H
#define CRESSET_SYMBOL_DISK_CACHE_H

#include "base/hash.h"
#include "base/vec.h"
#include "profile/strtab.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct symbol_line;
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

/* --- the format of a file: looked-up names for one build id ---
 *
 *     offset  bytes
 *     0       8     "CRNAMES\0"
 *     8       4     version: NAMES_FILE_VERSION
 *     12      4     NAMES_READER of who made the names
 *     16      8     XXH3-64 of everything after it
 *     24      4     witnesses W
 *     28      4     addresses A
 *     32      4     lines L
 *     36      4     functions F
 *     40      4     origins O
 *     44      4     bytes of text T
 *     48      8 W witnesses: hashes of the files that existed when the names were made
 *             (as above)
 *     …       8 A   file offsets, ascending
 *     …       8 A   for each: { u32 first line, u16 lines, u8 origin, u8 0 }
 *     …       8 L   { u32 function, u32 line }, innermost first
 *     …       16 F  { u32 name, u32 linkage name, u32 file, u32 first line }
 *     …       4 O   origins: ".symtab" …
 *     …       T texts, NUL-terminated; all references to text are offsets in here; the first text
 *             is empty: unknown
 *
 * Numbers are little endian and nothing follows. An address with 0 lines is known to have no
 * name. */

enum { NAMES_FILE_VERSION = 2 };
enum {
	NAMES_FILE_MAX_WITNESSES = 64,
	NAMES_FILE_MAX_ORIGINS = 16,
	NAMES_FILE_MAX_LINES = 256, /* per address */
};
#define NAMES_FILE_MAX_BYTES (64u << 20) /* limit: kept names of one file */

struct names_entry {
	uint32_t first;
	uint16_t n;
	uint8_t origin, zero;
};
struct names_line {
	uint32_t function, line;
};
struct names_function {
	uint32_t name, linkage, file, start_line;
};

/* A file in memory; zeroed = empty. Pointers refer to the bytes, which stay the caller's. */
struct names_file {
	const uint64_t *witnesses, *offsets;
	const struct names_entry *entries;
	const struct names_line *lines;
	const struct names_function *functions;
	const uint32_t *origins;
	const char *text;
	uint32_t n_witnesses, n_offsets, n_lines, n_functions, n_origins, n_text;
	uint32_t next; /* index of the offset likely to be looked up next */
};

/* data must be aligned to 8. -EBADMSG: not such a file, another version or reader, or damaged. On
 * success every reference in it has been checked. */
int names_file_parse(const void *data, size_t len, struct names_file *out);

bool names_file_has_witness(const struct names_file *f, uint64_t witness);

/* Returns whether the offset is in the file; then sets out to *n ≤ max lines (the outermost are
 * truncated), and *origin. */
bool names_file_get(struct names_file *f, uint64_t offset, struct symbol_line *out, uint32_t max,
		    uint32_t *n, const char **origin);

/* A file being made: init, add, write. The first entry for an offset wins. */
struct names_made {
	uint64_t offset;
	struct names_entry entry;
	uint32_t order; /* of addition */
};
struct names_maker {
	struct strtab text;
	struct map function_index;
	VEC(struct names_function) functions; /* with ids of text */
	VEC(struct names_line) lines;
	VEC(struct names_made) entries;
	VEC(uint64_t) witnesses;
	VEC(uint32_t) origins; /* ids of text */
};
void names_maker_init(struct names_maker *m);
void names_maker_done(struct names_maker *m);

/* Both return false if a limit is exceeded: witnesses or bytes of a file. */
bool names_maker_witness(struct names_maker *m, uint64_t witness);
bool names_maker_add(struct names_maker *m, uint64_t offset, const struct symbol_line *lines,
		     uint32_t n, const char *origin);
/* Adds as much of f as fits. */
void names_maker_add_file(struct names_maker *m, const struct names_file *f);

/* Appends the file to b; call names_maker_done afterwards. */
void names_maker_write(struct names_maker *m, struct buf *b);

#endif
