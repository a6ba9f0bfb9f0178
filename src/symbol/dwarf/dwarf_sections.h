/* symbol/dwarf/dwarf_sections.h: the debug sections of one ELF file, read on demand.
 *
 * Debug sections can have gigabytes, of which a few hundred addresses need a few megabytes. So
 * each section gets address space of its full size, and blocks of the file are read into place
 * (pread, never mapped: see elf_file.h) when their bytes are needed; bytes past the end of the
 * file read as 0. Past DWARF_KEEP_BYTES sections_trim drops blocks. A compressed section
 * (SHF_COMPRESSED with zlib or zstd, .zdebug_*) is decompressed entirely at its first use, or read
 * from a cache, and stays in memory.
 *
 * Little-endian files only, like all supported machines. */
#ifndef CRESSET_SYMBOL_DWARF_DWARF_SECTIONS_H
#define CRESSET_SYMBOL_DWARF_DWARF_SECTIONS_H

#include "base/buf.h"
#include "symbol/dwarf/section_cache.h"
#include "symbol/elf/elf_file.h"

/* limit: a debug information section; address space, not memory */
#define DWARF_MAX_SECTION  (16ull << 30)
/* limit: compressed sections of a file, uncompressed */
#define DWARF_MAX_UNPACKED (1ull << 30)
/* limit: kept debug information, read piece by piece */
#define DWARF_KEEP_BYTES   (64ull << 20)
#define DWARF_MAX_STRING   (64ull << 10) /* longer names are truncated */

enum dwarf_section_id {
	DWARF_INFO,
	DWARF_ABBREV,
	DWARF_LINE,
	DWARF_STR,
	DWARF_LINE_STR,
	DWARF_STR_OFFSETS,
	DWARF_ADDR,
	DWARF_RANGES,
	DWARF_RNGLISTS,
	DWARF_ARANGES,
	DWARF_CU_INDEX,
	DWARF_SECTIONS
};

struct dwarf_section {
	uint64_t size;              /* decompressed; 0: none */
	uint64_t offset, file_size; /* in the file */
	enum dwarf_packing { DWARF_PLAIN, DWARF_ZLIB, DWARF_ZSTD, DWARF_OWNED } packing;
	uint8_t *data;    /* address space; NULL before the first use */
	uint8_t *present; /* one bit per block */
	bool broken;      /* could not be decompressed */
};

struct dwarf_sections {       /* zeroed = no sections */
	struct elf_file file; /* fd, image and size only: its ELF handle is not used */
	struct dwarf_section s[DWARF_SECTIONS];
	uint64_t read_bytes, unpacked_bytes; /* in memory now */
	struct section_cache cache;
};

/* Finds the sections: those of split DWARF (*.dwo) if split is true. Returns false if there is no
 * .debug_info. f->fd must stay open until sections_done. */
bool sections_find(struct dwarf_sections *s, const struct elf_file *f, bool split);
void sections_done(struct dwarf_sections *s);

/* Stores decompressed sections of f, the file of sections_find, in a directory of
 * symbol/dwarf/section_cache.h, which becomes theirs; -1: none. */
void sections_use_cache(struct dwarf_sections *s, const struct elf_file *f, int dir);

/* Returns the bytes [offset, offset + len) of a section, or NULL if it does not have them. The
 * pointer is valid until sections_done, its content until sections_trim. */
const uint8_t *sections_load(struct dwarf_sections *s, enum dwarf_section_id id, uint64_t offset,
			     uint64_t len);
/* Does the same, with content valid until sections_done: in place if the section was compressed,
 * else as a copy, which the caller frees and which does not count as read. */
const uint8_t *sections_keep(struct dwarf_sections *s, enum dwarf_section_id id, uint64_t offset,
			     uint64_t len, uint8_t **copy);
/* Copies the bytes from offset on, at most max; returns how many exist. Does not load the block
 * that they are in: for a few bytes of many blocks. */
size_t sections_copy(struct dwarf_sections *s, enum dwarf_section_id id, uint64_t offset, void *to,
		     size_t max);
/* Does the same as sections_load, as a cursor of at most max bytes: bad if offset is outside. */
struct cur sections_cur(struct dwarf_sections *s, enum dwarf_section_id id, uint64_t offset,
			uint64_t max);
/* Returns the string at offset, truncated to DWARF_MAX_STRING; *len bytes, not always
 * NUL-terminated. NULL if offset is outside. */
const char *sections_string(struct dwarf_sections *s, enum dwarf_section_id id, uint64_t offset,
			    size_t *len);

/* Reads a whole section for the caller to modify (relocation): later reads see the changes, and it
 * stays in memory until sections_done. Returns NULL if none exists or it has more than
 * DWARF_MAX_UNPACKED bytes. */
uint8_t *sections_own(struct dwarf_sections *s, enum dwarf_section_id id);

/* Drops the blocks read if they exceed DWARF_KEEP_BYTES. */
void sections_trim(struct dwarf_sections *s);

#endif
