#include "symbol/dwarf.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "symbol/dwarf_rows.h"
#include "symbol/dwarf_scopes.h"
#include "symbol/dwarf_spec.h"
#include "symbol/dwarf_split.h"
#include "symbol/name_cache.h"
#include "symbol/ranges.h"

#include <stdlib.h>
#include <string.h>

enum {
	/* Units that lie over each other at one address which are tried. */
	UNITS_AT_ADDRESS = 4,
	MAX_LINK = 4096, /* bytes of .gnu_debugaltlink */
	MAX_ATTEMPTS = 8,
	NAME_BITS = 36, /* of an offset in .debug_info, in the key of a name */
};

/* A unit that was hit. */
struct dwarf_index {
	struct dwarf_open_unit open;
	struct dwarf_split *split; /* its other part, or NULL */
	bool complete;             /* scopes and rows are there */
	size_t bytes;              /* of what d->loaded_bytes counts */
	struct dwarf_scopes scopes;
	struct dwarf_rows rows;
};

struct dwarf {
	struct dwarf_file main, alt;
	struct dwarf_package package;
	const struct elf_layout *layout;
	debug_locate_fn *locate;
	void *ctx;
	struct ranges by_addr;            /* range → unit */
	VEC(struct dwarf_index *) loaded; /* oldest first */
	size_t loaded_bytes;
	uint32_t open_dwo, next_number;
	struct name_cache names;
	struct map start_lines; /* by the names' keys */
	uint64_t skipped;
};

/* --- units ----------------------------------------------------------------------------------------------------------- */

static bool unit_is_c_like(const struct dwarf_open_unit *o)
{
	if (!die_has(&o->die, SLOT_LANGUAGE))
		return false;
	switch (o->die.v[SLOT_LANGUAGE].n) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C_plus_plus:
	case DW_LANG_C99:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_C_plus_plus_17:
	case DW_LANG_C_plus_plus_20:
	case DW_LANG_C17:
		return true;
	default:
		return false;
	}
}

static void index_free(struct dwarf_index *x)
{
	dwarf_unit_close(&x->open);
	dwarf_split_free(x->split);
	scopes_done(&x->scopes);
	rows_done(&x->rows);
	free(x);
}

static size_t index_bytes(const struct dwarf_index *x)
{
	const struct dwarf_unit *u = x->open.unit;
	return sizeof *x + (u->end - u->start) +
	       x->open.abbrevs.v.cap * sizeof *x->open.abbrevs.v.v +
	       x->open.abbrevs.attrs.cap * sizeof *x->open.abbrevs.attrs.v +
	       scopes_bytes(&x->scopes) + rows_bytes(&x->rows) +
	       (x->split ? dwarf_file_bytes(&x->split->dwo) + x->split->open.reader.size : 0);
}

/* What it takes now goes into the sum. */
static void index_count(struct dwarf *d, struct dwarf_index *x)
{
	d->loaded_bytes -= x->bytes;
	x->bytes = index_bytes(x);
	d->loaded_bytes += x->bytes;
}

static void drop_oldest(struct dwarf *d, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct dwarf_index *x = d->loaded.v[i];
		struct dwarf_file *file = x->open.file;
		file->units.v[x->open.unit - file->units.v].loaded = NULL;
		d->loaded_bytes -= x->bytes;
		d->open_dwo -= x->split && x->split->dwo.fd >= 0;
		index_free(x);
	}
	d->loaded.n -= n;
	memmove(d->loaded.v, d->loaded.v + n, d->loaded.n * sizeof *d->loaded.v);
}

/* What is loaded stays until here: called when nobody holds on to anything. */
static void keep_limits(struct dwarf *d)
{
	sections_trim(&d->main.sections);
	sections_trim(&d->alt.sections);
	sections_trim(&d->package.file.sections);
	while (d->loaded.n &&
	       (d->loaded_bytes > DWARF_MAX_INDEX || d->open_dwo > DWARF_MAX_OPEN_DWO))
		drop_oldest(d, d->loaded.n / 8 + 1);
	if (d->names.text.total > NAME_CACHE_MAX_BYTES / 2) {
		name_cache_done(&d->names);
		map_done(&d->start_lines);
		d->names = (struct name_cache){ 0 };
		d->start_lines = (struct map){ 0 };
	}
}

/* The unit with its shapes; NULL when it is malformed. */
static struct dwarf_index *unit_load(struct dwarf *d, struct dwarf_file *file,
				     struct dwarf_unit *unit)
{
	if (unit->loaded)
		return unit->loaded;
	struct dwarf_index *x = xcalloc(1, sizeof *x);
	if (!dwarf_unit_open(&x->open, file, unit, NULL)) {
		d->skipped++;
		unit->first_die = unit->end; /* not tried again */
		index_free(x);
		return NULL;
	}
	unit->loaded = x;
	vec_push(&d->loaded, x);
	index_count(d, x);
	return x;
}

static void read_rows(struct dwarf *d, struct dwarf_index *x)
{
	const struct dwarf_die *die = &x->open.die;
	struct dwarf_file *file = x->open.file;
	size_t len = 0;
	const char *dir =
		die_has(die, SLOT_COMP_DIR)
			? value_string(&x->open.reader, file->alt ? &file->alt->sections : NULL,
				       &die->v[SLOT_COMP_DIR], &len)
			: NULL;
	if (!die_has(die, SLOT_STMT_LIST))
		return;
	rows_read(&x->rows, &file->sections, die->v[SLOT_STMT_LIST].n, &x->open.unit->sizes, dir,
		  len, d->layout);
	d->skipped += x->rows.skipped;
}

static void read_scopes(struct dwarf *d, struct dwarf_index *x)
{
	const struct dwarf_open_unit *o = &x->open;
	if (dwarf_is_skeleton(o)) {
		x->split = dwarf_split_open(o, &d->package, d->locate, d->ctx, d->next_number++);
		d->open_dwo += x->split && x->split->dwo.fd >= 0;
		o = x->split ? &x->split->open : o;
	}
	scopes_read(&x->scopes, &o->reader, unit_is_c_like(o), d->layout);
	d->skipped += x->scopes.skipped;
}

static struct dwarf_index *unit_index(struct dwarf *d, struct dwarf_unit *unit)
{
	struct dwarf_index *x = unit_load(d, &d->main, unit);
	if (!x || x->complete)
		return x;
	read_scopes(d, x);
	read_rows(d, x);
	x->complete = true;
	index_count(d, x);
	return x;
}

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
	keep_limits(d);
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

/* --- names ----------------------------------------------------------------------------------------------------------- */

/* Where a DIE is. */
struct place {
	struct dwarf_file *file;
	const struct dwarf_open_unit *unit; /* that it may be in; or NULL */
	uint64_t offset;
};

static const struct dwarf_open_unit *place_unit(struct dwarf *d, const struct place *p)
{
	if (p->unit && p->offset >= p->unit->unit->first_die && p->offset < p->unit->unit->end)
		return p->unit;
	struct dwarf_unit *unit = dwarf_file_unit(p->file, p->offset);
	struct dwarf_index *x =
		unit && p->file->number < DWARF_NUMBER_PACKAGE ? unit_load(d, p->file, unit) : NULL;
	return x ? &x->open : NULL;
}

struct found_name {
	char *text; /* owned */
	size_t len;
	bool is_linkage;
	uint32_t start_line;
};

static void take_text(struct found_name *n, const struct dwarf_open_unit *o,
		      const struct dwarf_die *die, enum dwarf_slot slot)
{
	size_t len;
	struct dwarf_file *alt = o->file->alt;
	const char *text =
		value_string(&o->reader, alt ? &alt->sections : NULL, &die->v[slot], &len);
	if (!text || len == 0)
		return;
	free(n->text);
	n->text = xstrndup(text, len);
	n->len = strlen(n->text);
	n->is_linkage = slot == SLOT_LINKAGE;
}

static void take_names(struct found_name *n, const struct dwarf_open_unit *o,
		       const struct dwarf_die *die)
{
	if (!n->start_line && die_has(die, SLOT_DECL_LINE))
		n->start_line = die->v[SLOT_DECL_LINE].n;
	if (!n->is_linkage && die_has(die, SLOT_LINKAGE))
		take_text(n, o, die, SLOT_LINKAGE);
	else if (!n->text && die_has(die, SLOT_NAME))
		take_text(n, o, die, SLOT_NAME);
}

/* Goes from an instance to what it is an instance of, from a definition to its declaration, until there is a linkage name. */
static void find_name(struct dwarf *d, struct place p, struct found_name *n)
{
	for (unsigned i = 0; i < DWARF_MAX_ORIGINS && !(n->is_linkage && n->start_line); i++) {
		struct dwarf_die die;
		bool in_alt;
		const struct dwarf_open_unit *o = place_unit(d, &p);
		if (!o || !die_read_at(&o->reader, p.offset, &die))
			break;
		take_names(n, o, &die);
		enum dwarf_slot next =
			die_has(&die, SLOT_ORIGIN) ? SLOT_ORIGIN : SLOT_SPECIFICATION;
		if (!die_has(&die, next) ||
		    !value_reference(&o->reader, &die.v[next], &p.offset, &in_alt))
			break;
		p.unit = in_alt ? NULL : o;
		p.file = in_alt ? o->file->alt : o->file;
		if (!p.file)
			break;
	}
}

/* False when the DIE has no name. */
static bool name_of(struct dwarf *d, struct place p, struct symbol_line *out)
{
	uint64_t key = (uint64_t)p.file->number << NAME_BITS | p.offset;
	const struct cached_name *known = name_cache_get(&d->names, key);
	struct cached_name name;
	struct found_name found = { 0 };
	if (known) {
		name = *known;
	} else {
		find_name(d, p, &found);
		const char *text =
			found.text ? name_cache_copy(&d->names, found.text, found.len) : NULL;
		free(found.text);
		if (!text)
			return false;
		name = name_cache_add(&d->names, key, text, "");
		map_put(&d->start_lines, key, found.start_line);
	}
	const uint32_t *start_line = map_get(&d->start_lines, key);
	out->name = name.name;
	out->linkage = name.linkage;
	out->start_line = start_line ? *start_line : 0;
	return true;
}

static bool scope_name(struct dwarf *d, const struct dwarf_index *x,
		       const struct dwarf_scope *scope, struct symbol_line *out)
{
	const struct dwarf_open_unit *o = x->split ? &x->split->open : &x->open;
	struct place p = { o->file, o, scope->name };
	if (scope->name & SCOPE_NAME_IN_ALT)
		p = (struct place){ o->file->alt, NULL, scope->name & ~SCOPE_NAME_IN_ALT };
	return p.file && p.offset >> NAME_BITS == 0 && name_of(d, p, out);
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
	keep_limits(d);
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
	drop_oldest(d, d->loaded.n);
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
