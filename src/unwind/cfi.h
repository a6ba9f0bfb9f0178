/* unwind/cfi.h: call frame information (.eh_frame, .debug_frame) as rows: from which address on which rule leads from a frame to
 * its caller.
 *
 * Compilers write it as small programs, one per function (FDE) over a shared beginning (CIE); running them gives a table. Only what
 * a stack walk needs is followed: where the frame begins (the CFA), the frame pointer and the return address.
 *
 * Sources: DWARF 5, 6.4; System V ABI x86-64, 3.7; Linux Standard Base, "Exception Frames". */
#ifndef CRESSET_UNWIND_CFI_H
#define CRESSET_UNWIND_CFI_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DWARF's numbers of the registers that matter. */
struct cfi_arch {
	uint16_t machine; /* EM_X86_64 … */
	uint8_t sp, fp, ra, pc, address_size;
	bool ra_in_register; /* the return address is in its register until it is saved (arm64) */
	bool follows_bx;     /* rbx is followed, too */
};
/* NULL for machines that are not known. */
const struct cfi_arch *cfi_arch_of(uint16_t machine);
/* For the few objects that have a CFA on rbx: the dynamic linker binds functions so. NULL for other machines than x86-64. */
const struct cfi_arch *cfi_arch_with_bx(const struct cfi_arch *arch);
enum { CFI_BX = 3 };

enum cfi_kind {
	CFI_NONE, /* CFA: no rule (between functions). Register: not touched, has its caller's value */
	CFI_UNDEFINED, /* register: gone; of the return address: this is the outermost frame */
	CFI_OFFSET,    /* CFA: reg + offset. Register: saved at CFA + offset */
	CFI_VALUE,     /* register: its value was CFA + offset */
	CFI_REGISTER,  /* register: its value is in reg */
	CFI_DEREF,     /* CFA: *(reg + offset) + add. Register: saved at reg + offset */
	CFI_PLT,       /* CFA of a PLT stub: sp + 8, and 8 more from byte `add` of each 16 on */
	CFI_OTHER,     /* an expression of another form */
};
struct cfi_place {
	uint8_t kind, reg;
	int32_t add;
	int64_t offset;
};
struct cfi_rule {
	struct cfi_place cfa, fp, ra, bx; /* bx: where it is followed */
	bool follows_bx;
	bool is_signal;    /* the caller was interrupted, not called: its address is exact */
	bool ra_is_signed; /* arm64: by a pointer authentication code */
};
struct cfi_row {
	uint64_t addr; /* from here on, to the next row's or the function's end */
	struct cfi_rule rule;
};
struct cfi_fde {
	uint64_t start, end;
	const struct cfi_row
		*rows; /* at least one, the first at start; increasing; neighbours differ */
	size_t n;
};

struct cfi_section {
	const void *data;
	size_t size;
	uint64_t addr; /* of its first byte, as linked */
	bool is_debug_frame;
	bool ends_itself; /* by a length of 0: what comes after it is something else */
	const struct cfi_arch *arch;
	uint64_t text_addr, data_addr; /* bases of relative pointers; 0 where unknown */
};

/* What is read of one section; more is -E2BIG. */
enum { CFI_MAX_FDES = 8 << 20, CFI_MAX_ROWS_PER_FDE = 1 << 20, CFI_MAX_STATES = 64 };

/* Calls on_fde for each function in the order of the section, until it gives false. Malformed entries are passed over and
 * counted in *skipped. 0, or -EBADMSG when the section is damaged from some place on (what was before it has been given). */
int cfi_read(const struct cfi_section *s, bool (*on_fde)(void *ctx, const struct cfi_fde *fde),
	     void *ctx, uint64_t *skipped, struct err *err);

bool cfi_rule_equal(const struct cfi_rule *a, const struct cfi_rule *b);

#endif
