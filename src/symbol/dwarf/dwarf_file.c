/* Opens the files that belong together. */
#include "symbol/dwarf/dwarf_file.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/search.h"
#include "symbol/dwarf/dwarf_spec.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PEEK_BYTES = 512,
	MAX_ATTEMPTS = 8,
	MAX_INDEX_COLUMNS = 16,
	MAX_DWO_UNITS = 256, /* with link-time optimization a file has a few */
};

bool dwarf_file_begin(struct dwarf_file *file, const struct elf_file *f, bool split)
{
	*file = (struct dwarf_file){ .fd = -1 };
	return sections_find(&file->sections, f, split);
}

bool dwarf_file_open(struct dwarf_file *file, int fd, bool split, const uint8_t *build_id,
		     size_t build_id_len)
{
	struct elf_file f;
	uint8_t id[64];
	bool fits = false;
	if (elf_file_open(&f, fd, NULL) == 0) {
		fits = (build_id_len == 0 ||
			(elf_file_build_id(&f, id, sizeof id) == build_id_len &&
			 memcmp(id, build_id, build_id_len) == 0)) &&
		       dwarf_file_begin(file, &f, split);
		elf_file_close(&f);
	}
	if (fits)
		file->fd = fd;
	else
		close(fd);
	return fits;
}

void dwarf_file_done(struct dwarf_file *file)
{
	sections_done(&file->sections);
	vec_done(&file->units);
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

size_t dwarf_file_bytes(const struct dwarf_file *file)
{
	return file->sections.read_bytes + file->sections.unpacked_bytes +
	       file->units.cap * sizeof *file->units.v;
}

/* --- units ------------------------------------------------------------------------------------ */

bool dwarf_file_read_units(struct dwarf_file *file)
{
	struct dwarf_unit u;
	for (uint64_t at = 0; dwarf_unit_read(&file->sections, at, &u); at = u.end) {
		if (file->units.n >= DWARF_MAX_UNITS)
			return false;
		vec_push(&file->units, u);
	}
	return true;
}

struct dwarf_unit *dwarf_file_unit(const struct dwarf_file *file, uint64_t offset)
{
	size_t after = vec_upper(&file->units, start, offset);
	struct dwarf_unit *u = after ? &file->units.v[after - 1] : NULL;
	return u && offset >= u->first_die && offset < u->end ? u : NULL;
}

/* bytes: the first `size` bytes of the unit. */
static bool unit_begin(struct dwarf_open_unit *o, struct dwarf_file *file,
		       const struct dwarf_unit *unit, const uint8_t *bytes, uint64_t size,
		       uint64_t abbrev_base, bool first_only)
{
	uint64_t header = unit->first_die - unit->start;
	if (!bytes || header >= size)
		return false;
	o->unit = unit;
	o->file = file;
	struct cur c = cur_of(bytes + header, size - header);
	uint64_t code = cur_varint(&c);
	return code &&
	       abbrevs_read(&o->abbrevs, &file->sections, abbrev_base + unit->abbrev, &unit->sizes,
			    first_only ? code : 0) &&
	       dwarf_reader_begin(&o->reader, &file->sections, unit, bytes, size, &o->abbrevs,
				  &o->die);
}

bool dwarf_unit_open(struct dwarf_open_unit *o, struct dwarf_file *file,
		     const struct dwarf_unit *unit, const struct dwarf_tables *tables)
{
	const struct dwarf_tables none = { 0 };
	uint64_t size = unit->end - unit->start;
	tables = tables ? tables : &none;
	if (unit->first_die >= unit->end)
		return false;
	const uint8_t *bytes =
		sections_keep(&file->sections, DWARF_INFO, unit->start, size, &o->copy);
	if (!unit_begin(o, file, unit, bytes, size, tables->abbrev, false))
		return false;
	o->reader.str_offsets_base += tables->str_offsets;
	o->reader.rnglists_base += tables->rnglists;
	return true;
}

bool dwarf_unit_peek(struct dwarf_open_unit *o, struct dwarf_file *file,
		     const struct dwarf_unit *unit)
{
	/* The DIE is nearly always in the first bytes. */
	for (uint64_t max = PEEK_BYTES, size = 0; size < unit->end - unit->start;
	     max = UINT64_MAX) {
		size = unit->end - unit->start < max ? unit->end - unit->start : max;
		const uint8_t *bytes =
			sections_load(&file->sections, DWARF_INFO, unit->start, size);
		if (unit_begin(o, file, unit, bytes, size, 0, true))
			return true;
	}
	return false;
}

void dwarf_unit_close(struct dwarf_open_unit *o)
{
	abbrevs_done(&o->abbrevs);
	free(o->copy);
	o->copy = NULL;
}

/* --- split DWARF ------------------------------------------------------------------------------ */

static uint64_t unit_id(const struct dwarf_open_unit *o)
{
	return die_has(&o->die, SLOT_DWO_ID) ? o->die.v[SLOT_DWO_ID].n : o->unit->id;
}

bool dwarf_is_skeleton(const struct dwarf_open_unit *o)
{
	return die_has(&o->die, SLOT_DWO_NAME) && unit_id(o);
}

/* --- .dwp ------------------------------------------------------------------------------------- */

/* The start of one unit's part of each section. */
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

/* Returns the hash table's row for an id, from 1; 0: none. Slots are 8 bytes, their rows 4. */
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

/* Header: version, columns, units, slots; then hashes, rows, the columns' ids, and a row of offsets
 * for each unit. */
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

/* --- .dwo ------------------------------------------------------------------------------------- */

static bool has_id(struct dwarf_file *dwo, const struct dwarf_unit *unit, uint64_t id)
{
	if (unit->sizes.version >= 5)
		return unit->type == DW_UT_split_compile && unit->id == id;
	struct dwarf_open_unit o = { 0 };
	bool same = dwarf_unit_peek(&o, dwo, unit) && unit_id(&o) == id;
	dwarf_unit_close(&o);
	return same;
}

/* Opens the unit with this id in s->dwo. */
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
	/* Some tables are only in the linked file; the skeleton has their bases. */
	struct dwarf_reader *r = &s->open.reader;
	const struct dwarf_die *d = &skeleton->die;
	r->linked = &skeleton->file->sections;
	r->addr_base = skeleton->reader.addr_base;
	r->ranges_base = die_has(d, SLOT_RANGES_BASE) ? d->v[SLOT_RANGES_BASE].n : 0;
	r->low_pc = skeleton->reader.low_pc;
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

/* --- code of units ---------------------------------------------------------------------------- */

/* A pair of zeros ends a set, but linkers also write zeros for functions that they dropped: the
 * length of the set decides. */
static void add_pairs(struct dwarf_aranges *a, struct cur *c, uint64_t unit, unsigned size)
{
	while (cur_left(c) >= 2 * size) {
		uint64_t low = cur_int(c, size), len = cur_int(c, size), high;
		if (len && !__builtin_add_overflow(low, len, &high))
			vec_push(&a->v, (struct dwarf_arange){ unit, low, high });
	}
}

/* Pairs are aligned to their size, from the start of the set on. */
static bool add_set(struct dwarf_aranges *a, struct cur *c)
{
	const uint8_t *start = c->p;
	uint64_t length = cur_u32(c);
	bool is_64 = length == UINT32_MAX;
	if (is_64)
		length = cur_u64(c);
	if (c->bad || length > cur_left(c))
		return false;
	struct cur set = cur_of(c->p, length);
	cur_take(c, length);
	uint16_t version = cur_u16(&set);
	uint64_t unit = is_64 ? cur_u64(&set) : cur_u32(&set);
	unsigned size = cur_u8(&set), segment = cur_u8(&set);
	if (set.bad || version != 2 || (size != 4 && size != 8) || segment)
		return false;
	size_t before = set.p - start, pair = 2 * size;
	cur_take(&set, (pair - before % pair) % pair);
	add_pairs(a, &set, unit, size);
	return true;
}

static int by_unit(const void *a, const void *b)
{
	const struct dwarf_arange *x = a, *y = b;
	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return (x->low > y->low) - (x->low < y->low);
}

static bool is_sorted(const struct dwarf_aranges *a)
{
	for (size_t i = 1; i < a->v.n; i++)
		if (a->v.v[i].unit < a->v.v[i - 1].unit)
			return false;
	return true;
}

void aranges_read(struct dwarf_aranges *a, struct dwarf_sections *s)
{
	if (s->s[DWARF_ARANGES].size > DWARF_MAX_ARANGES)
		return;
	struct cur c = sections_cur(s, DWARF_ARANGES, 0, DWARF_MAX_ARANGES);
	while (cur_left(&c) && add_set(a, &c))
		;
	if (!is_sorted(a))
		qsort(a->v.v, a->v.n, sizeof *a->v.v, by_unit);
}

void aranges_done(struct dwarf_aranges *a)
{
	vec_done(&a->v);
}
