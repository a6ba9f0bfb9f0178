/* symbol/dwarf.h: functions, lines and inlined calls of one object from its debug information (DWARF 2 to 5).
 *
 *     .debug_info ── units, and which has which addresses (read at once: their first DIEs only)
 *        unit ────── scopes (functions, inlined calls) and rows (lines), read when an address in it is first asked for
 *           DIE ──── names, read when they are first asked for
 *
 * So the cost is that of the units that are hit. They are kept until they have DWARF_MAX_INDEX bytes, then the ones read first
 * go: ask in order of address. Split DWARF (.dwo, .dwp) and what dwz moved to a shared file are asked for where they are needed.
 *
 * Why not libdw: docs/architecture.md. */
#ifndef CRESSET_SYMBOL_DWARF_H
#define CRESSET_SYMBOL_DWARF_H

#include "symbol/elf_layout.h"
#include "symbol/symbol.h"

#define DWARF_MAX_INDEX (64ull << 20)
enum {
	DWARF_MAX_OPEN_DWO = 64, /* files */
	DWARF_MAX_ORIGINS = 16,  /* DIEs that a name is looked for in */
};

struct dwarf;

/* Takes the debug information of f, whose code lies as layout says; locate may be NULL. f->fd, layout and ctx must stay until
 * dwarf_close. NULL when f has none. */
struct dwarf *dwarf_open(const struct elf_file *f, const struct elf_layout *layout,
			 debug_locate_fn *locate, void *ctx);
void dwarf_close(struct dwarf *d); /* NULL is fine */

/* The functions at an address, innermost first, at most max (> 0). The name of the last may be NULL: only its line is known.
 * *whole: the last is an out-of-line function, and none was cut. Strings are valid until the next call. */
uint32_t dwarf_lookup(struct dwarf *d, uint64_t vaddr, struct symbol_line *out, uint32_t max,
		      bool *whole);

/* Units and DIEs that could not be read so far. */
uint64_t dwarf_skipped(const struct dwarf *d);
/* Bytes in memory now. */
size_t dwarf_bytes(const struct dwarf *d);

#endif
