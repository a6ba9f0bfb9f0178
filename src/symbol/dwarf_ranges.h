/* symbol/dwarf_ranges.h: the addresses of a DIE: DW_AT_low_pc and DW_AT_high_pc, or a list in .debug_ranges (versions before 5)
 * or .debug_rnglists. */
#ifndef CRESSET_SYMBOL_DWARF_RANGES_H
#define CRESSET_SYMBOL_DWARF_RANGES_H

#include "symbol/dwarf_die.h"

struct dwarf_range {
	uint64_t low, high; /* low < high */
};
struct dwarf_range_list {
	VEC(struct dwarf_range) v;
	uint64_t
		budget; /* entries that may still be read, so that lists that many DIEs share cannot take for ever */
};

/* Appends the ranges of d. False when some could not be read. */
bool die_ranges(const struct dwarf_reader *r, const struct dwarf_die *d,
		struct dwarf_range_list *out);

#endif
