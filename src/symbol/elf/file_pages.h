/* symbol/elf/file_pages.h: a page cache for random access to tables in a file. Memory is fixed,
 * whatever the size of the file. */
#ifndef CRESSET_SYMBOL_ELF_FILE_PAGES_H
#define CRESSET_SYMBOL_ELF_FILE_PAGES_H

#include "symbol/elf/elf_file.h"

enum { FILE_PAGE_BYTES = 4096, FILE_PAGES = 64 };

struct file_page {
	uint64_t number;
	size_t len; /* 0: empty */
	uint8_t bytes[FILE_PAGE_BYTES];
};
struct file_pages {
	struct elf_file file; /* without its libelf part; the descriptor or image must stay valid */
	struct file_page *pages;
};

void file_pages_init(struct file_pages *p, const struct elf_file *file);
void file_pages_done(struct file_pages *p); /* a zeroed one is fine */

/* Reads up to max bytes from offset, as many as there are; zeroes the rest of `to`. */
size_t file_pages_read(struct file_pages *p, uint64_t offset, void *to, size_t max);

#endif
