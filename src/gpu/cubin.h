/* gpu/cubin.h: NVIDIA's ELF files of device code: which function, line and instruction is at an offset of a kernel.
 *
 *     .text._Z5saxpyPfi       a kernel, or a device function that was compiled alone; addresses all begin at 0
 *     .symtab                 "_Z5saxpyPfi" (STO_CUDA_ENTRY: a kernel), "$_Z5saxpyPfi$_Z5heavyf" (a device function in its text)
 *     .debug_line             DWARF 2; .rela.debug_line says which sequence belongs to which text
 *       DW_LNE 0x90 context name   what a row was inlined into (the number of another row), and the function's name in .debug_str
 *     e_flags                 the SM: bits 0-7 up to ABI 7, bits 8-15 from ABI 8 (CUDA 13) on
 *
 * So each text section gets a range of an address space of our own, the line programs are relocated into it and read by the
 * project's DWARF reader. The form of the line extension is that of elfutils' dwarf.h (DW_LNE_NVIDIA_*).
 *
 * A file comes from a target and is hostile: sizes are checked, counts have the limits below, what could not be read is counted. One
 * thread at a time. */
#ifndef CRESSET_GPU_CUBIN_H
#define CRESSET_GPU_CUBIN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CUBIN_MAX_BYTES = 1 << 30,
	CUBIN_MAX_TEXTS = 1 << 16,
	CUBIN_MAX_FUNCTIONS = 1 << 20,
	CUBIN_MAX_NAME = 64 << 10, /* longer ones are left out */
	CUBIN_MAX_DEPTH = 32,      /* of inlined calls; deeper ones are cut at the outer end */
	CUBIN_INSTRUCTION = 16,    /* bytes */
};

/* A text section: what a profiler calls the function of a sample, and what its offsets count from. */
struct cubin_text {
	const char *linkage; /* "_Z5saxpyPfi" */
	const char *name;    /* demangled */
	uint64_t size;
	bool kernel; /* can be launched */
};
/* A function in a text. Several lie in one: the first is the text's own and covers all of it. */
struct cubin_function {
	const char *linkage, *name;
	uint64_t start, size; /* in its text */
	uint32_t text;
};

/* A function at a place, with the line in it. */
struct cubin_frame {
	const char *linkage, *name; /* NULL: not known */
	const char *dir, *file;     /* of the line: "/src/lib", "a.cu"; NULL: not known */
	uint32_t line;              /* 0: not known */
	bool inlined;               /* into the next one; else it was called by that */
};

struct cubin;

/* Opens the ELF file at fd, or its image; either must stay until cubin_close. -ENOEXEC: no ELF file of NVIDIA's, -ENODATA: it has no
 * code, -E2BIG: past a limit. */
int cubin_open(int fd, struct cubin **out, struct err *err);
int cubin_open_image(const void *image, size_t size, struct cubin **out, struct err *err);
void cubin_close(struct cubin *c); /* NULL is fine */

/* 90 for sm_90. */
unsigned cubin_sm(const struct cubin *c);
/* Symbols and line rows that could not be read. */
uint64_t cubin_skipped(const struct cubin *c);

/* Texts in the order of the file, functions by text and start. Valid until cubin_close. */
const struct cubin_text *cubin_texts(const struct cubin *c, uint32_t *n);
const struct cubin_function *cubin_functions(const struct cubin *c, uint32_t *n);
/* The text of a mangled name; false when there is none. */
bool cubin_find(const struct cubin *c, const char *linkage, uint32_t *text);

/* What runs at an offset of a text, innermost first: functions inlined into each other, then the function that the code belongs to, then
 * (of a device function within a kernel's text) the kernel. At most max, the outermost are cut. 0: no such place. Strings are valid until cubin_close. */
uint32_t cubin_lookup(struct cubin *c, uint32_t text, uint64_t offset, struct cubin_frame *out,
		      uint32_t max);

/* The two words of the instruction that contains the offset. */
bool cubin_instruction(const struct cubin *c, uint32_t text, uint64_t offset, uint64_t word[2]);

#endif
