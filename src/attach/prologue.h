/* attach/prologue.h: finds where a probe costs little among the first instructions of a function.
 *
 * The kernel emulates some instructions under a probe, and single-steps all others: two more traps,
 * some 35 times the cost. Of the instructions that functions start with, it emulates push, nop,
 * relative jumps and calls. The place is the first of the ones that every path passes, with the
 * stack pointer and the arguments unchanged. x86-64. */
#ifndef CRESSET_ATTACH_PROLOGUE_H
#define CRESSET_ATTACH_PROLOGUE_H

#include <stddef.h>
#include <stdint.h>

enum { PROLOGUE_BYTES = 48 };

/* Returns the bytes from the function's first instruction to that place; -1: none among
 * those n bytes, or an unknown instruction comes before it. */
int prologue_place(const uint8_t *code, size_t n);

#endif
