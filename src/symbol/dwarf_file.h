/* symbol/dwarf_file.h: one file with debug information: the program itself, its separate debug file, a .dwo, a .dwp, or the file
 * that several programs share (.gnu_debugaltlink, made by dwz). */
#ifndef CRESSET_SYMBOL_DWARF_FILE_H
#define CRESSET_SYMBOL_DWARF_FILE_H

#include "symbol/dwarf_die.h"

enum { DWARF_MAX_UNITS = 1 << 20 }; /* of a file; Chromium has 40 000 */

/* What was read of a unit: its shapes, and what a reader needs. Scopes and lines belong to whoever reads them. */
struct dwarf_open_unit {
	const struct dwarf_unit *unit;
	struct dwarf_file *file;
	uint8_t *copy; /* of the unit's bytes, where they do not stay; NULL after a peek */
	struct dwarf_abbrevs abbrevs;
	struct dwarf_reader reader;
	struct dwarf_die die; /* the unit's own */
};

enum dwarf_number {
	DWARF_NUMBER_MAIN,
	DWARF_NUMBER_ALT,
	DWARF_NUMBER_PACKAGE,
	DWARF_NUMBER_DWO, /* and what follows */
};
struct dwarf_file {
	struct dwarf_sections sections;
	int fd;                       /* owned; -1: the sections' descriptor is somebody else's */
	uint32_t number;              /* tells the files of one object apart: enum dwarf_number */
	VEC(struct dwarf_unit) units; /* all units of .debug_info, by start */
	struct dwarf_file *alt;       /* not owned; NULL: none */
};

/* Finds the debug sections of f (see sections_find); f->fd must stay open. False when it has none. */
bool dwarf_file_begin(struct dwarf_file *file, const struct elf_file *f, bool split);
/* Takes fd, and closes it when that fails. build_id: what the file must have (len 0: anything). */
bool dwarf_file_open(struct dwarf_file *file, int fd, bool split, const uint8_t *build_id,
		     size_t build_id_len);
void dwarf_file_done(struct dwarf_file *file);
size_t dwarf_file_bytes(const struct dwarf_file *file);

/* Reads all headers into units. False: there are more than DWARF_MAX_UNITS, the first of which are there. */
bool dwarf_file_read_units(struct dwarf_file *file);
/* The unit that has the DIE at offset, or NULL. */
struct dwarf_unit *dwarf_file_unit(const struct dwarf_file *file, uint64_t offset);

/* Reads the shapes and the first DIE of a unit; to be ended with dwarf_unit_close, also when false, which means malformed. A unit
 * of a .dwp has its tables at offset `tables` (NULL: 0 each) of their sections. */
struct dwarf_tables {
	uint64_t abbrev, str_offsets, rnglists;
};
bool dwarf_unit_open(struct dwarf_open_unit *o, struct dwarf_file *file,
		     const struct dwarf_unit *unit, const struct dwarf_tables *tables);
/* The same with no shape but that of the first DIE: all that is needed to see where the unit's code is. */
bool dwarf_unit_peek(struct dwarf_open_unit *o, struct dwarf_file *file,
		     const struct dwarf_unit *unit);
void dwarf_unit_close(struct dwarf_open_unit *o);
#endif
