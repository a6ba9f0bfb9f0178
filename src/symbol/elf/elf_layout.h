/* symbol/elf/elf_layout.h: maps between file offsets and addresses of an ELF file. Addresses are
 * those of the file (before relocation). */
#ifndef CRESSET_SYMBOL_ELF_ELF_LAYOUT_H
#define CRESSET_SYMBOL_ELF_ELF_LAYOUT_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_file;
struct err;

struct elf_segment { /* the part of a PT_LOAD that is in the file */
	uint64_t offset, vaddr, size;
	bool executable;
};
struct elf_code { /* an executable section, or a segment if there are no sections */
	uint64_t start, end;
};

struct elf_layout { /* zeroed = empty */
	VEC(struct elf_segment) segments;
	VEC(struct elf_code) code; /* by start */
};

/* Returns -ENODATA if the file has no PT_LOAD: then none of it can be running. */
int elf_layout_read(struct elf_layout *l, const struct elf_file *f, struct err *err);
void elf_layout_done(struct elf_layout *l);

/* Convert between file offsets and addresses; the first matching segment counts. Return false if
 * not mapped from the file. */
bool elf_layout_vaddr(const struct elf_layout *l, uint64_t offset, uint64_t *vaddr);
bool elf_layout_offset(const struct elf_layout *l, uint64_t vaddr, uint64_t *offset);

/* Returns the end of the code that contains vaddr, or 0 if it is not code. */
uint64_t elf_layout_code_end(const struct elf_layout *l, uint64_t vaddr);

#endif
