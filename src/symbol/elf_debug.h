/* symbol/elf_debug.h: where symbols are when they were stripped from the file itself. */
#ifndef CRESSET_SYMBOL_ELF_DEBUG_H
#define CRESSET_SYMBOL_ELF_DEBUG_H

#include "base/buf.h"
#include "symbol/elf_file.h"
#include "symbol/symbol.h"

#include <limits.h>

enum {
	DEBUG_MAX_BUILD_ID = 64,
	DEBUGLINK_MAX_BYTES = NAME_MAX + 1 + 3 + 4, /* name, NUL, padding, CRC */
};

/* What to ask for. Not to be copied: req points into it. */
struct debug_wanted {
	struct debug_request req;
	uint8_t build_id[DEBUG_MAX_BUILD_ID];
	char link[DEBUGLINK_MAX_BYTES];
};
void elf_debug_want(const struct elf_file *main, struct debug_wanted *out);

/* The separate debug file of main: asks locate until a file fits (same build id, else same CRC as the debuglink says) and has
 * a .symtab. On success *debug is open, debug->fd is the caller's to close. */
bool elf_debug_open(const struct elf_file *main, debug_locate_fn *locate, void *ctx,
		    struct elf_file *debug);

/* The unpacked .gnu_debugdata ("mini debug info": an ELF file with a .symtab, in xz), appended to image. False when there is
 * none; -EBADMSG in err when it is damaged. */
bool elf_debugdata_unpack(const struct elf_file *main, struct buf *image, struct err *err);

#endif
