#include "symbol/dwarf_ranges.h"

#include "symbol/dwarf_spec.h"

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

/* One entry; false at the end. In version 4 and before: two addresses, both 0 at the end, the first all ones: a new base. */
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

/* The offset of the list that v names. */
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

/* Lists do not say how long they are: a few entries are loaded at a time. */
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
