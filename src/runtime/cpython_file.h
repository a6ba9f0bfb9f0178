/* runtime/cpython_file.h: CPython in an ELF file: a library, the program itself, or any program that has it linked in.
 *
 * Found by _PyRuntime (3.6: _PyThreadState_Current) in the dynamic symbol table; of a program that exports nothing by the section .PyRuntime
 * (from 3.10), else by its symbol table. The version is told by itself from 3.13 on, by Py_Version from 3.11, before by the functions that
 * each version brought. Addresses are the file's own. */
#ifndef CRESSET_RUNTIME_CPYTHON_FILE_H
#define CRESSET_RUNTIME_CPYTHON_FILE_H

#include "runtime/cpython_layout.h"

enum { CPYTHON_MAX_SEGMENTS = 8 };

struct cpython_file {
	uint16_t version;
	uint32_t hex;       /* PY_VERSION_HEX, where the file tells it; else 0 */
	const char *by;     /* what the version was told by, for people */
	uint64_t runtime;   /* _PyRuntime; of 3.6: interp_head, 0 where that has no name */
	uint64_t current;   /* 3.6: _PyThreadState_Current */
	uint64_t code_type; /* PyCode_Type; 0: has no name */

	/* To 3.10: the parts of _PyEval_EvalFrameDefault. */
	struct cpython_range loops[CPYTHON_MAX_LOOPS];
	uint32_t n_loops;

	/* Code in the file: offsets, and what to add to come to addresses. */
	struct cpython_code_segment {
		uint64_t offset, size, skew;
	} segments[CPYTHON_MAX_SEGMENTS];
	uint32_t n_segments;
};

/* As detect in runtime.h. path may be NULL. */
int cpython_file_read(const struct elf_file *f, const char *path, struct cpython_file *out,
		      struct err *err);

/* What to add to the file's addresses, where code at start is what the file has from pgoff on. False: it has none there. */
bool cpython_file_bias(const struct cpython_file *file, uint64_t start, uint64_t pgoff,
		       uint64_t *bias);

#endif
