/* symbol/elf_layout.h: what of an ELF file lies where in memory. Addresses are those of the file (before relocation). */
#ifndef CRESSET_SYMBOL_ELF_LAYOUT_H
#define CRESSET_SYMBOL_ELF_LAYOUT_H

#include "base/vec.h"
#include "symbol/elf_file.h"

struct elf_segment { /* the part of a PT_LOAD that is in the file */
	uint64_t offset, vaddr, size;
	bool executable;
};
struct elf_code { /* an executable section, or segment where there are no sections */
	uint64_t start, end;
};

struct elf_layout { /* zeroed = empty */
	VEC(struct elf_segment) segments;
	VEC(struct elf_code) code; /* by start */
};

/* -ENODATA when the file has no PT_LOAD: nothing of it can be running. */
int elf_layout_read(struct elf_layout *l, const struct elf_file *f, struct err *err);
void elf_layout_done(struct elf_layout *l);

/* Between file offsets and addresses; the first segment that has them counts. False: not mapped from the file. */
bool elf_layout_vaddr(const struct elf_layout *l, uint64_t offset, uint64_t *vaddr);
bool elf_layout_offset(const struct elf_layout *l, uint64_t vaddr, uint64_t *offset);

/* The end of the code that vaddr lies in, or 0 when it is no code. */
uint64_t elf_layout_code_end(const struct elf_layout *l, uint64_t vaddr);

#endif
