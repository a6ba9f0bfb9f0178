/* unwind/cfi_file.h: the call frame information of an ELF file. */
#ifndef CRESSET_UNWIND_CFI_FILE_H
#define CRESSET_UNWIND_CFI_FILE_H

#include "symbol/elf_file.h"
#include "unwind/cfi.h"

/* Bytes, unpacked; the largest browsers have some 30 MB. */
enum { CFI_MAX_SECTION = 128 << 20 };

/* What a program needs at run time, and what its compiler left for debuggers, where that is all there is of a function. */
enum cfi_file_kind { CFI_EH_FRAME, CFI_DEBUG_FRAME };

/* Copies the section, unpacked, to data, which *out points into. .eh_frame is found by its section, in files without sections by
 * PT_GNU_EH_FRAME. -ENODATA: there is none; -ENOEXEC: malformed; -EBADMSG: damaged; -E2BIG; -ENOTSUP: another machine, or an
 * unknown compression. */
int cfi_file_section(const struct elf_file *f, enum cfi_file_kind kind, struct buf *data,
		     struct cfi_section *out, struct err *err);

#endif
