/* symbol/elf/elf_debug.h: finds symbols that were stripped from the file itself. */
#ifndef CRESSET_SYMBOL_ELF_ELF_DEBUG_H
#define CRESSET_SYMBOL_ELF_ELF_DEBUG_H

#include "symbol/symbol.h"

#include <limits.h>

struct buf;
struct elf_file;
struct err;

enum {
	DEBUG_MAX_BUILD_ID = 64,
	DEBUGLINK_MAX_BYTES = NAME_MAX + 1 + 3 + 4, /* name, NUL, padding, CRC */
};

/* A request for a debug file. Do not copy it: req points into it. */
struct debug_wanted {
	struct debug_request req;
	uint8_t build_id[DEBUG_MAX_BUILD_ID];
	char link[DEBUGLINK_MAX_BYTES];
};
void elf_debug_want(const struct elf_file *main, struct debug_wanted *out);

/* Opens the separate debug file of main: calls locate until a file matches (same build id, else the
 * CRC of the debuglink) and has a .symtab. On success *debug is open, and the caller closes
 * debug->fd. */
bool elf_debug_open(const struct elf_file *main, debug_locate_fn *locate, void *ctx,
		    struct elf_file *debug);

/* Appends the decompressed .gnu_debugdata ("mini debug info": an ELF file with a .symtab, in xz) to
 * image. Returns false if none exists, with -EBADMSG in err if it is damaged. */
bool elf_debugdata_unpack(const struct elf_file *main, struct buf *image, struct err *err);

#endif
