/* A fixed number of pages. */
#include "symbol/elf/file_pages.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void file_pages_init(struct file_pages *p, const struct elf_file *file)
{
	*p = (struct file_pages){
		.file = { .fd = file->fd, .image = file->image, .size = file->size },
		.pages = xcalloc(FILE_PAGES, sizeof *p->pages),
	};
}

void file_pages_done(struct file_pages *p)
{
	free(p->pages);
	*p = (struct file_pages){ 0 };
}

size_t file_pages_read(struct file_pages *p, uint64_t offset, void *to, size_t max)
{
	size_t got = 0;
	while (got < max && offset + got < p->file.size) {
		size_t at = (offset + got) % FILE_PAGE_BYTES;
		uint64_t number = (offset + got) / FILE_PAGE_BYTES;
		struct file_page *page = &p->pages[number % FILE_PAGES];
		if (page->len == 0 || page->number != number) {
			page->number = number;
			page->len = elf_file_read_some(&p->file, number * FILE_PAGE_BYTES,
						       page->bytes, FILE_PAGE_BYTES);
		}
		if (page->len <= at)
			break;
		size_t n = page->len - at < max - got ? page->len - at : max - got;
		memcpy((char *)to + got, page->bytes + at, n);
		got += n;
	}
	memset((char *)to + got, 0, max - got);
	return got;
}
