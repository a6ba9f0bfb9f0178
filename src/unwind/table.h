/* unwind/table.h: the unwind table of one ELF object, built from its call frame information and,
 * for a Go program, its gopclntab. Its layout is in bpf/unwind_table.h. */
#ifndef CRESSET_UNWIND_TABLE_H
#define CRESSET_UNWIND_TABLE_H

#include "bpf/unwind_table.h"

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* libLLVM has 0.8 million rows and a table of 2.5 MiB. */
/* limit UNWIND_MAX_ROWS: rows of a file's call frame information */
/* limit UNWIND_MAX_IMAGE: bytes of its unwind table */
enum { UNWIND_MAX_ROWS = 16 << 20, UNWIND_MAX_IMAGE = 128 << 20 };

struct unwind_table {
	struct buf image;            /* whole chunks */
	struct unwind_table_ref ref; /* with chunk = 0 */
	uint32_t n_rules;
	/* Input: functions and rows, and malformed entries. */
	uint64_t n_functions, n_rows, skipped;
};

/* Builds the table of the ELF file open at fd, which stays the caller's. Returns 0, or -ENOEXEC if
 * it is not an ELF file, -ENODATA if it has no information about its frames, -ENOTSUP if it is for
 * another machine, -E2BIG past a limit, -EBADMSG if it is damaged. */
int unwind_table_build(int fd, struct unwind_table *out, struct err *err);
void unwind_table_done(struct unwind_table *t); /* a zeroed one is fine */

/* Returns the rule at a file offset, NULL if none exists. Gaps between and around functions have
 * the rule UNWIND_GAP. */
const struct unwind_rule *unwind_table_find(const struct unwind_table *t, uint64_t offset);

#endif
