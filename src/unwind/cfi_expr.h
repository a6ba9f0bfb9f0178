/* unwind/cfi_expr.h: DWARF expressions in call frame information. Compilers use few of the endless many: those are recognized. */
#ifndef CRESSET_UNWIND_CFI_EXPR_H
#define CRESSET_UNWIND_CFI_EXPR_H

#include "unwind/cfi.h"

/* What an expression that gives the CFA means: CFI_OFFSET, CFI_DEREF, CFI_PLT or CFI_OTHER. */
struct cfi_place cfi_expr_cfa(const struct cfi_arch *arch, struct cur expr);

/* What an expression that gives the place of a saved register means: CFI_DEREF or CFI_OTHER. */
struct cfi_place cfi_expr_saved(struct cur expr);

#endif
