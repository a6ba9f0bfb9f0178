/* Names of the functions of a cubin. */
#include "gpu/code/cubin.h"

#include <elf.h>
#include <endian.h>
#include <string.h>

/* The needed parts of a file, at any alignment in memory. */
struct file {
	const uint8_t *image;
	size_t size;
	Elf64_Ehdr header;
};

static bool section_at(const struct file *f, uint32_t index, Elf64_Shdr *out)
{
	uint64_t at = le64toh(f->header.e_shoff);

	if (at > f->size || (uint64_t)index + 1 > (f->size - at) / sizeof *out)
		return false;
	memcpy(out, f->image + at + (uint64_t)index * sizeof *out, sizeof *out);
	return true;
}

static bool is_cubin(const struct file *f)
{
	const unsigned char *ident = f->header.e_ident;

	return !memcmp(ident, ELFMAG, SELFMAG) && ident[EI_CLASS] == ELFCLASS64 &&
	       ident[EI_DATA] == ELFDATA2LSB && le16toh(f->header.e_machine) == EM_CUDA &&
	       le16toh(f->header.e_shentsize) == sizeof(Elf64_Shdr);
}

/* Returns NULL if the name does not end within the table, or is too long. */
static const char *name_at(const struct file *f, const Elf64_Shdr *names, uint32_t at)
{
	uint64_t start = le64toh(names->sh_offset), size = le64toh(names->sh_size);

	if (start > f->size || size > f->size - start || at >= size)
		return NULL;
	const char *name = (const char *)f->image + start + at;

	return memchr(name, '\0', size - at < CUBIN_MAX_NAME ? size - at : CUBIN_MAX_NAME) ? name
											   : NULL;
}

bool cubin_names(const void *image, size_t size, cubin_name_fn *fn, void *ctx)
{
	static const char prefix[] = ".text.";
	struct file f = { .image = image, .size = size };
	Elf64_Shdr names, s;

	if (size < sizeof f.header)
		return false;
	memcpy(&f.header, image, sizeof f.header);
	if (!is_cubin(&f) || !section_at(&f, le16toh(f.header.e_shstrndx), &names))
		return false;
	for (uint32_t i = 1; i < le16toh(f.header.e_shnum) && section_at(&f, i, &s); i++) {
		const char *name = le32toh(s.sh_type) == SHT_PROGBITS
					   ? name_at(&f, &names, le32toh(s.sh_name))
					   : NULL;

		if (name && !strncmp(name, prefix, sizeof prefix - 1) && s.sh_size)
			fn(ctx, name + sizeof prefix - 1, le64toh(s.sh_size));
	}
	return true;
}
