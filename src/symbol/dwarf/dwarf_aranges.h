/* symbol/dwarf/dwarf_aranges.h: the code of each unit, as a table of its own (.debug_aranges).
 *
 *     sets { length, version 2, offset of the unit, sizes of addresses and segments, padding,
 *            { address, length } … }
 *
 * gcc writes a set for every unit with code, clang writes none: units without a set are read. */
#ifndef CRESSET_SYMBOL_DWARF_DWARF_ARANGES_H
#define CRESSET_SYMBOL_DWARF_DWARF_ARANGES_H

#include "base/vec.h"

#include <stdint.h>

struct dwarf_sections;

/* limit: the table of the code of DWARF units; a larger one is not used */
#define DWARF_MAX_ARANGES (64ull << 20)

struct dwarf_arange {
	uint64_t unit; /* offset in .debug_info */
	uint64_t low, high;
};
struct dwarf_aranges {              /* zeroed = empty */
	VEC(struct dwarf_arange) v; /* by unit */
};

/* Reads all sets up to the first malformed one. */
void aranges_read(struct dwarf_aranges *a, struct dwarf_sections *s);
void aranges_done(struct dwarf_aranges *a);

#endif
