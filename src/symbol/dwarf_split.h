/* symbol/dwarf_split.h: split DWARF. Of a unit the program has a skeleton only (line table, address table, a name and an id);
 * the rest lies in a .dwo file, or with those of all other units in a .dwp.
 *
 * Sources: DWARF 5, 7.3.2, 7.3.5; https://gcc.gnu.org/wiki/DebugFission and DebugFissionDWP for version 4. */
#ifndef CRESSET_SYMBOL_DWARF_SPLIT_H
#define CRESSET_SYMBOL_DWARF_SPLIT_H

#include "symbol/dwarf_file.h"
#include "symbol/symbol.h"

/* The .dwp of a program, looked for once. */
struct dwarf_package { /* zeroed = not looked for yet */
	bool asked, there;
	struct dwarf_file file;
};

struct dwarf_split {
	struct dwarf_file dwo; /* .fd < 0: the unit is in the package */
	struct dwarf_unit unit;
	struct dwarf_open_unit open;
};

bool dwarf_is_skeleton(const struct dwarf_open_unit *o);

/* Opens the other part of a skeleton, asking locate for files; number: of the .dwo. NULL when it is not to be had. To be freed
 * with dwarf_split_free; package must live longer. */
struct dwarf_split *dwarf_split_open(const struct dwarf_open_unit *skeleton,
				     struct dwarf_package *package, debug_locate_fn *locate,
				     void *ctx, uint32_t number);
void dwarf_split_free(struct dwarf_split *s); /* NULL is fine */

#endif
