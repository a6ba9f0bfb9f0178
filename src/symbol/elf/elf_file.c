/* Reads headers and sections with checks of all offsets. */
#include "symbol/elf/elf_file.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

size_t elf_file_read_some(const struct elf_file *f, uint64_t offset, void *to, size_t max)
{
	if (offset >= f->size)
		return 0;
	max = max < f->size - offset ? max : f->size - offset;
	if (f->fd < 0) {
		memcpy(to, f->image + offset, max);
		return max;
	}
	size_t got = 0;
	while (got < max) {
		ssize_t n = pread(f->fd, (char *)to + got, max - got, offset + got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += n;
	}
	return got;
}

bool elf_file_read(const struct elf_file *f, uint64_t offset, void *to, size_t len)
{
	return elf_file_read_some(f, offset, to, len) == len;
}

/* Counts of sections and segments that do not fit into 16 bits are in the first section header,
 * where they can make libelf allocate gigabytes. No linked program has so many (compilers make
 * such object files), so these files are rejected before libelf reads them. */
static bool header_is_sane(const struct elf_file *f)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr h32;
		Elf64_Ehdr h64;
	} h = { 0 };
	elf_file_read_some(f, 0, &h, sizeof h);
	if (memcmp(h.ident, ELFMAG, SELFMAG) != 0)
		return false;
	bool is_64 = h.ident[EI_CLASS] == ELFCLASS64;
	uint64_t sections_at = is_64 ? h.h64.e_shoff : h.h32.e_shoff;
	uint16_t sections = is_64 ? h.h64.e_shnum : h.h32.e_shnum;
	uint16_t segments = is_64 ? h.h64.e_phnum : h.h32.e_phnum;
	/* PN_XNUM, 0xffff, and 0 are the same in both byte orders. */
	return segments != PN_XNUM && (sections != 0 || sections_at == 0);
}

static int elf_file_begin(struct elf_file *f, struct err *err)
{
	elf_version(EV_CURRENT);
	if (!header_is_sane(f))
		return err_set(err, ENOEXEC, "not an ELF program or library");
	f->elf = f->fd >= 0 ? elf_begin(f->fd, ELF_C_READ, NULL)
			    : elf_memory((char *)f->image, f->size);
	if (f->elf && elf_kind(f->elf) == ELF_K_ELF && gelf_getehdr(f->elf, &f->header))
		return 0;
	int rc = err_set(err, ENOEXEC, "malformed ELF file: %s", elf_errmsg(-1));
	elf_file_close(f);
	return rc;
}

int elf_file_open(struct elf_file *f, int fd, struct err *err)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "cannot read: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, ENOEXEC, "not a regular file");
	*f = (struct elf_file){ .fd = fd, .size = st.st_size };
	return elf_file_begin(f, err);
}

int elf_file_open_image(struct elf_file *f, const void *image, size_t size, struct err *err)
{
	*f = (struct elf_file){ .fd = -1, .image = image, .size = size };
	return elf_file_begin(f, err);
}

void elf_file_close(struct elf_file *f)
{
	elf_end(f->elf);
	f->elf = NULL;
}

bool elf_file_section_at(const struct elf_file *f, size_t index, GElf_Shdr *out)
{
	Elf_Scn *scn = elf_getscn(f->elf, index);
	return scn && gelf_getshdr(scn, out);
}

static bool name_read(const struct elf_file *f, const GElf_Shdr *names, const GElf_Shdr *shdr,
		      char *text, size_t size)
{
	if (shdr->sh_name >= names->sh_size || names->sh_offset > UINT64_MAX - shdr->sh_name)
		return false;
	size_t got = elf_file_read_some(f, names->sh_offset + shdr->sh_name, text, size);
	return memchr(text, '\0', got);
}

static bool names_section(const struct elf_file *f, GElf_Shdr *names)
{
	size_t index;
	return elf_getshdrstrndx(f->elf, &index) == 0 && elf_file_section_at(f, index, names);
}

bool elf_file_section_name(const struct elf_file *f, const GElf_Shdr *shdr, char *text, size_t size)
{
	GElf_Shdr names;
	return names_section(f, &names) && name_read(f, &names, shdr, text, size);
}

bool elf_file_section(const struct elf_file *f, const char *name, uint32_t type, GElf_Shdr *out)
{
	GElf_Shdr names = { 0 }, shdr;
	char text[32];
	size_t n;
	if (elf_getshdrnum(f->elf, &n) < 0 || (name && !names_section(f, &names)))
		return false;
	for (size_t i = 1; i < n; i++) {
		if (!elf_file_section_at(f, i, &shdr) ||
		    (type != SHT_NULL && shdr.sh_type != type) ||
		    (name &&
		     (!name_read(f, &names, &shdr, text, sizeof text) || strcmp(text, name) != 0)))
			continue;
		*out = shdr;
		return true;
	}
	return false;
}
