/* symbol/dwarf/section_cache.h: compressed debug sections, stored decompressed in a directory of
 * base/cache_dir.h: decompressing a C library's sections takes longer than everything else about
 * its names. A cache file has one section of a file with a build id and an identity
 * (base/file_identity.h), and contains both.
 *
 *     offset  bytes
 *     0       8     "CRPLAIN\0"
 *     8       4     SECTION_CACHE_VERSION
 *     12      4     bytes of build id
 *     16      8     sum of everything after it: hash_mix of the XXH3-64 of header and content
 *     24      48    struct file_identity
 *     72      64    the build id, then zeros
 *     136     24    of the section: offset in the file, bytes there, bytes decompressed
 *     160     …     the decompressed section; nothing follows
 *
 * Numbers are little endian. */
#ifndef CRESSET_SYMBOL_DWARF_SECTION_CACHE_H
#define CRESSET_SYMBOL_DWARF_SECTION_CACHE_H

#include "base/cache_dir.h"
#include "base/file_identity.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_file;

enum {
	SECTION_CACHE_VERSION = 1,
	SECTION_CACHE_MIN = 64 << 10, /* bytes of a section; smaller ones are not stored */
};
/* limit: a debug section on disk, uncompressed; larger ones are not saved */
#define SECTION_CACHE_SECTION_BYTES (64ull << 20)
/* limit: debug sections on disk, uncompressed, of all files */
#define SECTION_CACHE_MAX_BYTES     (256ull << 20)

#define SECTION_CACHE "sections" /* in the directory of all caches */

struct section_place {
	uint64_t offset, packed_bytes, bytes;
};
struct section_cache { /* zeroed = nothing is stored */
	int dir;
	uint32_t build_id_len; /* 0: nothing is stored */
	uint8_t build_id[CACHE_MAX_KEY];
	struct file_identity file;
};

/* dir becomes the cache's, unless it is -1: nothing is stored then, nor for a file without build id
 * or identity. */
void section_cache_open(struct section_cache *c, int dir, const struct elf_file *f);
void section_cache_close(struct section_cache *c);

/* Reads a section to `to`, of place->bytes bytes. Returns false, with undefined content, if the
 * section is not stored or the cache file is damaged. */
bool section_cache_load(const struct section_cache *c, const struct section_place *place, void *to);

/* Stores a section of the file open at fd. Does nothing if the file has changed since the cache was
 * opened, or if the disk is full. */
void section_cache_save(const struct section_cache *c, const struct section_place *place, int fd,
			const void *content);

#endif
