/* symbol/dwarf/dwarf_file.h: one file with debug information: the program itself, its separate
 * debug file, a .dwo, a .dwp, or a file shared by several programs (.gnu_debugaltlink, made by
 * dwz). */
#ifndef CRESSET_SYMBOL_DWARF_DWARF_FILE_H
#define CRESSET_SYMBOL_DWARF_DWARF_FILE_H

#include "base/vec.h"
#include "symbol/dwarf/dwarf_die.h"
#include "symbol/dwarf/dwarf_sections.h"
#include "symbol/symbol.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_file;

enum { DWARF_MAX_UNITS = 1 << 20 }; /* of a file; Chromium has 40 000 */

/* An open unit: its abbreviations and its reader. Scopes and lines are retained by their own
 * readers. */
struct dwarf_open_unit {
	const struct dwarf_unit *unit;
	struct dwarf_file *file;
	uint8_t *copy; /* of the unit's bytes, if they do not stay loaded; NULL after a peek */
	struct dwarf_abbrevs abbrevs;
	struct dwarf_reader reader;
	struct dwarf_die die; /* the unit's own */
};

enum dwarf_number {
	DWARF_NUMBER_MAIN,
	DWARF_NUMBER_ALT,
	DWARF_NUMBER_PACKAGE,
	DWARF_NUMBER_DWO, /* and greater */
};
struct dwarf_file {
	struct dwarf_sections sections;
	int fd;          /* owned; -1: the sections' descriptor belongs to the caller */
	uint32_t number; /* identifies a file of an object: enum dwarf_number */
	VEC(struct dwarf_unit) units; /* all units of .debug_info, by start */
	struct dwarf_file *alt;       /* not owned; NULL: none */
};

/* Finds the debug sections of f (see sections_find); f->fd must stay open. Returns false if it has
 * none. */
bool dwarf_file_begin(struct dwarf_file *file, const struct elf_file *f, bool split);
/* Takes ownership of fd; closes it on failure. build_id: required build id (len 0: any). */
bool dwarf_file_open(struct dwarf_file *file, int fd, bool split, const uint8_t *build_id,
		     size_t build_id_len);
void dwarf_file_done(struct dwarf_file *file);
size_t dwarf_file_bytes(const struct dwarf_file *file);

/* Reads all headers into units. Returns false if there are more than DWARF_MAX_UNITS; units has the
 * first ones then. */
bool dwarf_file_read_units(struct dwarf_file *file);
/* Returns the unit that contains the DIE at offset, or NULL. */
struct dwarf_unit *dwarf_file_unit(const struct dwarf_file *file, uint64_t offset);

/* Reads the abbreviations and the first DIE of a unit. Returns false if malformed; call
 * dwarf_unit_close in either case. tables: offsets of the unit's tables in their sections, for a
 * unit of a .dwp (NULL: all 0). */
struct dwarf_tables {
	uint64_t abbrev, str_offsets, rnglists;
};
bool dwarf_unit_open(struct dwarf_open_unit *o, struct dwarf_file *file,
		     const struct dwarf_unit *unit, const struct dwarf_tables *tables);
/* Does the same with only the first DIE's abbreviation: enough to find the addresses of the unit's
 * code. */
bool dwarf_unit_peek(struct dwarf_open_unit *o, struct dwarf_file *file,
		     const struct dwarf_unit *unit);
void dwarf_unit_close(struct dwarf_open_unit *o);

/* The code of each unit, as a table of its own (.debug_aranges).
 *
 *     sets { length, version 2, offset of the unit, sizes of addresses and segments, padding,
 *            { address, length } … }
 *
 * gcc writes a set for every unit with code, clang writes none: units without a set are read. */

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

/* Split DWARF. The program has only a skeleton of a unit (line table, address table, a name and an
 * id); the rest is in a .dwo file, or together with those of all other units in a .dwp.
 *
 * Sources: DWARF 5, 7.3.2, 7.3.5; https://gcc.gnu.org/wiki/DebugFission and DebugFissionDWP for
 * version 4. */

/* The .dwp of a program, requested once. */
struct dwarf_package { /* zeroed = not requested yet */
	bool asked, there;
	struct dwarf_file file;
};

struct dwarf_split {
	struct dwarf_file dwo; /* .fd < 0: the unit is in the package */
	struct dwarf_unit unit;
	struct dwarf_open_unit open;
};

bool dwarf_is_skeleton(const struct dwarf_open_unit *o);

/* Opens the split part of a skeleton; locate finds the files. number: of the .dwo. Returns NULL if
 * it is not available. Free it with dwarf_split_free; package must outlive it. */
struct dwarf_split *dwarf_split_open(const struct dwarf_open_unit *skeleton,
				     struct dwarf_package *package, debug_locate_fn *locate,
				     void *ctx, uint32_t number);
void dwarf_split_free(struct dwarf_split *s); /* NULL is fine */

#endif
