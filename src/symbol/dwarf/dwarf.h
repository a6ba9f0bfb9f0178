/* symbol/dwarf/dwarf.h: functions, lines and inlined calls of one object from its debug information
 * (DWARF 2 to 5).
 *
 *     .debug_info ── units and their addresses (read first, from their first DIEs only)
 *        unit ────── scopes (functions, inlined calls) and rows (lines), read when an address
 *                    in it is first looked up
 *        DIE ─────── names, read when first needed
 *
 * A unit that .debug_aranges lists is not read for its addresses. So only units that are hit cost
 * time. They are retained up to DWARF_MAX_INDEX bytes, then the
 * oldest are dropped: look up in order of address. Split DWARF (.dwo, .dwp) and the shared file of
 * dwz are requested when they are needed.
 *
 * New forms are added by hand. Big-endian files have no debug information here, only symbols.
 *
 * Why not libdw: docs/decisions/001-own-dwarf-reader.md. */
#ifndef CRESSET_SYMBOL_DWARF_DWARF_H
#define CRESSET_SYMBOL_DWARF_DWARF_H

#include "symbol/symbol.h"

struct elf_file;
struct elf_layout;

/* limit: retained functions and lines of DWARF units */
#define DWARF_MAX_INDEX (64ull << 20)
enum {
	DWARF_MAX_OPEN_DWO = 64, /* files */
	DWARF_MAX_ORIGINS = 16,  /* DIEs that are searched for a name */
};

struct dwarf;

/* Opens the debug information of f, whose code has this layout; locate may be NULL. f->fd, layout
 * and ctx must live until dwarf_close. Returns NULL if f has none. */
struct dwarf *dwarf_open(const struct elf_file *f, const struct elf_layout *layout,
			 debug_locate_fn *locate, void *ctx);
void dwarf_close(struct dwarf *d); /* NULL is fine */

/* Writes the functions at an address, innermost first, at most max (> 0), and returns their number.
 * The name of the last may be NULL: then only its line is known. *whole: the last is an
 * out-of-line function, and none was truncated. Strings are valid until the next call. */
uint32_t dwarf_lookup(struct dwarf *d, uint64_t vaddr, struct symbol_line *out, uint32_t max,
		      bool *whole);

#endif
