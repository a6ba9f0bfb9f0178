/* runtime/cpython_lines.h: from an instruction of a code object to its line.
 *
 *     to 3.9      co_lnotab     { u8 bytes, i8 lines } …                                  Objects/lnotab_notes.txt
 *     3.10        co_linetable  { u8 bytes, i8 lines } …, lines -128: none                the same, PEP 626
 *     from 3.11   co_linetable  entries that begin with a byte of 1 kind:4 units-1:3      Objects/locations.md, PEP 657 */
#ifndef CRESSET_RUNTIME_CPYTHON_LINES_H
#define CRESSET_RUNTIME_CPYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/* offset: in bytes, from the first instruction. 0: the instruction has none, or the table does not reach so far. */
uint32_t cpython_line(uint16_t version, const uint8_t *table, size_t size, uint32_t first_line,
		      uint32_t offset);

#endif
