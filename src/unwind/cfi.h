/* unwind/cfi.h: call frame information (.eh_frame, .debug_frame) as rows: each gives the rule that
 * leads from a frame to its caller, from an address on.
 *
 * Compilers write it as small programs, one per function (FDE) after a shared start (CIE);
 * running them gives a table. Only the parts needed for a stack walk are followed: the start of the
 * frame (the CFA), the frame pointer and the return address.
 *
 * Sources: DWARF 5, 6.4; System V ABI x86-64, 3.7; Linux Standard Base, "Exception Frames". */
#ifndef CRESSET_UNWIND_CFI_H
#define CRESSET_UNWIND_CFI_H

#include "unwind/cfi_rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct elf_file;
struct elf_layout;
struct err;

/* Returns NULL for unknown machines. */
const struct cfi_arch *cfi_arch_of(uint16_t machine);
/* For the few objects with a CFA based on rbx, such as the dynamic linker's code that binds
 * functions. Returns NULL for machines other than x86-64. */
const struct cfi_arch *cfi_arch_with_bx(const struct cfi_arch *arch);

struct cfi_fde {
	uint64_t start, end;
	const struct cfi_row
		*rows; /* at least one, the first at start; ascending; adjacent rows differ */
	size_t n;
};

struct cfi_section {
	const void *data;
	size_t size;
	uint64_t addr; /* of its first byte, as linked */
	bool is_debug_frame;
	bool ends_itself; /* by a length of 0: other data may follow */
	const struct cfi_arch *arch;
	uint64_t text_addr, data_addr; /* bases of relative pointers; 0 where unknown */
};

/* Calls on_fde for each function in the order of the section, until it returns false. Malformed
 * entries are skipped and counted in *skipped. Returns 0, or -EBADMSG if the section is damaged
 * from some point on (functions before it have been passed to on_fde). */
int cfi_read(const struct cfi_section *s, bool (*on_fde)(void *ctx, const struct cfi_fde *fde),
	     void *ctx, uint64_t *skipped, struct err *err);

/* --- cfi_file.c ------------------------------------------------------------------------------- */

/* The call frame information of an ELF file. */

/* Uncompressed bytes; the largest browsers have about 30 MB. */
enum { CFI_MAX_SECTION = 128 << 20 }; /* limit: call frame information of a file, uncompressed */

/* The section that a program needs at run time, and the one that its compiler left for debuggers,
 * for functions that have only that. */
enum cfi_file_kind { CFI_EH_FRAME, CFI_DEBUG_FRAME };

/* Copies the section, uncompressed, to data, which *out points into. .eh_frame is found by its
 * section, or in files without sections by PT_GNU_EH_FRAME. Returns -ENODATA if none exists,
 * -ENOEXEC if it is malformed, -EBADMSG if it is damaged, -E2BIG past a limit, -ENOTSUP for another
 * machine or an unknown compression. */
int cfi_file_section(const struct elf_file *f, enum cfi_file_kind kind, struct buf *data,
		     struct cfi_section *out, struct err *err);

/* The longest piece of code without call frame information, between two functions that have it. */
struct cfi_gap {
	uint64_t start, end; /* as linked */
	uint64_t next_bytes; /* of the second longest; 0: shorter than 4 KiB */
};

/* limit: rows of a file's search table that are read */
enum { CFI_MAX_SEARCHED = 1 << 20 };

/* Finds it by the search table that PT_GNU_EH_FRAME has, without a copy of that. Returns -ENODATA
 * if the file has no such table, or no piece of 4 KiB; -E2BIG past the limit; -EBADMSG if the table
 * is damaged or not sorted.
 * Source: Linux Standard Base, "The .eh_frame_hdr section". */
int cfi_file_gap(const struct elf_file *f, const struct elf_layout *layout, struct cfi_gap *out);

/* --- restorer.c ------------------------------------------------------------------------------- */

/* Finds the code that signal handlers return to, by its bytes.
 *
 * glibc describes this frame in its call frame information; other C libraries, and programs that
 * were linked with them, do not. x86-64 only: `mov $15, %rax; syscall`. */

enum {
	RESTORER_SIZE = 9,
	RESTORER_MAX = 16,            /* per file */
	RESTORER_MAX_TEXT = 64 << 20, /* limit: code searched for signal restorers */
};

/* Stores the file offsets of at most RESTORER_MAX of them and returns their number. Searches only
 * files that may contain a C library: the ones that need no other. */
size_t restorer_find(const struct elf_file *f, const struct elf_layout *l,
		     uint64_t offsets[RESTORER_MAX]);

/* The rule for the registers that the kernel saved for the interrupted frame. */
struct cfi_rule restorer_rule(void);

#endif
