/* Reads notes and build ids. */
#include "base/buf.h"
#include "profile/frame.h"
#include "symbol/elf/elf_file.h"
#include "symbol/symbol.h"

#include <link.h>
#include <string.h>

enum { NOTES_MAX_BYTES = 1 << 20 }; /* all notes of a file; real ones have a few hundred */

struct note_search {
	const struct elf_file *file;
	const char *name;
	uint32_t type;
	void *desc;
	size_t size;
	size_t found;  /* length of desc */
	uint64_t left; /* bytes that may still be read */
};

/* Searches the notes in [offset, offset + size). */
static void notes_search(struct note_search *s, uint64_t offset, uint64_t size, uint64_t align)
{
	if (s->found || size > s->left || offset > INT64_MAX)
		return;
	s->left -= size;
	Elf_Data *data = elf_getdata_rawchunk(s->file->elf, offset, size,
					      align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	GElf_Nhdr note;
	size_t name_at, desc_at, name_len = strlen(s->name) + 1;
	for (size_t at = 0; data && (at = gelf_getnote(data, at, &note, &name_at, &desc_at)) > 0;) {
		const char *bytes = data->d_buf;
		if (note.n_type != s->type || note.n_namesz != name_len ||
		    memcmp(bytes + name_at, s->name, name_len) != 0 || note.n_descsz == 0)
			continue;
		s->found = note.n_descsz < s->size ? note.n_descsz : s->size;
		memcpy(s->desc, bytes + desc_at, s->found);
		return;
	}
}

/* Segments are first: the kernel reads them, and they remain when section headers are stripped. In
 * separate debug files the segments' offsets can be stale, but the sections are valid. */
static size_t file_note(const struct elf_file *f, const char *name, uint32_t type, void *desc,
			size_t size)
{
	struct note_search s = { f, name, type, desc, size, .left = NOTES_MAX_BYTES };
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

size_t elf_file_build_id(const struct elf_file *f, uint8_t *id, size_t size)
{
	uint8_t whole[BUILD_ID_MAX];
	size_t len = file_note(f, ELF_NOTE_GNU, NT_GNU_BUILD_ID, whole, sizeof whole);
	if (!build_id_is_valid(whole, len))
		return 0;
	len = len < size ? len : size;
	memcpy(id, whole, len);
	return len;
}

int elf_note(int fd, const char *name, uint32_t type, void *desc, size_t size)
{
	struct elf_file f;
	int rc = elf_file_open(&f, fd, NULL);
	if (rc < 0)
		return rc;
	size_t len = file_note(&f, name, type, desc, size);
	elf_file_close(&f);
	return len;
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

/* --- this program ----------------------------------------------------------------------------- */

static const void *take_padded(struct cur *notes, uint64_t len, uint64_t align)
{
	return cur_take(notes, (len + align - 1) / align * align);
}

static size_t notes_build_id(struct cur notes, uint64_t align, uint8_t *id, size_t size)
{
	while (cur_left(&notes) > 0) {
		uint32_t name_len = cur_u32(&notes), len = cur_u32(&notes), type = cur_u32(&notes);
		const char *name = take_padded(&notes, name_len, align);
		const void *desc = take_padded(&notes, len, align);
		if (!desc)
			return 0;
		if (type != NT_GNU_BUILD_ID || name_len != sizeof ELF_NOTE_GNU ||
		    memcmp(name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) != 0)
			continue;
		len = len < size ? len : size;
		memcpy(id, desc, len);
		return len;
	}
	return 0;
}

struct own_id {
	uint8_t *id;
	size_t size, found;
};

/* Called for the program first, and then no more. */
static int on_program(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct own_id *own = ctx;
	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum && !own->found; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const void *notes = (const char *)info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_NOTE)
			own->found = notes_build_id(cur_of(notes, p->p_memsz),
						    p->p_align == 8 ? 8 : 4, own->id, own->size);
	}
	return 1;
}

size_t elf_own_build_id(uint8_t *id, size_t size)
{
	struct own_id own = { .id = id, .size = size };
	dl_iterate_phdr(on_program, &own);
	return own.found;
}
