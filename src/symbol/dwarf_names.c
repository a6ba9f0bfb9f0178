#include "base/buf.h"
#include "base/mem.h"
#include "symbol/dwarf_object.h"
#include "symbol/dwarf_spec.h"

#include <stdlib.h>
#include <string.h>

enum {
	NAME_BITS = 36,   /* of an offset in .debug_info, in the key of a name */
	MAX_HOLDERS = 64, /* around a name */
};

/* Where a DIE is. */
struct place {
	struct dwarf_file *file;
	const struct dwarf_index *index; /* of the unit that it is probably in; or NULL */
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

static bool is_in(const struct dwarf_index *x, uint64_t offset)
{
	const struct dwarf_unit *u = x ? index_part(x)->unit : NULL;
	return u && offset >= u->first_die && offset < u->end;
}

/* Loads the unit that the DIE is in: p->index is then right. The units of .dwp files hold no references to each other. */
static bool place_load(struct dwarf *d, struct place *p)
{
	if (is_in(p->index, p->offset))
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

/* Goes from an instance to what it is an instance of, from a definition to its declaration, until there is a linkage name. Without
 * one the declaration's name counts: it stands in its namespace. */
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

/* The name of a namespace or type, then "::". */
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

/* The name within the namespaces and types that it was declared in, appended to b. */
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

bool scope_name(struct dwarf *d, const struct dwarf_index *x, const struct dwarf_scope *scope,
		struct symbol_line *out)
{
	struct dwarf_file *file = index_part(x)->file;
	struct place p = { file, x, scope->name };
	if (scope->name & SCOPE_NAME_IN_ALT)
		p = (struct place){ file->alt, NULL, scope->name & ~SCOPE_NAME_IN_ALT };
	return p.file && p.offset >> NAME_BITS == 0 && name_of(d, p, out);
}
