/* runtime/cpython_code.h: code objects in the memory of a process: what the function is called, where it is, and its line table.
 *
 * The process runs on meanwhile. A code object counts only if it is one, alive, and the one that was asked for (its stamp), before and after
 * everything that it points to was read: what it points to lives as long as it does. */
#ifndef CRESSET_RUNTIME_CPYTHON_CODE_H
#define CRESSET_RUNTIME_CPYTHON_CODE_H

#include "bpf/cpython.h"
#include "runtime/runtime.h"

/* In characters; what is longer is cut, and ends with "…". In bytes; a code object with a larger table has no lines. */
enum { CPYTHON_MAX_NAME = 1024, CPYTHON_MAX_PATH = 4096, CPYTHON_MAX_LINES = 1 << 20 };

struct cpython_code {
	char *name, *file; /* UTF-8; file NULL: not known */
	uint32_t first_line;
	uint32_t first_traced; /* bytes: an instruction before it is not of a complete frame */
	uint8_t *lines;        /* NULL: not known */
	uint32_t lines_size;
};

/* type: what its type has to be, 0: anything. 0 and *out, to be done; -ESTALE: there is another one, or none any more; -EBADMSG: it cannot be
 * understood; or what reading gave. */
int cpython_code_read(const struct cpython_layout *l, const struct runtime_memory *memory,
		      uint64_t addr, uint32_t stamp, uint64_t type, struct cpython_code *out);
void cpython_code_done(struct cpython_code *c); /* of a zeroed one is fine */
size_t cpython_code_size(const struct cpython_code *c);

/* Appends a string object's text: -EBADMSG: it is none. */
int cpython_str_read(const struct cpython_layout *l, const struct runtime_memory *memory,
		     uint64_t addr, uint32_t max_chars, struct buf *out);

#endif
