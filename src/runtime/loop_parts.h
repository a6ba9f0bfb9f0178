/* runtime/loop_parts.h: the code of an interpreter's loop, which compilers split into parts: the
 * function, and the code it jumps into that does not start like a function. The parts are found by
 * the call frame information, as they have no name in a stripped file. */
#ifndef CRESSET_RUNTIME_LOOP_PARTS_H
#define CRESSET_RUNTIME_LOOP_PARTS_H

#include "bpf/runtime_frame.h"

#include <stdint.h>

struct elf_file;

enum { LOOP_MAX_BYTES = 4 << 20 };

/* start and size are the function's. Returns the number of parts, the function first; parts beyond
 * LOOP_PARTS_MAX are left out. On machines other than x86-64 it returns only the function. */
uint32_t loop_parts_find(const struct elf_file *f, uint64_t start, uint64_t size,
			 struct code_range out[LOOP_PARTS_MAX]);

#endif
