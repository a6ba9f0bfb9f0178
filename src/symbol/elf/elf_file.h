/* symbol/elf/elf_file.h: reads an ELF file piece by piece.
 *
 * Files are never mapped: a mapped file that is truncated while being read would kill us with
 * SIGBUS, and watched programs could do that. All reads use pread, and only as needed: headers by
 * libelf, sections and tables in pieces of a few KiB. So a 100 MB library costs no more memory
 * than the data kept from it. */
#ifndef CRESSET_SYMBOL_ELF_ELF_FILE_H
#define CRESSET_SYMBOL_ELF_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct elf_file {
	Elf *elf;
	GElf_Ehdr header;
	int fd; /* the caller's; -1: use image */
	const uint8_t *image;
	uint64_t size;
};

/* -ENOEXEC: not ELF, not a regular file or malformed. fd or image must live until
 * elf_file_close. */
int elf_file_open(struct elf_file *f, int fd, struct err *err);
int elf_file_open_image(struct elf_file *f, const void *image, size_t size, struct err *err);
void elf_file_close(struct elf_file *f); /* a zeroed one is fine */

/* Copies len bytes from offset; returns false if the file does not have all of them. */
bool elf_file_read(const struct elf_file *f, uint64_t offset, void *to, size_t len);
/* Copies up to max bytes, as many as there are. */
size_t elf_file_read_some(const struct elf_file *f, uint64_t offset, void *to, size_t max);

/* Finds the first section with this name (NULL: any) and type (SHT_NULL: any). Returns false if
 * there is none. */
bool elf_file_section(const struct elf_file *f, const char *name, uint32_t type, GElf_Shdr *out);
bool elf_file_section_at(const struct elf_file *f, size_t index, GElf_Shdr *out);
/* Returns false if the name is longer than size - 1 or cannot be read. */
bool elf_file_section_name(const struct elf_file *f, const GElf_Shdr *shdr, char *text,
			   size_t size);

/* Reads NT_GNU_BUILD_ID, truncated to size. Returns its length, 0 if none exists. */
size_t elf_file_build_id(const struct elf_file *f, uint8_t *id, size_t size);

#endif
