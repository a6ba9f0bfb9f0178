/* unwind/go_special.h: functions of Go's runtime whose rows are not what gopclntab says. */
#ifndef CRESSET_UNWIND_GO_SPECIAL_H
#define CRESSET_UNWIND_GO_SPECIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum go_special {
	GO_ORDINARY,
	GO_OUTERMOST, /* nobody called it */
	GO_LEAVES,    /* leaves its stack for another one, for good */
	GO_SWITCHES,  /* calls on another stack */
	GO_CALLS_C,   /* the same, called by runtime.cgocall only */
	GO_CGOCALL,   /* runtime.cgocall */
	GO_INTERRUPTS, /* put in by a signal handler: it returns to an instruction that was about to run */
	GO_SIGNAL_FRAME, /* what a signal handler returns to */
	GO_HANDLER, /* a signal handler: Go's own tracebacks end here, but the frame is a signal's */
};
enum go_special go_special_of(const char *name);

/* A stretch of a function's code (bytes from its start) that runs on another stack. */
struct go_switch {
	size_t from, to;
	bool is_same_stack; /* the stack pointer was only aligned; its old value was kept … */
	uint8_t kept_at;    /* … at this offset from it */
};
enum { GO_MAX_SWITCHES = 8 };

/* Finds them in code of x86-64. keeps_fp: the function keeps the frame pointer of its own frame, so it may be said to run on another
 * stack wherever it has one. is_tracked(ctx, at): gopclntab knows of the change that an instruction that ends there made. */
size_t go_switches_find(const uint8_t *code, size_t size, bool keeps_fp,
			bool (*is_tracked)(const void *ctx, size_t at), const void *ctx,
			struct go_switch out[GO_MAX_SWITCHES]);

#endif
