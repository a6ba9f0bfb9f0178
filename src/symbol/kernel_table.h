/* symbol/kernel_table.h: the functions of /proc/kallsyms, packed, for a process that names kernel frames on and on: reading the text costs
 * 50 to 200 ms of CPU time and 8 MB of memory each time, the table stays and takes a sixth of the text (0.9 MB of 5.4 MB).
 *
 *     blocks, by address     first address, where it is in `packed`
 *     packed                 each block by itself, zstd: KERNEL_TABLE_BLOCK functions
 *                            { varint gap, varint size, varint module, name, NUL }     gap: from the start of the one before
 *
 * A look-up is a binary search among blocks, and one block to unpack unless it is that of the look-up before: ask in order of address. */
#ifndef CRESSET_SYMBOL_KERNEL_TABLE_H
#define CRESSET_SYMBOL_KERNEL_TABLE_H

#include "symbol/symbol.h"

enum { KERNEL_TABLE_BLOCK = 256 };

/* fd: text in the form of /proc/kallsyms, which stays the caller's and is not needed afterwards. Errors and answers are those of
 * symbol_open_kallsyms; what was looked up stays in memory, too, up to NAME_CACHE_MAX_BYTES. */
int symbol_open_kernel_table(int fd, struct symbol_source **out, struct err *err);

/* Bytes of memory, without what was looked up. */
uint64_t kernel_table_bytes(const struct symbol_source *table);

#endif
