/* unwind/cfi_program.h: runs the programs of call frame information. */
#ifndef CRESSET_UNWIND_CFI_PROGRAM_H
#define CRESSET_UNWIND_CFI_PROGRAM_H

#include "base/buf.h"
#include "base/vec.h"
#include "unwind/cfi_rule.h"

/* The state of a running program. */
struct cfi_state {
	struct cfi_rule rule;
	int64_t cfa_offset; /* the last offset set for a CFA on a register */
	uint8_t cfa_reg;
};

struct cfi_cie {
	const struct cfi_arch *arch;
	struct cur program;
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* of addresses in its FDEs */
	bool has_augmentation, is_signal, usable;
	struct cfi_state first; /* the state after its own program */
};

struct cfi_program {                             /* zeroed = ready */
	VEC(struct cfi_row) rows;                /* of the last run */
	struct cfi_state states[CFI_MAX_STATES]; /* for remember_state */
};

/* Runs a CIE's own program into cie->first. Returns false if it is malformed. */
bool cfi_program_begin(struct cfi_program *p, struct cfi_cie *cie);

/* Runs the program of a function at [start, end) into p->rows. Returns false if it is malformed or
 * has too many rows. */
bool cfi_program_run(struct cfi_program *p, const struct cfi_cie *cie, struct cur program,
		     uint64_t start, uint64_t end);
void cfi_program_done(struct cfi_program *p);

/* Reads a signed LEB128; sets bad past 10 bytes. */
int64_t cfi_leb_signed(struct cur *c);

#endif
