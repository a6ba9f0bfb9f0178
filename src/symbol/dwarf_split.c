#include "symbol/dwarf_split.h"

#include "base/mem.h"
#include "symbol/dwarf_spec.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_ATTEMPTS = 8,
	MAX_INDEX_COLUMNS = 16,
	MAX_DWO_UNITS = 256, /* with link-time optimization there are a few in one */
};

static uint64_t unit_id(const struct dwarf_open_unit *o)
{
	return die_has(&o->die, SLOT_DWO_ID) ? o->die.v[SLOT_DWO_ID].n : o->unit->id;
}

bool dwarf_is_skeleton(const struct dwarf_open_unit *o)
{
	return die_has(&o->die, SLOT_DWO_NAME) && unit_id(o);
}

/* What the linker did not copy stays in its file, and the skeleton says where it begins. */
static void link_to_skeleton(struct dwarf_reader *r, const struct dwarf_open_unit *skeleton)
{
	const struct dwarf_die *d = &skeleton->die;
	r->linked = &skeleton->file->sections;
	r->addr_base = skeleton->reader.addr_base;
	r->ranges_base = die_has(d, SLOT_RANGES_BASE) ? d->v[SLOT_RANGES_BASE].n : 0;
	r->low_pc = skeleton->reader.low_pc;
}

/* --- .dwp ------------------------------------------------------------------------------------------------------------ */

/* Where each section's part of one unit begins. */
struct package_row {
	uint64_t info;
	struct dwarf_tables tables;
};

static void row_read(struct cur *ids, struct cur *offsets, uint32_t columns,
		     struct package_row *row)
{
	for (uint32_t i = 0; i < columns; i++) {
		uint32_t id = cur_u32(ids), offset = cur_u32(offsets);
		if (id == DW_SECT_INFO)
			row->info = offset;
		else if (id == DW_SECT_ABBREV)
			row->tables.abbrev = offset;
		else if (id == DW_SECT_STR_OFFSETS)
			row->tables.str_offsets = offset;
		else if (id == DW_SECT_RNGLISTS)
			row->tables.rnglists = offset;
	}
}

/* The hash table's row for an id, counted from 1; 0: none. Slots are 8 bytes, their rows 4. */
static uint32_t index_find(const uint8_t *hashes, const uint8_t *rows, uint32_t slots, uint64_t id)
{
	uint64_t mask = slots - 1, at = id & mask, step = (id >> 32 & mask) | 1;
	for (uint32_t i = 0; i < slots; i++, at = (at + step) & mask) {
		struct cur hash = cur_of(hashes + at * 8, 8), row = cur_of(rows + at * 4, 4);
		uint32_t number = cur_u32(&row);
		if (number == 0 || cur_u64(&hash) == id)
			return number;
	}
	return 0;
}

/* Header: version, columns, units, slots; then hashes, rows, the columns' names, and a line of offsets for each unit. */
static bool package_find(struct dwarf_sections *s, uint64_t id, struct package_row *row)
{
	uint64_t size = s->s[DWARF_CU_INDEX].size;
	struct cur c = sections_cur(s, DWARF_CU_INDEX, 0, size < UINT32_MAX ? size : UINT32_MAX);
	uint32_t version = cur_u32(&c) & 0xffff, columns = cur_u32(&c), units = cur_u32(&c),
		 slots = cur_u32(&c);
	if (c.bad || (version != 2 && version != 5) || columns > MAX_INDEX_COLUMNS || slots == 0 ||
	    (slots & (slots - 1)))
		return false;
	const uint8_t *hashes = cur_take(&c, (size_t)slots * 8);
	const uint8_t *rows = cur_take(&c, (size_t)slots * 4);
	const uint8_t *ids = cur_take(&c, (size_t)columns * 4);
	const uint8_t *offsets = cur_take(&c, (size_t)columns * 4 * units);
	uint32_t number = offsets ? index_find(hashes, rows, slots, id) : 0;
	if (number == 0 || number > units)
		return false;
	struct cur id_cur = cur_of(ids, (size_t)columns * 4);
	struct cur offset_cur = cur_of(offsets + (size_t)(number - 1) * columns * 4, columns * 4);
	row_read(&id_cur, &offset_cur, columns, row);
	return true;
}

static bool package_open(struct dwarf_package *p, debug_locate_fn *locate, void *ctx)
{
	const struct debug_request req = { .kind = DEBUG_PACKAGE };
	for (unsigned i = 0; !p->asked && !p->there && i < MAX_ATTEMPTS; i++) {
		int fd = locate(ctx, &req, i);
		if (fd < 0)
			break;
		p->there = dwarf_file_open(&p->file, fd, true, NULL, 0);
	}
	p->asked = true;
	p->file.number = DWARF_NUMBER_PACKAGE;
	return p->there;
}

static bool open_in_package(struct dwarf_split *s, struct dwarf_package *p, uint64_t id)
{
	struct package_row row = { 0 };
	return package_find(&p->file.sections, id, &row) &&
	       dwarf_unit_read(&p->file.sections, row.info, &s->unit) &&
	       dwarf_unit_open(&s->open, &p->file, &s->unit, &row.tables);
}

/* --- .dwo ------------------------------------------------------------------------------------------------------------ */

static bool has_id(struct dwarf_file *dwo, const struct dwarf_unit *unit, uint64_t id)
{
	if (unit->sizes.version >= 5)
		return unit->type == DW_UT_split_compile && unit->id == id;
	struct dwarf_open_unit o = { 0 };
	bool same = dwarf_unit_peek(&o, dwo, unit) && unit_id(&o) == id;
	dwarf_unit_close(&o);
	return same;
}

/* The unit with this id among those of s->dwo. */
static bool open_in_dwo(struct dwarf_split *s, uint64_t id)
{
	dwarf_file_read_units(&s->dwo);
	for (size_t i = 0; i < s->dwo.units.n && i < MAX_DWO_UNITS; i++) {
		s->unit = s->dwo.units.v[i];
		if (has_id(&s->dwo, &s->unit, id))
			return dwarf_unit_open(&s->open, &s->dwo, &s->unit, NULL);
	}
	return false;
}

static char *unit_text(const struct dwarf_open_unit *o, enum dwarf_slot slot)
{
	size_t len;
	const char *text = die_has(&o->die, slot)
				   ? value_string(&o->reader, NULL, &o->die.v[slot], &len)
				   : NULL;
	return text ? xstrndup(text, len) : NULL;
}

static bool locate_dwo(struct dwarf_split *s, const struct dwarf_open_unit *skeleton,
		       debug_locate_fn *locate, void *ctx, uint32_t number)
{
	char *name = unit_text(skeleton, SLOT_DWO_NAME), *dir = unit_text(skeleton, SLOT_COMP_DIR);
	const struct debug_request req = { .kind = DEBUG_DWO, .name = name, .dir = dir };
	bool found = false;
	for (unsigned i = 0; name && !found && i < MAX_ATTEMPTS; i++) {
		int fd = locate(ctx, &req, i);
		if (fd < 0)
			break;
		if (!dwarf_file_open(&s->dwo, fd, true, NULL, 0))
			continue;
		s->dwo.number = number;
		found = open_in_dwo(s, unit_id(skeleton));
		if (!found)
			dwarf_file_done(&s->dwo);
	}
	free(name);
	free(dir);
	return found;
}

struct dwarf_split *dwarf_split_open(const struct dwarf_open_unit *skeleton,
				     struct dwarf_package *package, debug_locate_fn *locate,
				     void *ctx, uint32_t number)
{
	if (!locate)
		return NULL;
	struct dwarf_split *s = xcalloc(1, sizeof *s);
	s->dwo.fd = -1;
	if (!(package_open(package, locate, ctx) &&
	      open_in_package(s, package, unit_id(skeleton))) &&
	    !locate_dwo(s, skeleton, locate, ctx, number)) {
		dwarf_split_free(s);
		return NULL;
	}
	link_to_skeleton(&s->open.reader, skeleton);
	return s;
}

void dwarf_split_free(struct dwarf_split *s)
{
	if (!s)
		return;
	dwarf_unit_close(&s->open);
	dwarf_file_done(&s->dwo);
	free(s);
}
