/* unwind/go_rows.h: the functions of a Go program as rows, from its gopclntab: Go writes no call frame information.
 *
 * The table has how deep the stack is at each pc; the return address is above that. That a function saved the frame pointer
 * (below the return address) its first instructions say. Functions of the runtime that change to another stack have been
 * read in their code: what holds then is the frame pointer, which they keep in the frame they came from. A goroutine's
 * outermost frame is runtime.goexit, a thread's runtime.mstart or rt0_go; runtime.mcall and morestack begin a stack, too, as
 * what they leave may be running elsewhere by then.
 *
 * Up to Go 1.20 runtime.systemstack has no frame: its caller is passed over, its caller's caller is right.
 *
 * Sources: cmd/internal/obj/x86/obj6.go, runtime/asm_amd64.s and sys_linux_amd64.s of Go 1.19 and 1.22, and programs of Go 1.14
 * to 1.26 disassembled. */
#ifndef CRESSET_UNWIND_GO_ROWS_H
#define CRESSET_UNWIND_GO_ROWS_H

#include "symbol/gopclntab.h"
#include "unwind/cfi.h"

/* As cfi_read: calls on_fde for each function. 0, or -ENOTSUP: not for x86-64. */
int go_rows_read(struct gopclntab *t, uint16_t machine,
		 bool (*on_fde)(void *ctx, const struct cfi_fde *fde), void *ctx, uint64_t *skipped,
		 struct err *err);

#endif
