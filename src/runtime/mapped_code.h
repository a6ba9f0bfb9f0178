/* runtime/mapped_code.h: the code of an ELF file, and by how much a process has moved it. */
#ifndef CRESSET_RUNTIME_MAPPED_CODE_H
#define CRESSET_RUNTIME_MAPPED_CODE_H

#include <stdbool.h>
#include <stdint.h>

struct elf_file;

enum { MAPPED_CODE_MAX = 8 };

struct mapped_code { /* zeroed = none */
	/* Offsets in the file, and the difference between addresses and offsets. */
	struct mapped_code_segment {
		uint64_t offset, size, skew;
	} segments[MAPPED_CODE_MAX];
	uint32_t n;
};

/* Segments beyond the limit are left out. */
void mapped_code_read(const struct elf_file *f, struct mapped_code *out);

/* Sets *bias to the difference between the process's and the file's addresses, given that code at
 * start is mapped from pgoff of the file. Returns false if the file has no code there. */
bool mapped_code_bias(const struct mapped_code *code, uint64_t start, uint64_t pgoff,
		      uint64_t *bias);

#endif
