/* gpu/prologue.h: where in the first instructions of a function a probe costs little.
 *
 * The kernel emulates some instructions under a probe, and single-steps all others: two more traps, some 35 times the cost. Of what functions begin
 * with it emulates push, nop, relative jumps and calls; the first of those that every path passes, with the stack pointer and the arguments as they
 * were, is the place. x86-64. */
#ifndef CRESSET_GPU_PROLOGUE_H
#define CRESSET_GPU_PROLOGUE_H

#include <stddef.h>
#include <stdint.h>

enum { PROLOGUE_BYTES = 48 };

/* Bytes from the function's first instruction to that place; -1: there is none among those n bytes, or before it stands what is not known. */
int prologue_place(const uint8_t *code, size_t n);

#endif
