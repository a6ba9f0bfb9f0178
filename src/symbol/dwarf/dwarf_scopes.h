/* symbol/dwarf/dwarf_scopes.h: the functions of one unit, and the calls inlined into them.
 *
 * One pass over the unit's DIEs gives a list of scopes (out-of-line functions and inlined calls,
 * each with its parent scope) and cuts the addresses into pieces, each with its innermost scope: a
 * lookup is one binary search and a walk outwards. Only the positions of names are recorded here,
 * not the names. */
#ifndef CRESSET_SYMBOL_DWARF_DWARF_SCOPES_H
#define CRESSET_SYMBOL_DWARF_DWARF_SCOPES_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct dwarf_reader;
struct elf_layout;

enum {
	/* limit: functions and inlined calls of a DWARF unit; libjvm has 2 M */
	DWARF_MAX_SCOPES = 4 << 20,
	DWARF_MAX_DEPTH = 512, /* limit: DWARF entries in each other; deeper ones are left out */
	SCOPE_NONE = UINT32_MAX,
};

struct dwarf_scope {
	uint64_t name;   /* offset of the DIE that names it; SCOPE_NAME_IN_ALT: in the alt file */
	uint32_t parent; /* scope it was inlined into; SCOPE_NONE: an out-of-line function */
	uint32_t call_file, call_line;
};
#define SCOPE_NAME_IN_ALT (1ull << 63)

/* A namespace or type in which functions can be declared, except inside a type that was skipped. */
struct dwarf_holder {
	uint64_t start, end; /* of its DIE including children */
	uint32_t parent;     /* SCOPE_NONE: the unit */
};

struct dwarf_scopes { /* zeroed = empty */
	VEC(struct dwarf_scope) v;
	VEC(struct dwarf_holder) holders; /* by start */
	/* Piece i is [starts[i], starts[i + 1]) and belongs to scope owners[i], or SCOPE_NONE. */
	uint64_t *starts;
	uint32_t *owners;
	size_t n_pieces;
};

/* Reads the unit of r. Addresses outside the layout's code are left out: functions that the linker
 * dropped are still in the debug information, with addresses like 0. */
void scopes_read(struct dwarf_scopes *s, const struct dwarf_reader *r, bool c_like,
		 const struct elf_layout *layout);
void scopes_done(struct dwarf_scopes *s);
size_t scopes_bytes(const struct dwarf_scopes *s);

/* Returns the innermost holder of the DIE at an offset of the unit, or SCOPE_NONE. */
uint32_t scopes_holder(const struct dwarf_scopes *s, uint64_t offset);

/* Returns the innermost scope at addr, or SCOPE_NONE. */
uint32_t scopes_find(const struct dwarf_scopes *s, uint64_t addr);

#endif
