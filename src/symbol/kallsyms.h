/* symbol/kallsyms.h: the functions of /proc/kallsyms, compressed, for a process that names kernel
 * frames continuously. Reading the text costs 50 to 200 ms of CPU time and 8 MB of memory each
 * time; the table is retained and takes a sixth of the text (0.9 MB of 5.4 MB).
 *
 *     blocks, by address     first address, position in `packed`
 *     packed                 each block separately, zstd: KERNEL_TABLE_BLOCK functions
 *                            { varint gap, varint size, varint module, name, NUL };
 *                            gap: from the start of the previous one
 *
 * A lookup is a binary search for a block, which is then decompressed unless it was used by the
 * previous lookup: look up in order of address. */
#ifndef CRESSET_SYMBOL_KALLSYMS_H
#define CRESSET_SYMBOL_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct symbol_source;

enum { KERNEL_TABLE_BLOCK = 256 };

/* fd: text in the format of /proc/kallsyms; it stays the caller's and is not needed afterwards.
 * Errors and answers are those of symbol_open_kallsyms. Names that were looked up stay in memory,
 * too, up to NAME_CACHE_MAX_BYTES. */
int symbol_open_kernel_table(int fd, struct symbol_source **out, struct err *err);

/* A table of only the kernel's own functions is the same after each boot, except the address that
 * the kernel is loaded at. So it can be stored:
 *
 *     "CRKSYMS\1"   u64 hash of the rest   u32 number of blocks
 *     each block    u64 first address, less start; u32 compressed bytes; u32 plain bytes
 *     blocks
 *
 * Little-endian. table_of takes them from an open source of symbol_open_kallsyms, from start
 * (_text) up to end: -ENODATA if it has no such function. table_read: -EBADMSG if it is damaged. */
int kernel_table_of(const struct symbol_source *kallsyms, uint64_t start, uint64_t end,
		    struct symbol_source **out);
void kernel_table_write(const struct symbol_source *table, struct buf *out);
int kernel_table_read(const void *data, size_t len, uint64_t start, struct symbol_source **out);

/* Returns the bytes of memory, without names that were looked up. */
uint64_t kernel_table_size_bytes(const struct symbol_source *table);

#endif
