/* Parses abbreviations, and precomputes skips. */
#include "symbol/dwarf/dwarf_abbrev.h"

#include "base/search.h"
#include "symbol/dwarf/dwarf_sections.h"
#include "symbol/dwarf/dwarf_spec.h"

#include <stdlib.h>

enum {
	FIRST_WINDOW = 16 << 10,
	MAX_JOINED = 4000, /* attributes of at most 16 bytes */
};

static uint8_t attr_slot(uint64_t at)
{
	switch (at) {
	case DW_AT_name:
		return SLOT_NAME;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		return SLOT_LINKAGE;
	case DW_AT_low_pc:
		return SLOT_LOW;
	case DW_AT_high_pc:
		return SLOT_HIGH;
	case DW_AT_ranges:
		return SLOT_RANGES;
	case DW_AT_abstract_origin:
		return SLOT_ORIGIN;
	case DW_AT_specification:
		return SLOT_SPECIFICATION;
	case DW_AT_call_file:
		return SLOT_CALL_FILE;
	case DW_AT_call_line:
		return SLOT_CALL_LINE;
	case DW_AT_decl_line:
		return SLOT_DECL_LINE;
	case DW_AT_sibling:
		return SLOT_SIBLING;
	case DW_AT_inline:
		return SLOT_INLINE;
	case DW_AT_declaration:
		return SLOT_DECLARATION;
	case DW_AT_stmt_list:
		return SLOT_STMT_LIST;
	case DW_AT_language:
		return SLOT_LANGUAGE;
	case DW_AT_comp_dir:
		return SLOT_COMP_DIR;
	case DW_AT_str_offsets_base:
		return SLOT_STR_OFFSETS_BASE;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		return SLOT_ADDR_BASE;
	case DW_AT_rnglists_base:
		return SLOT_RNGLISTS_BASE;
	case DW_AT_GNU_ranges_base:
		return SLOT_RANGES_BASE;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		return SLOT_DWO_NAME;
	case DW_AT_GNU_dwo_id:
		return SLOT_DWO_ID;
	default:
		return SLOT_NONE;
	}
}

uint8_t dwarf_form_size(uint64_t form, const struct dwarf_sizes *sizes)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sup8:
	case DW_FORM_ref_sig8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return sizes->address;
	case DW_FORM_ref_addr: /* an address in version 2 */
		return sizes->version == 2 ? sizes->address : sizes->offset;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return sizes->offset;
	default:
		return DWARF_VARIES;
	}
}

struct cur dwarf_long_sleb(struct cur c, int64_t *value)
{
	uint64_t v = 0;
	*value = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t byte = cur_u8(&c);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if ((byte & 0x40) && shift + 7 < 64)
			v |= ~0ull << (shift + 7);
		*value = v;
		return c;
	}
	cur_fail(&c);
	return c;
}

/* Joins attributes of fixed size, so that they are skipped together. */
static void join_fixed(struct dwarf_attr *attr, uint32_t n)
{
	for (uint32_t i = n; i-- > 0;) {
		const struct dwarf_attr *next = i + 1 < n ? &attr[i + 1] : NULL;
		if (attr[i].size == DWARF_VARIES)
			continue;
		attr[i].fixed = 1;
		attr[i].fixed_bytes = attr[i].size;
		if (next && next->fixed < MAX_JOINED) {
			attr[i].fixed += next->fixed;
			attr[i].fixed_bytes += next->fixed_bytes;
		}
	}
}

/* Reads the pairs of attribute and form of one abbreviation, which end with two zeros. */
static void read_attrs(struct dwarf_abbrevs *a, struct cur *c, const struct dwarf_sizes *sizes,
		       struct dwarf_abbrev *abbrev)
{
	abbrev->first = a->attrs.n;
	for (;;) {
		uint64_t at = cur_varint(c), form = cur_varint(c);
		if (c->bad || (at == 0 && form == 0))
			break;
		if (form > UINT16_MAX || a->attrs.n >= DWARF_MAX_ABBREVS) {
			cur_fail(c);
			break;
		}
		struct dwarf_attr attr = { .form = form,
					   .slot = attr_slot(at),
					   .size = dwarf_form_size(form, sizes) };
		if (form == DW_FORM_implicit_const)
			attr.implicit = dwarf_sleb(c);
		else
			attr.implicit = form == DW_FORM_flag_present;
		vec_push(&a->attrs, attr);
	}
	abbrev->n = a->attrs.n - abbrev->first;
	if (abbrev->n)
		join_fixed(&a->attrs.v[abbrev->first], abbrev->n);
}

static bool tag_is_plain(uint64_t tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_namespace:
	case DW_TAG_array_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_subroutine_type:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return false;
	default:
		return true;
	}
}

static int code_compare(const void *a, const void *b)
{
	const struct dwarf_abbrev *x = a, *y = b;
	return (x->code > y->code) - (x->code < y->code);
}

static void read_table(struct dwarf_abbrevs *a, struct cur *c, const struct dwarf_sizes *sizes,
		       uint64_t only)
{
	vec_clear(&a->v);
	vec_clear(&a->attrs);
	a->dense = true;
	while (!c->bad) {
		struct dwarf_abbrev abbrev = { .code = cur_varint(c) };
		if (abbrev.code == 0)
			break;
		uint64_t tag = cur_varint(c);
		abbrev.tag = tag;
		abbrev.plain = tag_is_plain(tag);
		abbrev.children = cur_u8(c);
		if (tag > UINT16_MAX || a->v.n >= DWARF_MAX_ABBREVS)
			cur_fail(c);
		read_attrs(a, c, sizes, &abbrev);
		if (c->bad)
			break;
		a->dense = a->dense && abbrev.code == a->v.n + 1;
		vec_push(&a->v, abbrev);
		if (abbrev.code == only)
			break;
	}
}

/* A table does not have its length, so a small part is tried first. */
bool abbrevs_read(struct dwarf_abbrevs *a, struct dwarf_sections *s, uint64_t offset,
		  const struct dwarf_sizes *sizes, uint64_t only)
{
	struct cur c;
	a->work = 0;
	for (uint64_t max = FIRST_WINDOW; max <= DWARF_MAX_TABLE; max *= 16) {
		c = sections_cur(s, DWARF_ABBREV, offset, max);
		uint64_t len = cur_left(&c);
		const uint8_t *start = c.p;
		read_table(a, &c, sizes, only);
		a->work += c.p - start;
		if (!c.bad || len < max)
			break;
	}
	if (!a->dense)
		qsort(a->v.v, a->v.n, sizeof *a->v.v, code_compare);
	return !c.bad;
}

void abbrevs_done(struct dwarf_abbrevs *a)
{
	vec_done(&a->v);
	vec_done(&a->attrs);
}

const struct dwarf_abbrev *abbrevs_search(const struct dwarf_abbrevs *a, uint64_t code)
{
	size_t i = vec_lower(&a->v, code, code);
	return i < a->v.n && a->v.v[i].code == code ? &a->v.v[i] : NULL;
}
