/* symbol/elf_file.h: an ELF file, read piece by piece.
 *
 * Files are never mapped: one that is truncated while we look at it would kill us with SIGBUS, and those who can do that
 * are the programs being watched. Everything is pread, and only what is needed: the headers by libelf, sections and tables in
 * pieces of a few KiB. So a 100 MB library costs no more than what is kept of it. */
#ifndef CRESSET_SYMBOL_ELF_FILE_H
#define CRESSET_SYMBOL_ELF_FILE_H

#include "base/err.h"

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file {
	Elf *elf;
	GElf_Ehdr header;
	int fd; /* the caller's; -1: image is used */
	const uint8_t *image;
	uint64_t size;
};

/* -ENOEXEC: not ELF, not a regular file or malformed. fd or image must stay until elf_file_close. */
int elf_file_open(struct elf_file *f, int fd, struct err *err);
int elf_file_open_image(struct elf_file *f, const void *image, size_t size, struct err *err);
void elf_file_close(struct elf_file *f); /* of a zeroed one is fine */

/* Copies len bytes from offset; false when the file does not have them all. */
bool elf_file_read(const struct elf_file *f, uint64_t offset, void *to, size_t len);
/* As many of max bytes as there are. */
size_t elf_file_read_some(const struct elf_file *f, uint64_t offset, void *to, size_t max);

/* The first section of this name (NULL: any) and type (SHT_NULL: any). False when there is none. */
bool elf_file_section(const struct elf_file *f, const char *name, uint32_t type, GElf_Shdr *out);
bool elf_file_section_at(const struct elf_file *f, size_t index, GElf_Shdr *out);
/* False when the name is longer than size - 1 or cannot be read. */
bool elf_file_section_name(const struct elf_file *f, const GElf_Shdr *shdr, char *text,
			   size_t size);

/* NT_GNU_BUILD_ID: its length, 0 when there is none; cut to size. */
size_t elf_file_build_id(const struct elf_file *f, uint8_t *id, size_t size);

#endif
