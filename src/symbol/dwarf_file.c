#include "symbol/dwarf_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PEEK_BYTES = 512 };

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

/* --- units ----------------------------------------------------------------------------------------------------------- */

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
	size_t lo = 0, hi = file->units.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (file->units.v[mid].start <= offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	struct dwarf_unit *u = lo ? &file->units.v[lo - 1] : NULL;
	return u && offset >= u->first_die && offset < u->end ? u : NULL;
}

/* The first `size` bytes are at `bytes`. */
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
	/* Nearly always in the first bytes. */
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
