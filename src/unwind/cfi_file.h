/* unwind/cfi_file.h: the call frame information of an ELF file. */
#ifndef CRESSET_UNWIND_CFI_FILE_H
#define CRESSET_UNWIND_CFI_FILE_H

#include "symbol/elf_file.h"
#include "unwind/cfi.h"

enum { CFI_MAX_SECTION = 512 << 20 }; /* bytes; the largest browsers have some 30 MB */

/* Finds .eh_frame by its section, in files without sections by PT_GNU_EH_FRAME, else .debug_frame; copies it
 * to data, which *out points into. -ENODATA: there is none; -ENOEXEC: malformed; -ENOTSUP: another machine, or compressed. */
int cfi_file_section(const struct elf_file *f, struct buf *data, struct cfi_section *out,
		     struct err *err);

#endif
