/* symbol/dwarf_sections.h: the debug sections of one ELF file, read when they are asked for.
 *
 * Debug sections can have gigabytes, of which a few hundred addresses need a few megabytes. So each section gets address space
 * as large as it is, and blocks of the file are read into their places (pread, never mapped: see elf_file.h) when somebody asks
 * for bytes in them; a byte that the file does not have reads as 0. Past DWARF_KEEP_BYTES sections_trim drops what was read.
 * A compressed section (SHF_COMPRESSED with zlib or zstd, .zdebug_*) is unpacked as a whole at its first use, and stays.
 *
 * Little-endian files only, as all machines are that we run on. */
#ifndef CRESSET_SYMBOL_DWARF_SECTIONS_H
#define CRESSET_SYMBOL_DWARF_SECTIONS_H

#include "base/buf.h"
#include "symbol/elf_file.h"

#define DWARF_MAX_SECTION  (16ull << 30) /* address space, not memory */
#define DWARF_MAX_UNPACKED (1ull << 30)  /* of all compressed sections of a file */
#define DWARF_KEEP_BYTES   (64ull << 20) /* of what was read piece by piece */
#define DWARF_MAX_STRING   (64ull << 10) /* longer names are cut */

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
	DWARF_CU_INDEX,
	DWARF_SECTIONS
};

struct dwarf_section {
	uint64_t size;              /* unpacked; 0: there is none */
	uint64_t offset, file_size; /* of its bytes in the file */
	enum dwarf_packing { DWARF_PLAIN, DWARF_ZLIB, DWARF_ZSTD, DWARF_OWNED } packing;
	uint8_t *data;    /* address space; NULL before the first use */
	uint8_t *present; /* one bit a block */
	bool broken;      /* could not be unpacked */
};

struct dwarf_sections {       /* zeroed = no sections */
	struct elf_file file; /* fd, image and size only: its ELF handle is not used */
	struct dwarf_section s[DWARF_SECTIONS];
	uint64_t read_bytes, unpacked_bytes; /* in memory now */
};

/* Finds the sections: those of split DWARF (*.dwo) where split is true. False when there is no .debug_info. f->fd must stay open
 * until sections_done. */
bool sections_find(struct dwarf_sections *s, const struct elf_file *f, bool split);
void sections_done(struct dwarf_sections *s);

/* The bytes [offset, offset + len) of a section, or NULL when it does not have them. The pointer is valid until sections_done,
 * what is behind it until sections_trim. */
const uint8_t *sections_load(struct dwarf_sections *s, enum dwarf_section_id id, uint64_t offset,
			     uint64_t len);
/* The same until sections_done: of a section that was unpacked where they are, else as a copy, which the caller frees and which does
 * not count as read. */
const uint8_t *sections_keep(struct dwarf_sections *s, enum dwarf_section_id id, uint64_t offset,
			     uint64_t len, uint8_t **copy);
/* As sections_load, as a cursor of at most max bytes: bad when offset lies outside. */
struct cur sections_cur(struct dwarf_sections *s, enum dwarf_section_id id, uint64_t offset,
			uint64_t max);
/* The string at offset, cut to DWARF_MAX_STRING; *len bytes, not always NUL-terminated. NULL when offset lies outside. */
const char *sections_string(struct dwarf_sections *s, enum dwarf_section_id id, uint64_t offset,
			    size_t *len);

/* Reads all of a section, to be changed by the caller: from then on the section is what he makes of it (relocation), and stays until
 * sections_done. NULL when there is none or it has more than DWARF_MAX_UNPACKED bytes. */
uint8_t *sections_own(struct dwarf_sections *s, enum dwarf_section_id id);

/* Drops what was read when it is more than DWARF_KEEP_BYTES. */
void sections_trim(struct dwarf_sections *s);

#endif
