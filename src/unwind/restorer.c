/* Finds the signal restorer, and its rule: by its bytes, in C libraries that do not describe it. */
#include "unwind/cfi.h"

#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"

#include <stddef.h>
#include <string.h>

/* Programs and libraries linked with the C library name it as needed. */
static bool needs_others(const struct elf_file *f)
{
	GElf_Phdr p;
	Elf64_Dyn entries[256];
	size_t n;
	if (elf_getphdrnum(f->elf, &n) < 0)
		return true;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(f->elf, i, &p) || p.p_type != PT_DYNAMIC)
			continue;
		size_t size = p.p_filesz < sizeof entries ? p.p_filesz : sizeof entries;
		size_t got = elf_file_read_some(f, p.p_offset, entries, size) / sizeof *entries;
		for (size_t k = 0; k < got && entries[k].d_tag != DT_NULL; k++)
			if (entries[k].d_tag == DT_NEEDED)
				return true;
	}
	return false;
}

struct restorer_search {
	const struct elf_file *f;
	uint64_t *offsets;
	size_t n;
	uint64_t left; /* bytes that may be searched */
};

static void search_piece(struct restorer_search *s, uint64_t offset, const uint8_t *piece,
			 size_t size)
{
	static const uint8_t code[RESTORER_SIZE] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	const uint8_t *p = piece, *end = piece + size;
	while (s->n < RESTORER_MAX && (p = memmem(p, end - p, code, sizeof code))) {
		s->offsets[s->n++] = offset + (p - piece);
		p += sizeof code;
	}
}

static void search_segment(struct restorer_search *s, const struct elf_segment *segment)
{
	uint8_t piece[16384];
	for (uint64_t at = 0; at < segment->size && s->left;) {
		uint64_t want =
			segment->size - at < sizeof piece ? segment->size - at : sizeof piece;
		size_t got = elf_file_read_some(s->f, segment->offset + at, piece, want);
		search_piece(s, segment->offset + at, piece, got);
		if (got < sizeof piece)
			break;
		at += got - (RESTORER_SIZE - 1); /* one may cross the boundary */
		s->left -= s->left < got ? s->left : got;
	}
}

size_t restorer_find(const struct elf_file *f, const struct elf_layout *l,
		     uint64_t offsets[RESTORER_MAX])
{
	struct restorer_search s = { .f = f, .offsets = offsets, .left = RESTORER_MAX_TEXT };
	if (f->header.e_machine != EM_X86_64 || needs_others(f))
		return 0;
	for (size_t i = 0; i < l->segments.n; i++)
		if (l->segments.v[i].executable)
			search_segment(&s, &l->segments.v[i]);
	return s.n;
}

struct cfi_rule restorer_rule(void)
{
	/* struct ucontext at the stack pointer: its uc_mcontext starts at byte 40. */
	enum { SP = 7, UC_RBP = 120, UC_RSP = 160, UC_RIP = 168 };
	return (struct cfi_rule){
		.cfa = { .kind = CFI_DEREF, .reg = SP, .offset = UC_RSP },
		.fp = { .kind = CFI_DEREF, .reg = SP, .offset = UC_RBP },
		.ra = { .kind = CFI_DEREF, .reg = SP, .offset = UC_RIP },
		.is_signal = true,
	};
}
