/* Adds names of PLT entries. */
#include "symbol/elf/elf_symbols.h"

#include "base/buf.h"
#include "base/vec.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/file_pages.h"

#include <stdlib.h>
#include <string.h>

/* The position of a PLT stub does not identify its function: linkers lay out stubs differently, and
 * .plt.got has its own order. But each stub contains `jmp *slot(%rip)`, and the relocation of the
 * slot names the symbol. x86-64 only, so everything is 64-bit and little endian here. */

enum {
	PLT_MAX_SLOTS = 1 << 20,
	PLT_MAX_BYTES = 32 << 20, /* of a stub section */
	PLT_PER_READ = 1024,
	SIZE_OF_RELA = 24,
	SIZE_OF_SYM = 24,
	SIZE_OF_STUB = 16,
	SIZE_OF_JUMP = 6, /* ff 25, i32 relative to what follows */
};

struct plt_slot {
	uint64_t addr;
	uint32_t symbol; /* index in .dynsym */
};

struct plt {
	struct elf_symbols *symbols;
	const struct elf_file *file;
	struct file_pages pages; /* of file: stubs and symbols are a few bytes each */
	struct elf_table dynsym;
	uint32_t names; /* start of .dynsym's names */
	VEC(struct plt_slot) slots;
};

static void plt_add_relocations(struct plt *p, const char *section)
{
	uint8_t raw[PLT_PER_READ * SIZE_OF_RELA];
	GElf_Shdr s;
	if (!elf_file_section(p->file, section, SHT_RELA, &s))
		return;
	for (uint64_t at = 0; at < s.sh_size;) {
		uint64_t left = s.sh_size - at;
		size_t max = left < sizeof raw ? left : sizeof raw;
		size_t got = elf_file_read_some(p->file, s.sh_offset + at, raw, max);
		struct cur c = cur_of(raw, got - got % SIZE_OF_RELA);
		if (cur_left(&c) == 0)
			break;
		at += cur_left(&c);
		while (cur_left(&c)) {
			uint64_t addr = cur_u64(&c), info = cur_u64(&c);
			uint32_t type = GELF_R_TYPE(info), symbol = GELF_R_SYM(info);
			cur_u64(&c); /* addend */
			if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) && symbol &&
			    p->slots.n < PLT_MAX_SLOTS)
				vec_push(&p->slots, (struct plt_slot){ addr, symbol });
		}
	}
}

static int slot_compare(const void *a, const void *b)
{
	const struct plt_slot *x = a, *y = b;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Returns the slot through which the stub at vaddr jumps: before the jump there may be endbr64, a
 * bnd prefix or the load of an index. */
static const struct plt_slot *stub_slot(const struct plt *p, const uint8_t *stub, size_t size,
					uint64_t vaddr)
{
	for (size_t at = 0; at + SIZE_OF_JUMP <= size; at++) {
		if (stub[at] != 0xff || stub[at + 1] != 0x25)
			continue;
		struct cur c = cur_of(stub + at + 2, 4);
		int32_t to_slot = cur_u32(&c);
		struct plt_slot key = { .addr = vaddr + at + SIZE_OF_JUMP + (int64_t)to_slot };
		const struct plt_slot *slot =
			bsearch(&key, p->slots.v, p->slots.n, sizeof key, slot_compare);
		if (slot)
			return slot;
	}
	return NULL;
}

static void plt_add_stub(struct plt *p, uint64_t vaddr, size_t size, uint32_t symbol)
{
	uint8_t raw[4];
	if (symbol >= p->dynsym.count ||
	    file_pages_read(&p->pages, p->dynsym.offset + (uint64_t)symbol * SIZE_OF_SYM, raw,
			    sizeof raw) < sizeof raw)
		return;
	struct cur c = cur_of(raw, sizeof raw);
	uint32_t name = cur_u32(&c);
	if (name == 0 || name >= p->dynsym.names_size)
		return;
	vec_push(&p->symbols->v,
		 (struct elf_symbol){
			 .addr = vaddr, .name = p->names + name, .size = size, .plt = 1 });
}

static void plt_add_stubs(struct plt *p, const char *section)
{
	uint8_t stub[SIZE_OF_STUB];
	GElf_Shdr s;
	if (!elf_file_section(p->file, section, SHT_PROGBITS, &s) || s.sh_size > PLT_MAX_BYTES)
		return;
	/* Some linkers omit the entry size of .plt.got; the alignment is used then. */
	size_t size = (s.sh_entsize ? s.sh_entsize : s.sh_addralign) == 8 ? 8 : SIZE_OF_STUB;
	for (uint64_t at = 0; at + size <= s.sh_size; at += size) {
		if (file_pages_read(&p->pages, s.sh_offset + at, stub, size) < size)
			return;
		const struct plt_slot *slot = stub_slot(p, stub, size, s.sh_addr + at);
		if (slot)
			plt_add_stub(p, s.sh_addr + at, size, slot->symbol);
	}
}

void elf_symbols_add_plt(struct elf_symbols *s, const struct elf_file *f)
{
	struct plt p = { .symbols = s, .file = f };
	GElf_Shdr plt_got;
	if (f->header.e_machine != EM_X86_64 || gelf_getclass(f->elf) != ELFCLASS64 ||
	    !elf_table_of_section(f, SHT_DYNSYM, &p.dynsym))
		return;
	plt_add_relocations(&p, ".rela.plt");
	if (elf_file_section(f, ".plt.got", SHT_PROGBITS, &plt_got))
		plt_add_relocations(&p, ".rela.dyn");
	if (p.slots.n && elf_symbols_add_names(s, f, p.dynsym.names_offset, p.dynsym.names_size,
					       &p.names, NULL) == 0) {
		file_pages_init(&p.pages, f);
		qsort(p.slots.v, p.slots.n, sizeof *p.slots.v, slot_compare);
		plt_add_stubs(&p, ".plt");
		plt_add_stubs(&p, ".plt.sec");
		plt_add_stubs(&p, ".plt.got");
		file_pages_done(&p.pages);
	}
	vec_done(&p.slots);
}
