/* symbol/dwarf/dwarf_abbrev.h: abbreviations, the shapes of DIEs: a table of .debug_abbrev,
 * prepared for fast reading of DIEs.
 *
 * Nine of ten DIEs are not needed, and most shapes have a fixed size, so they can be skipped at
 * once. Needed attributes get a slot, the others are skipped one by one. */
#ifndef CRESSET_SYMBOL_DWARF_DWARF_ABBREV_H
#define CRESSET_SYMBOL_DWARF_DWARF_ABBREV_H

#include "base/buf.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct dwarf_sections;

enum {
	DWARF_MAX_ABBREVS =
		/* in one table, and attributes of all of them: real ones have a few thousand */
	1 << 18,
	DWARF_MAX_TABLE = 4 << 20, /* bytes of one table */
};

/* The attributes that are read. */
enum dwarf_slot {
	SLOT_NAME,
	SLOT_LINKAGE,
	SLOT_LOW,
	SLOT_HIGH,
	SLOT_RANGES,
	SLOT_ORIGIN,
	SLOT_SPECIFICATION,
	SLOT_CALL_FILE,
	SLOT_CALL_LINE,
	SLOT_DECL_LINE,
	SLOT_SIBLING,
	SLOT_INLINE,
	SLOT_DECLARATION,
	SLOT_STMT_LIST,
	SLOT_LANGUAGE,
	SLOT_COMP_DIR,
	SLOT_STR_OFFSETS_BASE,
	SLOT_ADDR_BASE,
	SLOT_RNGLISTS_BASE,
	SLOT_RANGES_BASE,
	SLOT_DWO_NAME,
	SLOT_DWO_ID,
	DWARF_SLOTS,
	SLOT_NONE = DWARF_SLOTS,
};

/* Sizes that differ between units and determine the size of forms. */
struct dwarf_sizes {
	uint8_t address, offset; /* 4 or 8; offset: of DWARF's 32- or 64-bit format */
	uint16_t version;
};

struct dwarf_attr {
	uint16_t form;
	uint8_t slot;
	uint8_t size; /* of the value; DWARF_VARIES */
	uint16_t fixed,
		/* attributes from this one on with a fixed size, and their bytes */
		fixed_bytes;
	int64_t implicit; /* the value of a form without bytes: implicit_const, flag_present */
};
enum { DWARF_VARIES = 0xff };

struct dwarf_abbrev {
	uint64_t code;
	uint32_t first, n; /* its attributes */
	uint16_t tag;
	bool children;
	bool plain; /* a DIE that is only skipped, or entered if it has children */
};

struct dwarf_abbrevs { /* zeroed = empty */
	VEC(struct dwarf_abbrev) v;
	VEC(struct dwarf_attr) attrs;
	bool dense;    /* v.v[i].code is i + 1, the numbering of compilers */
	uint64_t work; /* bytes read by the last abbrevs_read */
};

/* Reads the table at offset up to its end, or if `only` is not 0 up to that code. Returns false if
 * it is malformed or too large; the part that was read is retained. */
bool abbrevs_read(struct dwarf_abbrevs *a, struct dwarf_sections *s, uint64_t offset,
		  const struct dwarf_sizes *sizes, uint64_t only);
void abbrevs_done(struct dwarf_abbrevs *a);

const struct dwarf_abbrev *abbrevs_search(const struct dwarf_abbrevs *a, uint64_t code);
static inline const struct dwarf_abbrev *abbrevs_find(const struct dwarf_abbrevs *a, uint64_t code)
{
	if (!a->dense)
		return abbrevs_search(a, code);
	return code - 1 < a->v.n ? &a->v.v[code - 1] : NULL;
}

static inline const struct dwarf_attr *abbrev_attrs(const struct dwarf_abbrevs *a,
						    const struct dwarf_abbrev *abbrev)
{
	return abbrev->n ? &a->attrs.v[abbrev->first] : NULL;
}

/* Returns the size of a value in this form, or DWARF_VARIES. */
uint8_t dwarf_form_size(uint64_t form, const struct dwarf_sizes *sizes);

/* Reads signed LEB128; bad past 10 bytes. Takes the cursor by value, as cur_long_varint. */
struct cur dwarf_long_sleb(struct cur c, int64_t *v);
static inline int64_t dwarf_sleb(struct cur *c)
{
	int64_t v;
	if (cur_left(c) >= 2 && (c->p[0] & c->p[1]) < 0x80) {
		uint32_t n = c->p[0] & 0x7f;
		if (c->p[0] < 0x80) {
			c->p += 1;
			return (int32_t)(n ^ 0x40) - 0x40;
		}
		n |= (uint32_t)c->p[1] << 7;
		c->p += 2;
		return (int32_t)(n ^ 0x2000) - 0x2000;
	}
	*c = dwarf_long_sleb(*c, &v);
	return v;
}

#endif
