/* symbol/dwarf/dwarf_die.h: units of .debug_info and the DIEs in them.
 *
 * A DIE ("debugging information entry") is the code of its abbreviation in the unit's table,
 * followed by the values of its attributes. The unit determines how to read a value: sizes, and
 * the bases of the tables for indexed strings, addresses and ranges. */
#ifndef CRESSET_SYMBOL_DWARF_DWARF_DIE_H
#define CRESSET_SYMBOL_DWARF_DWARF_DIE_H

#include "base/buf.h"
#include "base/vec.h"
#include "symbol/dwarf/dwarf_abbrev.h"

#include <stdbool.h>
#include <stdint.h>

struct dwarf_sections;

#define DWARF_MAX_UNIT (256ull << 20) /* limit: bytes of a DWARF unit, and of its line table */

struct dwarf_index;

/* A unit's header. */
struct dwarf_unit {
	uint64_t start, first_die, end; /* in .debug_info */
	uint64_t abbrev;
	uint64_t id; /* of a split unit or its skeleton, version 5; 0: none */
	struct dwarf_sizes sizes;
	uint8_t type;               /* enum dwarf_ut; DW_UT_compile of versions before 5 */
	struct dwarf_index *loaded; /* the owner's data read from it; NULL: none */
};
/* Reads the header at offset. Returns false at the end of the section. A unit that is truncated,
 * invalid or of another version has first_die == end. */
bool dwarf_unit_read(struct dwarf_sections *s, uint64_t offset, struct dwarf_unit *u);

/* State for reading the DIEs of a unit. */
struct dwarf_reader {
	struct dwarf_sections *sections;
	/* .debug_addr, and .debug_ranges of version 4, are in the linked file, not in a .dwo. */
	struct dwarf_sections *linked;
	const struct dwarf_unit *unit;
	const uint8_t *bytes; /* of the unit, from its header on */
	uint64_t size; /* of bytes: less than the unit's size if only its first DIE is needed */
	const struct dwarf_abbrevs *abbrevs;
	uint64_t low_pc; /* initial base of range lists */
	uint64_t addr_base, str_offsets_base, rnglists_base;
	uint64_t ranges_base; /* of the ranges in a .dwo of version 4 */
};

struct dwarf_value {
	uint16_t form;
	uint64_t n;       /* number, offset or index */
	const uint8_t *p; /* of DW_FORM_string: not NUL-terminated if it reaches the end */
};
struct dwarf_die {
	const struct dwarf_abbrev *abbrev;
	uint32_t has; /* one bit per slot */
	struct dwarf_value v[DWARF_SLOTS];
};
static inline bool die_has(const struct dwarf_die *d, enum dwarf_slot slot)
{
	return d->has >> slot & 1;
}

/* Reads the values of a DIE after its code (all but d->abbrev); c is bad on failure. */
void die_values(const struct dwarf_reader *r, struct cur *c, const struct dwarf_abbrev *abbrev,
		struct dwarf_die *d);
/* Reads the DIE at an offset in .debug_info. Returns false if none exists in r's unit. */
bool die_read_at(const struct dwarf_reader *r, uint64_t at, struct dwarf_die *d);
/* Skips the attributes of a DIE. */
void die_skip(const struct dwarf_reader *r, struct cur *c, const struct dwarf_abbrev *abbrev);

/* Reads a value (attr has its form and implicit value); c is bad on failure. */
void dwarf_value_read(const struct dwarf_sizes *sizes, struct cur *c, const struct dwarf_attr *attr,
		      struct dwarf_value *v);

/* Initializes r for the unit, with the bases from its first DIE, which is read into d. For a .dwo
 * the caller sets linked, addr_base and ranges_base afterwards. Returns false if there is no such
 * DIE. */
bool dwarf_reader_begin(struct dwarf_reader *r, struct dwarf_sections *s,
			const struct dwarf_unit *unit, const uint8_t *bytes, uint64_t size,
			const struct dwarf_abbrevs *abbrevs, struct dwarf_die *d);

/* Decoding of values. Each returns false or NULL if the value has another form or refers to
 * nothing. */
/* *Returns *len bytes, truncated to DWARF_MAX_STRING. alt: the file named by .gnu_debugaltlink, or
 * NULL. */
const char *value_string(const struct dwarf_reader *r, struct dwarf_sections *alt,
			 const struct dwarf_value *v, size_t *len);
/* Sets *offset to a DIE's offset in .debug_info; *in_alt: in that of the alt file. */
bool value_reference(const struct dwarf_reader *r, const struct dwarf_value *v, uint64_t *offset,
		     bool *in_alt);

/* The addresses of a DIE: DW_AT_low_pc and DW_AT_high_pc, or a list in .debug_ranges (versions
 * before 5) or .debug_rnglists. */
struct dwarf_range {
	uint64_t low, high; /* low < high */
};
struct dwarf_range_list {
	VEC(struct dwarf_range) v;
	/* entries that may still be read, so that lists shared by many DIEs cannot take forever */
	uint64_t budget;
};

/* Appends the ranges of d. Returns false if some could not be read. */
bool die_ranges(const struct dwarf_reader *r, const struct dwarf_die *d,
		struct dwarf_range_list *out);

#endif
