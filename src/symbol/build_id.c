#include "symbol/elf_file.h"
#include "symbol/symbol.h"

#include <string.h>

enum { NOTES_MAX_BYTES = 1 << 20 }; /* of all notes of a file; real ones have a few hundred */

struct note_search {
	const struct elf_file *file;
	uint8_t *id;
	size_t size;
	size_t found;  /* length of the build id */
	uint64_t left; /* bytes that may still be read */
};

/* Looks through the notes in [offset, offset + size). */
static void notes_search(struct note_search *s, uint64_t offset, uint64_t size, uint64_t align)
{
	if (s->found || size > s->left || offset > INT64_MAX)
		return;
	s->left -= size;
	Elf_Data *data = elf_getdata_rawchunk(s->file->elf, offset, size,
					      align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	GElf_Nhdr note;
	size_t name_at, desc_at;
	for (size_t at = 0; data && (at = gelf_getnote(data, at, &note, &name_at, &desc_at)) > 0;) {
		const char *bytes = data->d_buf;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof ELF_NOTE_GNU ||
		    memcmp(bytes + name_at, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) != 0 ||
		    note.n_descsz == 0)
			continue;
		s->found = note.n_descsz < s->size ? note.n_descsz : s->size;
		memcpy(s->id, bytes + desc_at, s->found);
		return;
	}
}

/* Segments come first: they are what the kernel reads, and they stay when section headers are stripped. In separate debug
 * files the segments' offsets can be stale, there the sections are right. */
size_t elf_file_build_id(const struct elf_file *f, uint8_t *id, size_t size)
{
	struct note_search s = { .file = f, .id = id, .size = size, .left = NOTES_MAX_BYTES };
	GElf_Phdr phdr;
	GElf_Shdr shdr;
	size_t n;
	if (elf_getphdrnum(f->elf, &n) == 0)
		for (size_t i = 0; i < n; i++)
			if (gelf_getphdr(f->elf, i, &phdr) && phdr.p_type == PT_NOTE)
				notes_search(&s, phdr.p_offset, phdr.p_filesz, phdr.p_align);
	if (elf_getshdrnum(f->elf, &n) == 0)
		for (size_t i = 1; i < n; i++)
			if (elf_file_section_at(f, i, &shdr) && shdr.sh_type == SHT_NOTE)
				notes_search(&s, shdr.sh_offset, shdr.sh_size, shdr.sh_addralign);
	return s.found;
}

int elf_build_id(int fd, uint8_t *id, size_t size)
{
	struct elf_file f;
	int rc = elf_file_open(&f, fd, NULL);
	if (rc < 0)
		return rc;
	size_t len = elf_file_build_id(&f, id, size);
	elf_file_close(&f);
	return len;
}
