/* runtime/cpython_loop.h: the code of CPython's loop, which compilers split into parts: the function, and what it jumps into that does not
 * begin like a function. Told by the call frame information, as split parts have no name in a stripped file. */
#ifndef CRESSET_RUNTIME_CPYTHON_LOOP_H
#define CRESSET_RUNTIME_CPYTHON_LOOP_H

#include "bpf/cpython.h"
#include "symbol/elf_file.h"

enum { CPYTHON_MAX_LOOP_BYTES = 4 << 20 };

/* start, size: of the function. Returns the number of parts, the function first; more than CPYTHON_MAX_LOOPS are left out. x86-64; of other
 * machines the function alone. */
uint32_t cpython_loop_parts(const struct elf_file *f, uint64_t start, uint64_t size,
			    struct cpython_range out[CPYTHON_MAX_LOOPS]);

#endif
