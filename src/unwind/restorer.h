/* unwind/restorer.h: the code that signal handlers return to, by its bytes.
 *
 * glibc describes this frame in its call frame information; other C libraries, and programs that were linked with them, do not.
 * x86-64 only: `mov $15, %rax; syscall`. */
#ifndef CRESSET_UNWIND_RESTORER_H
#define CRESSET_UNWIND_RESTORER_H

#include "symbol/elf_layout.h"
#include "unwind/cfi.h"

enum {
	RESTORER_SIZE = 9,
	RESTORER_MAX = 16,            /* in a file */
	RESTORER_MAX_TEXT = 64 << 20, /* bytes that are searched */
};

/* Gives the file offsets of at most RESTORER_MAX of them. Looks only where a C library can be: into files that need no
 * other. */
size_t restorer_find(const struct elf_file *f, const struct elf_layout *l,
		     uint64_t offsets[RESTORER_MAX]);

/* Where the kernel left the interrupted frame's registers. */
struct cfi_rule restorer_rule(void);

#endif
