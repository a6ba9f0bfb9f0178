/* unwind/go_rows.h: the functions of a Go program as rows, from its gopclntab: Go writes no call
 * frame information.
 *
 * The table has the depth of the stack at each pc; the return address is above that. A function's
 * first instructions show whether it saved the frame pointer (below the return address). The rows
 * of runtime functions that switch to another stack are derived from their code: the frame pointer
 * is valid there, as they keep it in the frame they came from. The outermost frame of a goroutine
 * is runtime.goexit, that of a thread runtime.mstart or rt0_go. runtime.mcall and morestack also
 * start a stack, as the one they leave may already be running elsewhere.
 *
 * Up to Go 1.20 runtime.systemstack has no frame: its caller is skipped, its caller's caller is
 * right.
 *
 * Sources: cmd/internal/obj/x86/obj6.go, runtime/asm_amd64.s and sys_linux_amd64.s of Go 1.19 and
 * 1.22, and disassembled programs of Go 1.14 to 1.26. */
#ifndef CRESSET_UNWIND_GO_ROWS_H
#define CRESSET_UNWIND_GO_ROWS_H

#include <stdbool.h>
#include <stdint.h>

struct cfi_fde;
struct err;
struct gopclntab;

/* As cfi_read: calls on_fde for each function. Returns 0, or -ENOTSUP if not for x86-64. */
int go_rows_read(struct gopclntab *t, uint16_t machine,
		 bool (*on_fde)(void *ctx, const struct cfi_fde *fde), void *ctx, uint64_t *skipped,
		 struct err *err);

#endif
