/* gpu/code/cubin.h: NVIDIA's ELF files of device code: finds the function, line and instruction at
 * an offset of a kernel.
 *
 *     .text._Z5saxpyPfi       a kernel, or a device function compiled separately; addresses all
 *                             start at 0
 *     .symtab                 "_Z5saxpyPfi" (STO_CUDA_ENTRY: a kernel), "$_Z5saxpyPfi$_Z5heavyf" (a
 *                             device function in its text)
 *     .debug_line             DWARF 2; .rela.debug_line assigns sequences to texts
 *       DW_LNE 0x90 context name   the row's call site, if inlined (number of another row; numbers
 *                                  restart with each sequence), and the function's name in
 *                                  .debug_str
 *     e_flags                 the SM: bits 0-7 up to ABI 7, bits 8-15 from ABI 8 (CUDA 13) on
 *
 * So each text section gets a range in an address space of our own; the line programs are relocated
 * into it and read by the project's DWARF reader. The form of the line extension is that of
 * elfutils' dwarf.h (DW_LNE_NVIDIA_*).
 *
 * Files come from targets and are not trusted: sizes are checked, counts have the limits below,
 * unreadable parts are counted. One thread at a time. */
#ifndef CRESSET_GPU_CODE_CUBIN_H
#define CRESSET_GPU_CODE_CUBIN_H

#include "profile/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum {
	CUBIN_MAX_BYTES = 1 << 30,
	CUBIN_MAX_TEXTS = 1 << 16,
	CUBIN_MAX_FUNCTIONS = 1 << 20,
	CUBIN_MAX_NAME = 64 << 10, /* longer ones are left out */
	CUBIN_MAX_DEPTH = 32,      /* of inlined calls; the outermost are cut */
	CUBIN_INSTRUCTION = 16,    /* bytes */
};

/* A text section: the function that a profiler names in a sample, and the base of its offsets. */
struct cubin_text {
	const char *linkage; /* "_Z5saxpyPfi" */
	const char *name;    /* demangled */
	uint64_t size;
	bool kernel; /* can be launched */
};
/* A function in a text, which may have several: the first is the text's own and covers all of
 * it. */
struct cubin_function {
	const char *linkage, *name;
	uint64_t start, size; /* in its text */
	uint32_t text;
};

/* A function at an offset, with the line in it. */
struct cubin_frame {
	const char *linkage, *name; /* NULL: unknown */
	const char *dir, *file;     /* of the line: "/src/lib", "a.cu"; NULL: unknown */
	uint32_t line;              /* 0: unknown */
	bool inlined;               /* into the next frame; else called by it */
};

struct cubin;

/* Opens the ELF file at fd, or its image; either must stay until cubin_close. Returns -ENOEXEC if
 * it is not an ELF file of NVIDIA's, -ENODATA if it has no code, -E2BIG past a limit. */
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
/* Finds the text with a mangled name. Returns false if none exists. */
bool cubin_find(const struct cubin *c, const char *linkage, uint32_t *text);

/* Finds the frames at an offset of a text, innermost first: functions inlined into each other, then
 * the function that contains the code, then (for a device function within a kernel's text) the
 * kernel. Stores at most max frames, without the outermost. Returns 0 if no such place exists.
 * Strings are valid until cubin_close. */
uint32_t cubin_lookup(struct cubin *c, uint32_t text, uint64_t offset, struct cubin_frame *out,
		      uint32_t max);

/* Reads the two words of the instruction that contains the offset. */
bool cubin_instruction(const struct cubin *c, uint32_t text, uint64_t offset, uint64_t word[2]);

/* --- cubin_names.c ---------------------------------------------------------------------------- */

/* The functions of a cubin by name only, at a hundredth of the cost of cubin_open: for searches
 * through thousands. */

/* linkage: valid during the call. size: of its text. */
typedef void cubin_name_fn(void *ctx, const char *linkage, uint64_t size);

/* Calls fn for each text, in the order of the file. Returns false if it is not a cubin; any bytes
 * are safe. */
bool cubin_names(const void *image, size_t size, cubin_name_fn *fn, void *ctx);

/* --- cubin_layers.c --------------------------------------------------------------------------- */

/* A place in a kernel as the layers of an "AI flame graph", outermost first:
 *
 *     directories of the source file … ; file ; kernel ; device functions, called or inlined … ;
 *     mnemonic ; stall reason ; offset
 *
 * Kinds: gpu-source for directories and file, gpu-function for functions including the kernel,
 * gpu-instruction for mnemonic and offset ("0x1a0"), gpu-stall. */
enum cubin_layer {
	CUBIN_DIRECTORIES = 1,
	CUBIN_FILE = 2,
	CUBIN_FUNCTIONS = 4,
	CUBIN_MNEMONIC = 8,
	CUBIN_STALL = 16,
	CUBIN_OFFSET = 32,
	CUBIN_ALL_LAYERS = 63,
};

/* file and line: for functions, their place in the source; else NULL and 0. Strings are valid
 * during the call. */
typedef void cubin_layer_fn(void *ctx, enum frame_kind kind, const char *name, const char *file,
			    uint32_t line);

/* Calls fn for each known layer among those requested (bits of enum cubin_layer). stall: a name, or
 * NULL. Returns the number of layers: 0 if no such place exists. */
uint32_t cubin_layers(struct cubin *c, uint32_t text, uint64_t offset, const char *stall,
		      unsigned layers, cubin_layer_fn *fn, void *ctx);

#endif
