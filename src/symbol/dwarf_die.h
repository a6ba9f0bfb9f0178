/* symbol/dwarf_die.h: units of .debug_info and the DIEs in them.
 *
 * A DIE ("debugging information entry") is a code that names its shape in the unit's table of abbreviations, and the values of
 * its attributes one after the other. How a value is to be read depends on the unit: sizes, and where the tables begin that
 * indexed strings, addresses and ranges refer to. */
#ifndef CRESSET_SYMBOL_DWARF_DIE_H
#define CRESSET_SYMBOL_DWARF_DIE_H

#include "symbol/dwarf_abbrev.h"

#define DWARF_MAX_UNIT (256ull << 20) /* bytes of one unit, and of its line table */

struct dwarf_index;

/* As its header says. */
struct dwarf_unit {
	uint64_t start, first_die, end; /* in .debug_info */
	uint64_t abbrev;
	uint64_t id; /* of a split unit or its skeleton, version 5; 0: none */
	struct dwarf_sizes sizes;
	uint8_t type;               /* enum dwarf_ut; DW_UT_compile of versions before 5 */
	struct dwarf_index *loaded; /* what its owner read of it; NULL: nothing */
};
/* Reads the header at offset. False at the end of the section. A unit of another version, a cut or absurd one has first_die ==
 * end. */
bool dwarf_unit_read(struct dwarf_sections *s, uint64_t offset, struct dwarf_unit *u);

/* What reading the DIEs of a unit needs. */
struct dwarf_reader {
	struct dwarf_sections *sections;
	/* .debug_addr, and .debug_ranges of version 4, are in the file that the linker made: for a .dwo not its own. */
	struct dwarf_sections *linked;
	const struct dwarf_unit *unit;
	const uint8_t *bytes; /* of the unit, from its header on */
	uint64_t
		size; /* of these: less than the unit has while only its first DIE is of interest */
	const struct dwarf_abbrevs *abbrevs;
	uint64_t low_pc; /* what range lists begin with */
	uint64_t addr_base, str_offsets_base, rnglists_base;
	uint64_t ranges_base; /* of the ranges in a .dwo of version 4 */
};

struct dwarf_value {
	uint16_t form;
	uint64_t n;       /* number, offset or index */
	const uint8_t *p; /* of DW_FORM_string: not NUL-terminated when it reaches end */
};
struct dwarf_die {
	const struct dwarf_abbrev *abbrev;
	uint32_t has; /* one bit a slot */
	struct dwarf_value v[DWARF_SLOTS];
};
static inline bool die_has(const struct dwarf_die *d, enum dwarf_slot slot)
{
	return d->has >> slot & 1;
}

/* Reads the values of a DIE behind its code (all but d->abbrev); c is bad when that is not possible. */
void die_values(const struct dwarf_reader *r, struct cur *c, const struct dwarf_abbrev *abbrev,
		struct dwarf_die *d);
/* Reads the DIE at an offset of .debug_info. False: there is none in r's unit. */
bool die_read_at(const struct dwarf_reader *r, uint64_t at, struct dwarf_die *d);
/* Jumps over the attributes of a DIE. */
void die_skip(const struct dwarf_reader *r, struct cur *c, const struct dwarf_abbrev *abbrev);

/* Reads a value (attr says form and implicit value); c gets bad when that is not possible. */
void dwarf_value_read(const struct dwarf_sizes *sizes, struct cur *c, const struct dwarf_attr *attr,
		      struct dwarf_value *v);

/* Makes r ready for the unit: bases from its first DIE, which is read into d. Of a .dwo the caller sets linked, addr_base and
 * ranges_base afterwards. False when there is no such DIE. */
bool dwarf_reader_begin(struct dwarf_reader *r, struct dwarf_sections *s,
			const struct dwarf_unit *unit, const uint8_t *bytes, uint64_t size,
			const struct dwarf_abbrevs *abbrevs, struct dwarf_die *d);

/* What values mean. Each is false, or NULL, when the value has another form or points to nothing. */
bool value_address(const struct dwarf_reader *r, const struct dwarf_value *v, uint64_t *addr);
bool value_indexed_address(const struct dwarf_reader *r, uint64_t index, uint64_t *addr);
/* *len bytes, cut to DWARF_MAX_STRING. alt: the file behind .gnu_debugaltlink, or NULL. */
const char *value_string(const struct dwarf_reader *r, struct dwarf_sections *alt,
			 const struct dwarf_value *v, size_t *len);
/* A DIE's offset in .debug_info; *in_alt: in that of the other file. */
bool value_reference(const struct dwarf_reader *r, const struct dwarf_value *v, uint64_t *offset,
		     bool *in_alt);

#endif
