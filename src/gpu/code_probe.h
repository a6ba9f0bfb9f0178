/* gpu/code_probe.h: a probe that a library has in its code, by its note (SystemTap's format, version 3,
 * https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation):
 *
 *     .note.stapsdt    { u64 address, base, counter; char provider[], name[], arguments[] }
 *
 * Addresses are as if .stapsdt.base lay at base. Only arguments in the registers of a call's first ones are taken ("4@%edi 4@%esi 4@%edx"). */
#ifndef CRESSET_GPU_CODE_PROBE_H
#define CRESSET_GPU_CODE_PROBE_H

#include "symbol/elf_file.h"

struct code_probe {
	uint64_t address, counter; /* counter: a u16 that tells how many have attached; 0: none */
};

enum { CODE_PROBE_MAX_NOTES = 64 << 10 }; /* bytes of notes that are looked through */

/* name: "provider:name". False: there is none, or its arguments are elsewhere. */
bool code_probe_find(const struct elf_file *f, const char *name, struct code_probe *out);

#endif
