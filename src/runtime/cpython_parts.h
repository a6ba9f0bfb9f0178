/* runtime/cpython_parts.h: CPython 3.6 to 3.15, and later versions that describe themselves the
 * same way: the interfaces between its files, and for runtimes.c. */
#ifndef CRESSET_RUNTIME_CPYTHON_PARTS_H
#define CRESSET_RUNTIME_CPYTHON_PARTS_H

#include "bpf/cpython.h"
#include "runtime/mapped_code.h"
#include "runtime/runtime.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpython_layout;
struct err;

extern const struct runtime_kind cpython_runtime;

/* The walker's maps: layouts by index, processes by pid (bpf/cpython.h). */
#define CPYTHON_LAYOUTS   "cpython_layouts"
#define CPYTHON_PROCESSES "cpython_processes"

/* --- cpython_file.c --------------------------------------------------------------------------- */

/* CPython in an ELF file: a library, the program itself, or any program that has it linked in.
 *
 * It is found by _PyRuntime (3.6: _PyThreadState_Current) in the dynamic symbol table; in a program
 * that exports nothing, by the section .PyRuntime (from 3.10), else by its symbol table. The
 * version comes from _PyRuntime from 3.13 on, from Py_Version from 3.11 on, and for older ones from
 * the functions that each version added. Addresses are the file's own. */

struct cpython_file {
	uint16_t version;
	uint32_t hex;       /* PY_VERSION_HEX, if the file has it; else 0 */
	const char *by;     /* how the version was found, as text for the user */
	uint64_t runtime;   /* _PyRuntime; 3.6: interp_head, 0 if it has no symbol */
	uint64_t current;   /* 3.6: _PyThreadState_Current */
	uint64_t code_type; /* PyCode_Type; 0: has no symbol */

	/* Up to 3.10: the parts of _PyEval_EvalFrameDefault. */
	struct code_range loops[LOOP_PARTS_MAX];
	uint32_t n_loops;

	struct mapped_code code;
};

/* As detect in runtime.h. path may be NULL. */
int cpython_file_read(const struct elf_file *f, const char *path, struct cpython_file *out,
		      struct err *err);

/* --- cpython_threads.c ------------------------------------------------------------------------ */

/* _PyRuntime → interpreters → threads → frames, in the memory of a running process: lists may
 * be truncated or inconsistent at any time. Each is followed for a bounded number of steps. */

enum { CPYTHON_MAX_INTERPRETERS = 1024, CPYTHON_MAX_THREADS = 65536 };

struct cpython_thread {
	uint64_t state, interp;
	uint64_t id; /* its thread pointer; 0: has no thread yet */
};
/* Lists the threads of all interpreters, at most max. */
size_t cpython_threads(const struct cpython_layout *l, uint64_t head_at,
		       const struct runtime_memory *memory, struct cpython_thread *out, size_t max);

/* Checks that the layout fits the process: one of its threads must point back to its interpreter,
 * and have a thread pointer as its id. Returns 0, -EAGAIN if no thread exists yet, or -ENOTSUP if
 * there are threads and none fits. */
int cpython_threads_check(const struct cpython_layout *l, uint64_t head_at,
			  const struct runtime_memory *memory);

/* The words of a frame in a stack, as written by the walker in bpf/. */
struct cpython_frame {
	uint64_t words[2];
};
/* Lists the frames of a thread state, innermost first, including incomplete ones. */
size_t cpython_frames(const struct cpython_layout *l, uint64_t state,
		      const struct runtime_memory *memory, struct cpython_frame *out, size_t max);

/* --- cpython_code.c --------------------------------------------------------------------------- */

/* Code objects in the memory of a process: the function's name, its file and its line table.
 *
 * The process retains running in the meantime. A code object is valid only if it is alive and has
 * the requested stamp, both before and after everything it points to was read: what it points to
 * lives as long as it does. */

/* Characters; a longer text is cut, and ends with "…". CPYTHON_MAX_LINES is in bytes: a code
 * object with a larger table has no lines. */
enum { CPYTHON_MAX_NAME = 1024, CPYTHON_MAX_PATH = 4096, CPYTHON_MAX_LINES = 1 << 20 };

struct cpython_code {
	char *name, *file; /* UTF-8; file NULL: unknown */
	uint32_t first_line;
	uint32_t first_traced; /* bytes: a frame at an earlier instruction is incomplete */
	uint8_t *lines;        /* NULL: unknown */
	uint32_t lines_size;
};

/* type: the address of its type; 0: any. Returns 0 and sets *out, to be released by
 * cpython_code_done; -ESTALE if there is another object or none; -EBADMSG if it is malformed; or
 * the error of reading. */
int cpython_code_read(const struct cpython_layout *l, const struct runtime_memory *memory,
		      uint64_t addr, uint32_t stamp, uint64_t type, struct cpython_code *out);
void cpython_code_done(struct cpython_code *c); /* a zeroed one is fine */
size_t cpython_code_size(const struct cpython_code *c);

/* --- cpython_lines.c -------------------------------------------------------------------------- */

/* Finds the line of an instruction of a code object.
 *
 *     up to 3.9   co_lnotab { u8 bytes, i8 lines } … Objects/lnotab_notes.txt
 *     3.10        co_linetable { u8 bytes, i8 lines } …, lines -128: none the same, PEP 626
 *     from 3.11   co_linetable entries that start with a byte of 1 kind:4 units-1:3
 *                 Objects/locations.md, PEP 657 */

/* offset: in bytes, from the first instruction. Returns 0 if the instruction has no line, or is
 * beyond the table. */
uint32_t cpython_line(uint16_t version, const uint8_t *table, size_t size, uint32_t first_line,
		      uint32_t offset);

#endif
