/* Parses unit headers and DIEs. */
#include "symbol/dwarf/dwarf_die.h"

#include "symbol/dwarf/dwarf_sections.h"
#include "symbol/dwarf/dwarf_spec.h"

#include <string.h>

/* --- units ------------------------------------------------------------------------------------ */

enum { MAX_UNIT_HEADER = 4 + 8 + 2 + 1 + 1 + 8 + 8 + 8 };

static uint64_t cur_offset(struct cur *c, const struct dwarf_sizes *sizes)
{
	return sizes->offset == 8 ? cur_u64(c) : cur_u32(c);
}

/* Reads a unit header from the version on. */
static void unit_read_header(struct cur *c, struct dwarf_unit *u)
{
	struct dwarf_sizes *sizes = &u->sizes;
	sizes->version = cur_u16(c);
	u->type = DW_UT_compile;
	if (sizes->version >= 5) {
		u->type = cur_u8(c);
		sizes->address = cur_u8(c);
		u->abbrev = cur_offset(c, sizes);
	} else {
		u->abbrev = cur_offset(c, sizes);
		sizes->address = cur_u8(c);
	}
	if (u->type == DW_UT_skeleton || u->type == DW_UT_split_compile)
		u->id = cur_u64(c);
	if (u->type == DW_UT_type || u->type == DW_UT_split_type) {
		cur_u64(c);
		cur_offset(c, sizes);
	}
}

static bool unit_is_sane(const struct dwarf_unit *u)
{
	return u->sizes.version >= 2 && u->sizes.version <= 5 &&
	       (u->sizes.address == 4 || u->sizes.address == 8) && u->type >= DW_UT_compile &&
	       u->type <= DW_UT_split_type && u->end - u->start <= DWARF_MAX_UNIT;
}

bool dwarf_unit_read(struct dwarf_sections *s, uint64_t offset, struct dwarf_unit *u)
{
	uint8_t header[MAX_UNIT_HEADER];
	struct cur c = s->s[DWARF_ARANGES].size /* then most units need nothing else */
			       ? cur_of(header,
					sections_copy(s, DWARF_INFO, offset, header, sizeof header))
			       : sections_cur(s, DWARF_INFO, offset, MAX_UNIT_HEADER);
	const uint8_t *start = c.p;
	*u = (struct dwarf_unit){ .start = offset, .sizes.offset = 4 };
	uint64_t size = s->s[DWARF_INFO].size, length = cur_u32(&c);
	if (length == UINT32_MAX) {
		u->sizes.offset = 8;
		length = cur_u64(&c);
	}
	if (c.bad || length == 0)
		return false;
	uint64_t behind = offset + (c.p - start);
	bool whole = length <= size - behind;
	u->end = whole ? behind + length : size;
	unit_read_header(&c, u);
	u->first_die = offset + (c.p - start);
	if (c.bad || !unit_is_sane(u) || u->first_die > u->end)
		u->first_die = u->end;
	return true;
}

/* --- values ----------------------------------------------------------------------------------- */

static uint64_t read_sized(struct cur *c, unsigned size)
{
	return size <= sizeof(uint64_t) ? cur_int(c, size) : (cur_take(c, size), 0);
}

/* Does the same without branches, for attributes, whose sizes are unpredictable. */
static inline uint64_t read_fixed(struct cur *c, unsigned size)
{
	static const uint64_t masks[] = { 0, 0xff, 0xffff, 0xffffff, UINT32_MAX, [8] = UINT64_MAX };
	uint64_t n;
	if (cur_left(c) < sizeof n || size > sizeof n)
		return read_sized(c, size);
	memcpy(&n, c->p, sizeof n);
	c->p += size;
	return le64toh(n) & masks[size];
}

static void read_string(struct cur *c, struct dwarf_value *v)
{
	v->p = c->p;
	const uint8_t *nul = memchr(c->p, '\0', cur_left(c));
	v->n = nul ? (size_t)(nul - c->p) : cur_left(c);
	cur_take(c, v->n + (nul ? 1 : 0));
}

static void read_varying(const struct dwarf_sizes *sizes, struct cur *c, struct dwarf_value *v)
{
	switch (v->form) {
	case DW_FORM_string:
		read_string(c, v);
		break;
	case DW_FORM_sdata:
		v->n = dwarf_sleb(c);
		break;
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		v->n = cur_varint(c);
		break;
	case DW_FORM_block1:
		cur_take(c, cur_u8(c));
		break;
	case DW_FORM_block2:
		cur_take(c, cur_u16(c));
		break;
	case DW_FORM_block4:
		cur_take(c, cur_u32(c));
		break;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		cur_take(c, cur_varint(c));
		break;
	case DW_FORM_indirect: { /* the form is here; a nested indirect form is invalid */
		struct dwarf_attr attr = { .form = cur_varint(c) };
		attr.size = dwarf_form_size(attr.form, sizes);
		attr.implicit = attr.form == DW_FORM_flag_present;
		if (attr.form == DW_FORM_indirect || attr.form == DW_FORM_implicit_const)
			cur_fail(c);
		else
			dwarf_value_read(sizes, c, &attr, v);
		break;
	}
	default:
		cur_fail(c);
	}
}

/* Not inlined, to keep its stack usage out of the loops below. */
static __attribute__((noinline)) struct cur varying_read(const struct dwarf_sizes *sizes,
							 struct cur c,
							 const struct dwarf_attr *attr,
							 struct dwarf_value *v)
{
	*v = (struct dwarf_value){ .form = attr->form };
	read_varying(sizes, &c, v);
	return c;
}

static __attribute__((noinline)) struct cur value_skip(const struct dwarf_sizes *sizes,
						       struct cur c, const struct dwarf_attr *attr)
{
	struct dwarf_value unused;
	return varying_read(sizes, c, attr, &unused);
}

static inline struct cur value_read(const struct dwarf_sizes *sizes, struct cur c,
				    const struct dwarf_attr *attr, struct dwarf_value *v)
{
	if (attr->size == DWARF_VARIES)
		return varying_read(sizes, c, attr, v);
	v->form = attr->form;
	v->p = NULL;
	v->n = read_fixed(&c, attr->size) | attr->implicit;
	return c;
}

void dwarf_value_read(const struct dwarf_sizes *sizes, struct cur *c, const struct dwarf_attr *attr,
		      struct dwarf_value *v)
{
	*c = value_read(sizes, *c, attr, v);
}

static bool value_indexed_address(const struct dwarf_reader *r, uint64_t index, uint64_t *addr)
{
	const struct dwarf_sizes *sizes = &r->unit->sizes;
	uint64_t offset;
	if (__builtin_mul_overflow(index, sizes->address, &offset) ||
	    __builtin_add_overflow(offset, r->addr_base, &offset))
		return false;
	struct cur c = sections_cur(r->linked, DWARF_ADDR, offset, sizes->address);
	*addr = read_sized(&c, sizes->address);
	return !c.bad;
}

static bool value_address(const struct dwarf_reader *r, const struct dwarf_value *v, uint64_t *addr)
{
	switch (v->form) {
	case DW_FORM_addr:
		*addr = v->n;
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return value_indexed_address(r, v->n, addr);
	default:
		return false;
	}
}

static const char *indexed_string(const struct dwarf_reader *r, uint64_t index, size_t *len)
{
	const struct dwarf_sizes *sizes = &r->unit->sizes;
	uint64_t offset;
	if (__builtin_mul_overflow(index, sizes->offset, &offset) ||
	    __builtin_add_overflow(offset, r->str_offsets_base, &offset))
		return NULL;
	struct cur c = sections_cur(r->sections, DWARF_STR_OFFSETS, offset, sizes->offset);
	offset = read_sized(&c, sizes->offset);
	return c.bad ? NULL : sections_string(r->sections, DWARF_STR, offset, len);
}

const char *value_string(const struct dwarf_reader *r, struct dwarf_sections *alt,
			 const struct dwarf_value *v, size_t *len)
{
	switch (v->form) {
	case DW_FORM_string:
		*len = v->n < DWARF_MAX_STRING ? v->n : DWARF_MAX_STRING;
		return (const char *)v->p;
	case DW_FORM_strp:
		return sections_string(r->sections, DWARF_STR, v->n, len);
	case DW_FORM_line_strp:
		return sections_string(r->sections, DWARF_LINE_STR, v->n, len);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return alt ? sections_string(alt, DWARF_STR, v->n, len) : NULL;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return indexed_string(r, v->n, len);
	default:
		return NULL;
	}
}

bool value_reference(const struct dwarf_reader *r, const struct dwarf_value *v, uint64_t *offset,
		     bool *in_alt)
{
	*in_alt = false;
	switch (v->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		*offset = r->unit->start + v->n;
		return v->n < r->unit->end - r->unit->start;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		*in_alt = true;
		/* fall through */
	case DW_FORM_ref_addr:
		*offset = v->n;
		return true;
	default:
		return false;
	}
}

/* --- DIEs ------------------------------------------------------------------------------------- */

/* Takes the cursor by value, so that it stays in registers: nine of ten DIEs are skipped. */
static inline struct cur attr_skip(const struct dwarf_sizes *sizes, struct cur c,
				   const struct dwarf_attr *attr)
{
	if (attr->size != DWARF_VARIES)
		cur_take(&c, attr->size);
	else if (attr->form == DW_FORM_exprloc)
		cur_take(&c, cur_varint(&c));
	else
		c = value_skip(sizes, c, attr);
	return c;
}

void die_skip(const struct dwarf_reader *r, struct cur *c, const struct dwarf_abbrev *abbrev)
{
	const struct dwarf_attr *attr = abbrev_attrs(r->abbrevs, abbrev);
	struct cur at = *c;
	for (uint32_t i = 0; i < abbrev->n && !at.bad; i++) {
		cur_take(&at, attr[i].fixed_bytes);
		i += attr[i].fixed;
		if (i < abbrev->n)
			at = attr_skip(&r->unit->sizes, at, &attr[i]);
	}
	*c = at;
}

void die_values(const struct dwarf_reader *r, struct cur *c, const struct dwarf_abbrev *abbrev,
		struct dwarf_die *d)
{
	const struct dwarf_attr *attr = abbrev_attrs(r->abbrevs, abbrev);
	const struct dwarf_sizes *sizes = &r->unit->sizes;
	struct cur at = *c;
	uint32_t has = 0;
	for (uint32_t i = 0; i < abbrev->n && !at.bad; i++) {
		uint8_t slot = attr[i].slot;
		if (slot == SLOT_NONE || has >> slot & 1) {
			at = attr_skip(sizes, at, &attr[i]);
		} else {
			at = value_read(sizes, at, &attr[i], &d->v[slot]);
			has |= 1u << slot;
		}
	}
	d->has = has;
	*c = at;
}

bool die_read_at(const struct dwarf_reader *r, uint64_t at, struct dwarf_die *d)
{
	if (at < r->unit->first_die || at - r->unit->start >= r->size)
		return false;
	struct cur c = cur_of(r->bytes + (at - r->unit->start), r->size - (at - r->unit->start));
	d->abbrev = abbrevs_find(r->abbrevs, cur_varint(&c));
	if (!d->abbrev)
		return false;
	die_values(r, &c, d->abbrev, d);
	return !c.bad;
}

/* --- the first DIE of a unit ------------------------------------------------------------------ */

/* Returns the default base of a table: the end of its header, for units that give no base, as in
 * .dwo files. */
static uint64_t default_base(const struct dwarf_unit *u, unsigned rest_of_header)
{
	if (u->sizes.version < 5)
		return 0;
	return (u->sizes.offset == 8 ? 12 : 4) + rest_of_header;
}

static uint64_t die_number(const struct dwarf_die *d, enum dwarf_slot slot, uint64_t otherwise)
{
	return die_has(d, slot) ? d->v[slot].n : otherwise;
}

bool dwarf_reader_begin(struct dwarf_reader *r, struct dwarf_sections *s,
			const struct dwarf_unit *unit, const uint8_t *bytes, uint64_t size,
			const struct dwarf_abbrevs *abbrevs, struct dwarf_die *d)
{
	*r = (struct dwarf_reader){ .sections = s,
				    .linked = s,
				    .unit = unit,
				    .bytes = bytes,
				    .size = size,
				    .abbrevs = abbrevs };
	if (!die_read_at(r, unit->first_die, d))
		return false;
	r->addr_base = die_number(d, SLOT_ADDR_BASE, 0);
	r->str_offsets_base = die_number(d, SLOT_STR_OFFSETS_BASE, default_base(unit, 4));
	r->rnglists_base = die_number(d, SLOT_RNGLISTS_BASE, default_base(unit, 8));
	if (!die_has(d, SLOT_LOW) || !value_address(r, &d->v[SLOT_LOW], &r->low_pc))
		r->low_pc = 0;
	return true;
}

/* --- addresses -------------------------------------------------------------------------------- */

/* An entry has a byte and two numbers. */
enum { MAX_ENTRY = 1 + 2 * 10, ENTRIES_AT_ONCE = 32 };

static void range_add(struct dwarf_range_list *out, uint64_t low, uint64_t high)
{
	if (low < high)
		vec_push(&out->v, (struct dwarf_range){ low, high });
}

static uint64_t read_address(struct cur *c, unsigned size)
{
	return size == 8 ? cur_u64(c) : cur_u32(c);
}

/* Reads one entry; returns false at the end. Up to version 4 an entry is two addresses: both 0 at
 * the end; the first all ones: a new base. */
static bool read_old_entry(const struct dwarf_reader *r, struct cur *c, uint64_t *base,
			   struct dwarf_range_list *out)
{
	unsigned size = r->unit->sizes.address;
	uint64_t low = read_address(c, size), high = read_address(c, size);
	if (c->bad || (low == 0 && high == 0))
		return false;
	if (low == (size == 8 ? UINT64_MAX : UINT32_MAX))
		*base = high;
	else
		range_add(out, *base + low, *base + high);
	return true;
}

static bool read_entry(const struct dwarf_reader *r, struct cur *c, uint64_t *base,
		       struct dwarf_range_list *out)
{
	unsigned size = r->unit->sizes.address;
	uint64_t low = 0, high = 0;
	switch (cur_u8(c)) {
	case DW_RLE_base_addressx:
		return value_indexed_address(r, cur_varint(c), base);
	case DW_RLE_startx_endx: {
		uint64_t first = cur_varint(c), last = cur_varint(c);
		if (!value_indexed_address(r, first, &low) ||
		    !value_indexed_address(r, last, &high))
			return false;
		break;
	}
	case DW_RLE_startx_length:
		if (!value_indexed_address(r, cur_varint(c), &low))
			return false;
		high = low + cur_varint(c);
		break;
	case DW_RLE_offset_pair:
		low = *base + cur_varint(c);
		high = *base + cur_varint(c);
		break;
	case DW_RLE_base_address:
		*base = read_address(c, size);
		return !c->bad;
	case DW_RLE_start_end:
		low = read_address(c, size);
		high = read_address(c, size);
		break;
	case DW_RLE_start_length:
		low = read_address(c, size);
		high = low + cur_varint(c);
		break;
	default:
		return false;
	}
	if (!c->bad)
		range_add(out, low, high);
	return !c->bad;
}

/* Finds the offset of the list to which v refers. */
static bool list_offset(const struct dwarf_reader *r, const struct dwarf_value *v, uint64_t *offset)
{
	const struct dwarf_sizes *sizes = &r->unit->sizes;
	if (v->form != DW_FORM_rnglistx) {
		*offset = v->n + (sizes->version < 5 ? r->ranges_base : 0);
		return true;
	}
	uint64_t at;
	if (__builtin_mul_overflow(v->n, sizes->offset, &at) ||
	    __builtin_add_overflow(at, r->rnglists_base, &at))
		return false;
	struct cur c = sections_cur(r->sections, DWARF_RNGLISTS, at, sizes->offset);
	*offset = r->rnglists_base + (sizes->offset == 8 ? cur_u64(&c) : cur_u32(&c));
	return !c.bad;
}

/* Lists do not have their length: loads a few entries at a time. */
static bool read_list(const struct dwarf_reader *r, uint64_t offset, struct dwarf_range_list *out)
{
	bool is_old = r->unit->sizes.version < 5;
	struct dwarf_sections *s = is_old ? r->linked : r->sections;
	enum dwarf_section_id id = is_old ? DWARF_RANGES : DWARF_RNGLISTS;
	uint64_t base = r->low_pc;
	for (;;) {
		struct cur c = sections_cur(s, id, offset, ENTRIES_AT_ONCE * MAX_ENTRY);
		const uint8_t *start = c.p;
		if (c.bad)
			return false;
		for (unsigned i = 0; i < ENTRIES_AT_ONCE; i++) {
			bool more = out->budget && (is_old ? read_old_entry(r, &c, &base, out)
							   : read_entry(r, &c, &base, out));
			if (!more)
				return !c.bad && out->budget;
			out->budget--;
		}
		offset += c.p - start;
	}
}

bool die_ranges(const struct dwarf_reader *r, const struct dwarf_die *d,
		struct dwarf_range_list *out)
{
	uint64_t low, high, offset;
	if (die_has(d, SLOT_RANGES))
		return list_offset(r, &d->v[SLOT_RANGES], &offset) && read_list(r, offset, out);
	if (!die_has(d, SLOT_LOW) || !die_has(d, SLOT_HIGH))
		return true;
	if (!value_address(r, &d->v[SLOT_LOW], &low))
		return false;
	/* An address, or since version 4 a size. */
	if (!value_address(r, &d->v[SLOT_HIGH], &high))
		high = low + d->v[SLOT_HIGH].n;
	range_add(out, low, high);
	return true;
}
