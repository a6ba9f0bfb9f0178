/* unwind/cfi_program.h: runs the programs of call frame information. */
#ifndef CRESSET_UNWIND_CFI_PROGRAM_H
#define CRESSET_UNWIND_CFI_PROGRAM_H

#include "base/vec.h"
#include "unwind/cfi.h"

/* What a program has said so far. */
struct cfi_state {
	struct cfi_rule rule;
	int64_t cfa_offset; /* the last that was said of a CFA on a register */
	uint8_t cfa_reg;
};

struct cfi_cie {
	const struct cfi_arch *arch;
	struct cur program;
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* of addresses in its FDEs */
	bool has_augmentation, is_signal, usable;
	struct cfi_state first; /* what its own program leads to */
};

struct cfi_program {                             /* zeroed = ready */
	VEC(struct cfi_row) rows;                /* of the last run */
	struct cfi_state states[CFI_MAX_STATES]; /* remembered */
};

/* Runs a CIE's own program into cie->first. False when it is malformed. */
bool cfi_program_begin(struct cfi_program *p, struct cfi_cie *cie);

/* Runs the program of a function at [start, end) into p->rows. False when it is malformed or has too many rows. */
bool cfi_program_run(struct cfi_program *p, const struct cfi_cie *cie, struct cur program,
		     uint64_t start, uint64_t end);
void cfi_program_done(struct cfi_program *p);

/* Signed LEB128; bad past 10 bytes. */
int64_t cfi_leb_signed(struct cur *c);

#endif
