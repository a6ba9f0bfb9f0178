/* unwind/cfi_rule.h: a row of call frame information (unwind/cfi.h): where a frame starts, and
 * where it saved its caller's registers. */
#ifndef CRESSET_UNWIND_CFI_RULE_H
#define CRESSET_UNWIND_CFI_RULE_H

#include <stdbool.h>
#include <stdint.h>

/* Limits for one section; more is -E2BIG. */
/* limit CFI_MAX_FDES: functions in a file's call frame information */
enum { CFI_MAX_FDES = 8 << 20, CFI_MAX_ROWS_PER_FDE = 1 << 20, CFI_MAX_STATES = 64 };

/* DWARF's numbers of the registers that are followed. */
struct cfi_arch {
	uint16_t machine; /* EM_X86_64 … */
	uint8_t sp, fp, ra, pc, address_size;
	bool ra_in_register; /* the return address is in its register until it is saved (arm64) */
	bool follows_bx;     /* rbx is also followed */
};

enum { CFI_BX = 3 }; /* rbx */

enum cfi_kind {
	/* CFA: no rule (between functions). Register: untouched, has its caller's value */
	CFI_NONE,
	CFI_UNDEFINED, /* register: lost; for the return address: this is the outermost frame */
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
	struct cfi_place cfa, fp, ra, bx; /* bx: if followed */
	bool follows_bx;
	bool is_signal;    /* the caller was interrupted, not called: its address is exact */
	bool ra_is_signed; /* arm64: by a pointer authentication code */
};
struct cfi_row {
	uint64_t addr; /* valid from here to the next row or the function's end */
	struct cfi_rule rule;
};

bool cfi_rule_equal(const struct cfi_rule *a, const struct cfi_rule *b);

#endif
