/* symbol/elf_debug.h: where symbols are when they were stripped from the file itself. */
#ifndef CRESSET_SYMBOL_ELF_DEBUG_H
#define CRESSET_SYMBOL_ELF_DEBUG_H

#include "base/buf.h"
#include "symbol/elf_file.h"
#include "symbol/symbol.h"

/* The separate debug file of main: asks locate until a file fits (same build id, else same CRC as the debuglink says) and has
 * a .symtab. On success *debug is open, debug->fd is the caller's to close. */
bool elf_debug_open(const struct elf_file *main, debug_locate_fn *locate, void *ctx,
		    struct elf_file *debug);

/* The unpacked .gnu_debugdata ("mini debug info": an ELF file with a .symtab, in xz), appended to image. False when there is
 * none; -EBADMSG in err when it is damaged. */
bool elf_debugdata_unpack(const struct elf_file *main, struct buf *image, struct err *err);

#endif
