/* unwind/table.h: the unwind table of one ELF object, built from its call frame information and, of a Go program, its gopclntab.
 * Its layout is in bpf/unwind_table.h. */
#ifndef CRESSET_UNWIND_TABLE_H
#define CRESSET_UNWIND_TABLE_H

#include "bpf/unwind_table.h"

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libLLVM has 0.8 million rows and a table of 2.5 MiB. */
enum { UNWIND_MAX_ROWS = 16 << 20, UNWIND_MAX_IMAGE = 128 << 20 };

struct unwind_table {
	struct buf image;            /* whole chunks */
	struct unwind_table_ref ref; /* with chunk = 0 */
	uint32_t n_rules;
	/* What went in: functions and rows, and entries that were malformed. */
	uint64_t n_functions, n_rows, skipped;
};

/* Builds the table of the ELF file open at fd, which stays the caller's. 0, or -ENOEXEC: no ELF file; -ENODATA: it says nothing
 * about its frames; -ENOTSUP: made for another machine; -E2BIG: past a limit; -EBADMSG: damaged. */
int unwind_table_build(int fd, struct unwind_table *out, struct err *err);
void unwind_table_done(struct unwind_table *t); /* of a zeroed one is fine */

/* The rule at a file offset; NULL where there is none. Of gaps between functions and around them it is UNWIND_GAP. */
const struct unwind_rule *unwind_table_find(const struct unwind_table *t, uint64_t offset);

#endif
