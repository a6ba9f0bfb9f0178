#include "symbol/dwarf.h"

#include "base/mem.h"
#include "symbol/dwarf_object.h"
#include "symbol/dwarf_spec.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LINK = 4096 /* bytes of .gnu_debugaltlink */, MAX_ATTEMPTS = 8 };

/* --- which unit has which addresses ---------------------------------------------------------------------------------- */

static void map_range(struct dwarf *d, uint64_t low, uint64_t high, uint32_t unit)
{
	uint64_t end = elf_layout_code_end(d->layout, low);
	if (end)
		ranges_add(&d->by_addr, low, (high < end ? high : end) - low, unit);
}

/* Units of versions before 3 do not say where their code is when it is in several places: their functions do. */
static void map_functions(struct dwarf *d, uint32_t unit)
{
	const struct dwarf_index *x = unit_index(d, &d->main.units.v[unit]);
	for (size_t i = 0; x && i + 1 < x->scopes.n_pieces; i++)
		if (x->scopes.owners[i] != SCOPE_NONE)
			map_range(d, x->scopes.starts[i], x->scopes.starts[i + 1], unit);
	units_keep_limits(d);
}

static bool map_unit(struct dwarf *d, uint32_t i, struct dwarf_open_unit *o,
		     struct dwarf_range_list *list)
{
	const struct dwarf_unit *u = &d->main.units.v[i];
	if (!dwarf_unit_peek(o, &d->main, u))
		return false;
	uint16_t tag = o->die.abbrev->tag;
	if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit)
		return true;
	vec_clear(&list->v);
	bool ok = die_ranges(&o->reader, &o->die, list);
	for (size_t k = 0; k < list->v.n; k++)
		map_range(d, list->v.v[k].low, list->v.v[k].high, i);
	if (list->v.n == 0 && u->sizes.version < 3)
		map_functions(d, i);
	return ok;
}

static void map_units(struct dwarf *d)
{
	const struct dwarf_section *s = d->main.sections.s;
	struct dwarf_open_unit o = { 0 };
	struct dwarf_range_list list = { .budget = s[DWARF_RANGES].size + s[DWARF_RNGLISTS].size +
						   4 * d->main.units.n };
	/* The shape that is looked for is nearly always the first. */
	uint64_t work = 0, max_work = 8 * s[DWARF_ABBREV].size + 256 * d->main.units.n;
	for (size_t i = 0; i < d->main.units.n; i++) {
		const struct dwarf_unit *u = &d->main.units.v[i];
		if (u->type == DW_UT_type || u->type == DW_UT_partial)
			continue;
		if (work > max_work || !map_unit(d, i, &o, &list))
			d->skipped++;
		work += o.abbrevs.work;
	}
	dwarf_unit_close(&o);
	vec_done(&list.v);
	ranges_build(&d->by_addr, UNITS_AT_ADDRESS);
}

/* --- lookup ---------------------------------------------------------------------------------------------------------- */

/* The unit and scope at an address. Of several units the first that has a function there, else one that has lines. */
static struct dwarf_index *find_scope(struct dwarf *d, uint64_t vaddr, uint32_t *scope)
{
	struct dwarf_index *best = NULL;
	size_t before = d->by_addr.v.n;
	*scope = SCOPE_NONE;
	for (unsigned i = 0; i < UNITS_AT_ADDRESS; i++) {
		const struct range *r = ranges_find(&d->by_addr, vaddr, before);
		if (!r)
			break;
		before = r - d->by_addr.v.v;
		struct dwarf_index *x = unit_index(d, &d->main.units.v[r->name]);
		uint32_t found = x ? scopes_find(&x->scopes, vaddr) : SCOPE_NONE;
		if (found != SCOPE_NONE) {
			*scope = found;
			return x;
		}
		if (x && !best && rows_find(&x->rows, vaddr))
			best = x;
	}
	return best;
}

uint32_t dwarf_lookup(struct dwarf *d, uint64_t vaddr, struct symbol_line *out, uint32_t max,
		      bool *whole)
{
	uint32_t at, n = 0;
	units_keep_limits(d);
	struct dwarf_index *x = find_scope(d, vaddr, &at);
	*whole = false;
	if (!x)
		return 0;
	const struct dwarf_row *row = rows_find(&x->rows, vaddr);
	uint32_t line = row ? row->line : 0;
	const char *file = row ? rows_path(&x->rows, &d->main.sections, row->file) : NULL;
	for (; at != SCOPE_NONE && n < max; at = x->scopes.v.v[at].parent) {
		const struct dwarf_scope *scope = &x->scopes.v.v[at];
		out[n] = (struct symbol_line){ .file = file, .line = line };
		*whole = scope->parent == SCOPE_NONE;
		/* A call of something without a name is not shown, as if it were written out. */
		if (!scope_name(d, x, scope, &out[n]) && !*whole)
			continue;
		n++;
		line = scope->call_line;
		file = rows_path(&x->rows, &d->main.sections, scope->call_file);
	}
	if (n == 0 && row)
		out[n++] = (struct symbol_line){ .file = file, .line = line };
	return n;
}

/* --- opening --------------------------------------------------------------------------------------------------------- */

/* .gnu_debugaltlink: a path, NUL, a build id. */
static void open_alt(struct dwarf *d, const struct elf_file *f)
{
	char link[MAX_LINK];
	GElf_Shdr s;
	if (!d->locate || !elf_file_section(f, ".gnu_debugaltlink", SHT_PROGBITS, &s) ||
	    s.sh_size > sizeof link || !elf_file_read(f, s.sh_offset, link, s.sh_size))
		return;
	size_t len = strnlen(link, s.sh_size);
	if (len + 1 >= s.sh_size)
		return;
	const struct debug_request req = { .kind = DEBUG_SHARED,
					   .name = link,
					   .build_id = (const uint8_t *)link + len + 1,
					   .build_id_len = s.sh_size - len - 1 };
	for (unsigned i = 0; i < MAX_ATTEMPTS; i++) {
		int fd = d->locate(d->ctx, &req, i);
		if (fd < 0)
			return;
		if (dwarf_file_open(&d->alt, fd, false, req.build_id, req.build_id_len)) {
			d->alt.number = DWARF_NUMBER_ALT;
			dwarf_file_read_units(&d->alt);
			d->main.alt = &d->alt;
			return;
		}
	}
}

struct dwarf *dwarf_open(const struct elf_file *f, const struct elf_layout *layout,
			 debug_locate_fn *locate, void *ctx)
{
	struct dwarf *d = xcalloc(1, sizeof *d);
	if (!dwarf_file_begin(&d->main, f, false)) {
		free(d);
		return NULL;
	}
	d->layout = layout;
	d->locate = locate;
	d->ctx = ctx;
	d->next_number = DWARF_NUMBER_DWO;
	d->skipped += !dwarf_file_read_units(&d->main);
	open_alt(d, f);
	map_units(d);
	return d;
}

void dwarf_close(struct dwarf *d)
{
	if (!d)
		return;
	units_drop_all(d);
	vec_done(&d->loaded);
	dwarf_file_done(&d->main);
	if (d->main.alt)
		dwarf_file_done(&d->alt);
	if (d->package.there)
		dwarf_file_done(&d->package.file);
	ranges_done(&d->by_addr);
	name_cache_done(&d->names);
	map_done(&d->start_lines);
	free(d);
}

uint64_t dwarf_skipped(const struct dwarf *d)
{
	return d->skipped;
}

size_t dwarf_bytes(const struct dwarf *d)
{
	return dwarf_file_bytes(&d->main) + dwarf_file_bytes(&d->alt) +
	       dwarf_file_bytes(&d->package.file) + d->loaded_bytes + d->names.text.total +
	       d->by_addr.v.cap * sizeof *d->by_addr.v.v;
}
