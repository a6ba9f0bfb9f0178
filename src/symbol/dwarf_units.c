#include "base/mem.h"
#include "symbol/dwarf_object.h"
#include "symbol/dwarf_spec.h"

#include <stdlib.h>
#include <string.h>

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
	return sizeof *x + (x->open.copy ? u->end - u->start : 0) +
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
	if (d->loaded.n)
		memmove(d->loaded.v, d->loaded.v + n, d->loaded.n * sizeof *d->loaded.v);
}

void units_drop_all(struct dwarf *d)
{
	drop_oldest(d, d->loaded.n);
}

void units_keep_limits(struct dwarf *d)
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

struct dwarf_index *unit_load(struct dwarf *d, struct dwarf_file *file, struct dwarf_unit *unit)
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

struct dwarf_index *unit_index(struct dwarf *d, struct dwarf_unit *unit)
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
