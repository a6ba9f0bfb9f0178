/* Finds units by address, and the functions and lines in them. */
#include "symbol/dwarf/dwarf.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "symbol/dwarf/dwarf_file.h"
#include "symbol/dwarf/dwarf_rows.h"
#include "symbol/dwarf/dwarf_scopes.h"
#include "symbol/dwarf/dwarf_spec.h"
#include "symbol/elf/elf_layout.h"
#include "symbol/name_cache.h"
#include "symbol/ranges.h"

#include <stdlib.h>
#include <string.h>

enum {
	UNITS_AT_ADDRESS = 4, /* overlapping units that are tried */
	MAX_LINK = 4096,      /* bytes of .gnu_debugaltlink */
	MAX_ATTEMPTS = 8,
	NAME_BITS = 36,   /* bits of an offset in .debug_info, in the key of a name */
	MAX_HOLDERS = 64, /* namespaces and types around a name */
};

/* A unit that was hit. */
struct dwarf_index {
	struct dwarf_open_unit open;
	struct dwarf_split *split; /* its split part, or NULL */
	bool complete;             /* scopes and rows were read */
	size_t bytes;              /* its part of d->loaded_bytes */
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
};

/* --- units ------------------------------------------------------------------------------------ */

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

/* Updates the sum with its current size. */
static void index_count(struct dwarf *d, struct dwarf_index *x)
{
	const struct dwarf_unit *u = x->open.unit;
	d->loaded_bytes -= x->bytes;
	x->bytes = sizeof *x + (x->open.copy ? u->end - u->start : 0) +
		   x->open.abbrevs.v.cap * sizeof *x->open.abbrevs.v.v +
		   x->open.abbrevs.attrs.cap * sizeof *x->open.abbrevs.attrs.v +
		   scopes_bytes(&x->scopes) + rows_bytes(&x->rows) +
		   (x->split ? dwarf_file_bytes(&x->split->dwo) + x->split->open.reader.size : 0);
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
	if (d->loaded.n)
		memmove(d->loaded.v, d->loaded.v + n, d->loaded.n * sizeof *d->loaded.v);
}

/* Drops loaded data beyond the limits. Call when nothing still refers to them. */
static void units_keep_limits(struct dwarf *d)
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

/* Loads a unit with its abbreviations, so that its DIEs can be read; returns NULL if it is
 * malformed. */
static struct dwarf_index *unit_load(struct dwarf *d, struct dwarf_file *file,
				     struct dwarf_unit *unit)
{
	if (unit->loaded)
		return unit->loaded;
	struct dwarf_index *x = xcalloc(1, sizeof *x);
	if (!dwarf_unit_open(&x->open, file, unit, NULL)) {
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
}

/* Does the same with scopes and rows, for a unit of the main file. */
static struct dwarf_index *unit_index(struct dwarf *d, struct dwarf_unit *unit)
{
	struct dwarf_index *x = unit_load(d, &d->main, unit);
	if (!x || x->complete)
		return x;
	const struct dwarf_open_unit *o = &x->open;
	if (dwarf_is_skeleton(o)) {
		x->split = dwarf_split_open(o, &d->package, d->locate, d->ctx, d->next_number++);
		d->open_dwo += x->split && x->split->dwo.fd >= 0;
		o = x->split ? &x->split->open : o;
	}
	scopes_read(&x->scopes, &o->reader, unit_is_c_like(o), d->layout);
	read_rows(d, x);
	x->complete = true;
	index_count(d, x);
	return x;
}

/* --- names ------------------------------------------------------------------------------------ */

/* The position of a DIE. */
struct place {
	struct dwarf_file *file;
	const struct dwarf_index *index; /* of the unit that probably contains it; or NULL */
	uint64_t offset;
};

struct found_name {
	struct buf text;
	bool is_linkage;
	uint32_t start_line;
	struct place at; /* the DIE that has it */
};

static const struct dwarf_open_unit *index_part(const struct dwarf_index *x)
{
	return x->split ? &x->split->open : &x->open;
}

/* Loads the unit of the DIE and sets p->index to it. The units of .dwp files have no references to
 * each other. */
static bool place_load(struct dwarf *d, struct place *p)
{
	const struct dwarf_unit *loaded = p->index ? index_part(p->index)->unit : NULL;
	if (loaded && p->offset >= loaded->first_die && p->offset < loaded->end)
		return true;
	struct dwarf_unit *unit = dwarf_file_unit(p->file, p->offset);
	p->index =
		unit && p->file->number < DWARF_NUMBER_PACKAGE ? unit_load(d, p->file, unit) : NULL;
	return p->index;
}

static void take_text(struct found_name *n, const struct place *at, const struct dwarf_die *die,
		      enum dwarf_slot slot)
{
	size_t len;
	const struct dwarf_open_unit *o = index_part(at->index);
	struct dwarf_file *alt = o->file->alt;
	const char *text =
		value_string(&o->reader, alt ? &alt->sections : NULL, &die->v[slot], &len);
	if (!text || len == 0)
		return;
	buf_clear(&n->text);
	buf_add(&n->text, text, len);
	n->is_linkage = slot == SLOT_LINKAGE;
	n->at = *at;
}

static void take_names(struct found_name *n, const struct place *at, const struct dwarf_die *die)
{
	if (!n->start_line && die_has(die, SLOT_DECL_LINE))
		n->start_line = die->v[SLOT_DECL_LINE].n;
	if (!n->is_linkage && die_has(die, SLOT_LINKAGE))
		take_text(n, at, die, SLOT_LINKAGE);
	else if (!n->is_linkage && die_has(die, SLOT_NAME))
		take_text(n, at, die, SLOT_NAME);
}

/* Follows abstract origins and specifications until there is a linkage name. Without one the
 * declaration's name is used, as it is in its namespace. */
static void find_name(struct dwarf *d, struct place p, struct found_name *n)
{
	for (unsigned i = 0; i < DWARF_MAX_ORIGINS && !(n->is_linkage && n->start_line); i++) {
		struct dwarf_die die;
		bool in_alt;
		if (!place_load(d, &p))
			break;
		const struct dwarf_open_unit *o = index_part(p.index);
		if (!die_read_at(&o->reader, p.offset, &die))
			break;
		take_names(n, &p, &die);
		enum dwarf_slot next =
			die_has(&die, SLOT_ORIGIN) ? SLOT_ORIGIN : SLOT_SPECIFICATION;
		if (!die_has(&die, next) ||
		    !value_reference(&o->reader, &die.v[next], &p.offset, &in_alt))
			break;
		p.file = in_alt ? o->file->alt : o->file;
		p.index = in_alt ? NULL : p.index;
		if (!p.file)
			break;
	}
}

/* Appends the name of a namespace or type, then "::". */
static void add_holder(struct buf *b, const struct dwarf_open_unit *o,
		       const struct dwarf_holder *holder)
{
	struct dwarf_die die;
	size_t len = 0;
	struct dwarf_file *alt = o->file->alt;
	if (!die_read_at(&o->reader, holder->start, &die))
		return;
	const char *text = die_has(&die, SLOT_NAME)
				   ? value_string(&o->reader, alt ? &alt->sections : NULL,
						  &die.v[SLOT_NAME], &len)
				   : NULL;
	if (text && len)
		buf_add(b, text, len);
	else
		buf_adds(b, die.abbrev->tag == DW_TAG_namespace ? "(anonymous namespace)"
								: "{unnamed type}");
	buf_adds(b, "::");
}

/* Appends the name, qualified by the namespaces and types in which it was declared. */
static void qualify(struct buf *b, const struct found_name *n)
{
	const struct dwarf_index *x = n->at.index;
	const struct dwarf_holder *holders[MAX_HOLDERS];
	size_t depth = 0;
	uint32_t at = scopes_holder(&x->scopes, n->at.offset);
	for (; at != SCOPE_NONE && depth < MAX_HOLDERS; at = x->scopes.holders.v[at].parent)
		holders[depth++] = &x->scopes.holders.v[at];
	while (depth && b->len < DWARF_MAX_STRING)
		add_holder(b, index_part(x), holders[--depth]);
	buf_add(b, n->text.data, n->text.len);
}

static bool enter_name(struct dwarf *d, uint64_t key, struct found_name *n,
		       struct cached_name *name)
{
	const char *linkage =
		n->text.len ? name_cache_copy(&d->names, n->text.data, n->text.len) : NULL;
	if (!linkage)
		return false;
	if (n->is_linkage) {
		*name = name_cache_add(&d->names, key, linkage, "");
	} else {
		struct buf b = { 0 };
		qualify(&b, n);
		bool same = b.len == n->text.len;
		const char *text = same ? linkage : name_cache_copy(&d->names, b.data, b.len);
		*name = (struct cached_name){ text ? text : linkage, linkage };
		name_cache_put(&d->names, key, *name);
		buf_done(&b);
	}
	map_put(&d->start_lines, key, n->start_line);
	return true;
}

static bool name_of(struct dwarf *d, struct place p, struct symbol_line *out)
{
	uint64_t key = (uint64_t)p.file->number << NAME_BITS | p.offset;
	const struct cached_name *known = name_cache_get(&d->names, key);
	struct cached_name name;
	if (known) {
		name = *known;
	} else {
		struct found_name found = { 0 };
		find_name(d, p, &found);
		bool entered = enter_name(d, key, &found, &name);
		buf_done(&found.text);
		if (!entered)
			return false;
	}
	const uint32_t *start_line = map_get(&d->start_lines, key);
	out->name = name.name;
	out->linkage = name.linkage;
	out->start_line = start_line ? *start_line : 0;
	return true;
}

/* Finds the names and start line of a scope of x. Returns false if it lacks one. */
static bool scope_name(struct dwarf *d, const struct dwarf_index *x,
		       const struct dwarf_scope *scope, struct symbol_line *out)
{
	struct dwarf_file *file = index_part(x)->file;
	struct place p = { file, x, scope->name };
	if (scope->name & SCOPE_NAME_IN_ALT)
		p = (struct place){ file->alt, NULL, scope->name & ~SCOPE_NAME_IN_ALT };
	return p.file && p.offset >> NAME_BITS == 0 && name_of(d, p, out);
}

/* --- addresses of units ----------------------------------------------------------------------- */

static void map_range(struct dwarf *d, uint64_t low, uint64_t high, uint32_t unit)
{
	uint64_t end = elf_layout_code_end(d->layout, low);
	if (end)
		ranges_add(&d->by_addr, low, (high < end ? high : end) - low, unit);
}

/* Units before version 3 do not list their addresses if their code is in several places, but their
 * functions do. */
static void map_functions(struct dwarf *d, uint32_t unit)
{
	const struct dwarf_index *x = unit_index(d, &d->main.units.v[unit]);
	for (size_t i = 0; x && i + 1 < x->scopes.n_pieces; i++)
		if (x->scopes.owners[i] != SCOPE_NONE)
			map_range(d, x->scopes.starts[i], x->scopes.starts[i + 1], unit);
	units_keep_limits(d);
}

static void map_unit(struct dwarf *d, uint32_t i, struct dwarf_open_unit *o,
		     struct dwarf_range_list *list)
{
	const struct dwarf_unit *u = &d->main.units.v[i];
	if (!dwarf_unit_peek(o, &d->main, u))
		return;
	uint16_t tag = o->die.abbrev->tag;
	if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit)
		return;
	vec_clear(&list->v);
	die_ranges(&o->reader, &o->die, list);
	for (size_t k = 0; k < list->v.n; k++)
		map_range(d, list->v.v[k].low, list->v.v[k].high, i);
	if (list->v.n == 0 && u->sizes.version < 3)
		map_functions(d, i);
}

/* Maps the code of a unit that is listed. Returns whether it is. *at: the first that may be its. */
static bool map_listed(struct dwarf *d, uint32_t unit, const struct dwarf_aranges *listed,
		       size_t *at)
{
	uint64_t start = d->main.units.v[unit].start;
	while (*at < listed->v.n && listed->v.v[*at].unit < start)
		++*at;
	size_t first = *at;
	for (; *at < listed->v.n && listed->v.v[*at].unit == start; ++*at)
		map_range(d, listed->v.v[*at].low, listed->v.v[*at].high, unit);
	return *at > first;
}

static void map_units(struct dwarf *d)
{
	struct dwarf_aranges listed = { 0 };
	size_t at = 0;
	const struct dwarf_section *s = d->main.sections.s;
	struct dwarf_open_unit o = { 0 };
	struct dwarf_range_list list = { .budget = s[DWARF_RANGES].size + s[DWARF_RNGLISTS].size +
						   4 * d->main.units.n };
	/* The abbreviation needed is nearly always the first. */
	uint64_t work = 0, max_work = 8 * s[DWARF_ABBREV].size + 256 * d->main.units.n;
	aranges_read(&listed, &d->main.sections);
	for (size_t i = 0; i < d->main.units.n; i++) {
		const struct dwarf_unit *u = &d->main.units.v[i];
		if (u->type == DW_UT_type || u->type == DW_UT_partial ||
		    map_listed(d, i, &listed, &at))
			continue;
		if (work <= max_work)
			map_unit(d, i, &o, &list);
		work += o.abbrevs.work;
	}
	dwarf_unit_close(&o);
	vec_done(&list.v);
	aranges_done(&listed);
	ranges_build(&d->by_addr, UNITS_AT_ADDRESS);
}

/* --- lookup ----------------------------------------------------------------------------------- */

/* Finds the unit and scope at an address. Of several units it uses the first with a function there,
 * else one with lines. */
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
		/* An inlined call without a name is not shown. */
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

/* --- opening ---------------------------------------------------------------------------------- */

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
	if (locate) {
		const struct debug_request req = { .kind = DEBUG_SECTION_CACHE };
		sections_use_cache(&d->main.sections, f, locate(ctx, &req, 0));
	}
	dwarf_file_read_units(&d->main);
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
