/* symbol/dwarf_object.h: what dwarf.c, dwarf_units.c and dwarf_names.c share: the debug information of one object. */
#ifndef CRESSET_SYMBOL_DWARF_OBJECT_H
#define CRESSET_SYMBOL_DWARF_OBJECT_H

#include "base/hash.h"
#include "symbol/dwarf.h"
#include "symbol/dwarf_rows.h"
#include "symbol/dwarf_scopes.h"
#include "symbol/dwarf_split.h"
#include "symbol/name_cache.h"
#include "symbol/ranges.h"

enum {
	/* Units that lie over each other at one address which are tried. */
	UNITS_AT_ADDRESS = 4,
};

/* A unit that was hit. */
struct dwarf_index {
	struct dwarf_open_unit open;
	struct dwarf_split *split; /* its other part, or NULL */
	bool complete;             /* scopes and rows are there */
	size_t bytes;              /* of what d->loaded_bytes counts */
	struct dwarf_scopes scopes;
	struct dwarf_rows rows;
};

struct dwarf {
	struct dwarf_file main, alt;
	struct dwarf_package package;
	const struct elf_layout *layout;
	debug_locate_fn *locate;
	void *ctx;
	struct ranges by_addr;            /* range → unit */
	VEC(struct dwarf_index *) loaded; /* oldest first */
	size_t loaded_bytes;
	uint32_t open_dwo, next_number;
	struct name_cache names;
	struct map start_lines; /* by the names' keys */
	uint64_t skipped;
};

/* What is loaded stays until this is called: when nobody holds on to anything. */
void units_keep_limits(struct dwarf *d);
void units_drop_all(struct dwarf *d);

/* The unit with its shapes, so that its DIEs can be read; NULL when it is malformed. */
struct dwarf_index *unit_load(struct dwarf *d, struct dwarf_file *file, struct dwarf_unit *unit);
/* The same with scopes and rows, of a unit of the main file. */
struct dwarf_index *unit_index(struct dwarf *d, struct dwarf_unit *unit);

/* The names and start line of a scope of x. False when it has none. */
bool scope_name(struct dwarf *d, const struct dwarf_index *x, const struct dwarf_scope *scope,
		struct symbol_line *out);

#endif
