/* symbol/dwarf_scopes.h: the functions of one unit, and what was inlined into them where.
 *
 * One pass over the unit's DIEs gives a list of scopes (out-of-line functions and inlined calls, each with the scope around
 * it) and the addresses cut into pieces, each with its innermost scope: a lookup is one binary search and a walk outwards. Names
 * are not read here, only where they are. */
#ifndef CRESSET_SYMBOL_DWARF_SCOPES_H
#define CRESSET_SYMBOL_DWARF_SCOPES_H

#include "symbol/dwarf_ranges.h"
#include "symbol/elf_layout.h"

enum {
	DWARF_MAX_SCOPES = 4 << 20, /* of a unit; all of libjvm's have 2 M */
	DWARF_MAX_DEPTH = 512,      /* of DIEs in DIEs: what is deeper is left out */
	SCOPE_NONE = UINT32_MAX,
};

struct dwarf_scope {
	uint64_t name;   /* offset of the DIE that names it; SCOPE_NAME_IN_ALT: in the other file */
	uint32_t parent; /* what it was inlined into; SCOPE_NONE: an out-of-line function */
	uint32_t call_file, call_line;
};
#define SCOPE_NAME_IN_ALT (1ull << 63)

/* A namespace or type that functions can be declared in. Not those in a type that was jumped over. */
struct dwarf_holder {
	uint64_t start, end; /* of its DIE and what is in it */
	uint32_t parent;     /* SCOPE_NONE: the unit */
};

struct dwarf_scopes { /* zeroed = empty */
	VEC(struct dwarf_scope) v;
	VEC(struct dwarf_holder) holders; /* by start */
	/* Piece i is [starts[i], starts[i + 1]) and lies in scope owners[i], or in SCOPE_NONE. */
	uint64_t *starts;
	uint32_t *owners;
	size_t n_pieces;
	uint64_t skipped; /* DIEs whose addresses could not be read, and 1 for a unit that is cut */
};

/* Reads the unit of r. Addresses outside of the layout's code are left out: functions that the linker dropped stay in the
 * debug information with addresses like 0. */
void scopes_read(struct dwarf_scopes *s, const struct dwarf_reader *r, bool c_like,
		 const struct elf_layout *layout);
void scopes_done(struct dwarf_scopes *s);
size_t scopes_bytes(const struct dwarf_scopes *s);

/* The innermost holder of the DIE at an offset of the unit, or SCOPE_NONE. */
uint32_t scopes_holder(const struct dwarf_scopes *s, uint64_t offset);

/* The innermost scope at addr, or SCOPE_NONE. */
uint32_t scopes_find(const struct dwarf_scopes *s, uint64_t addr);

#endif
