#include "symbol/dwarf_scopes.h"

#include "symbol/dwarf_spec.h"
#include "symbol/ranges.h"

#include <stdlib.h>

/* Entries of range lists that a unit may have beyond one for each of its bytes. */
enum { FREE_RANGES = 64 << 10 };

struct scan {
	const struct dwarf_reader *r;
	const struct elf_layout *layout;
	struct dwarf_scopes *out;
	struct ranges covered;
	struct dwarf_range_list list; /* of the DIE at hand */
	bool c_like;
	uint32_t depth;
	uint32_t around[DWARF_MAX_DEPTH]; /* the scope at each depth */
};

/* What to do with a DIE that is no function: functions are only in some of them. In C and C++ classes hold declarations only. */
static bool holds_no_function(const struct scan *s, uint16_t tag)
{
	switch (tag) {
	case DW_TAG_array_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_subroutine_type:
		return true;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return s->c_like;
	default:
		return false;
	}
}

/* The DIE that names d, which is at offset `at`: itself, or what it is an instance of. */
static uint64_t scope_name(const struct scan *s, const struct dwarf_die *d, uint64_t at)
{
	uint64_t origin;
	bool in_alt;
	if (die_has(d, SLOT_LINKAGE) || !die_has(d, SLOT_ORIGIN) ||
	    !value_reference(s->r, &d->v[SLOT_ORIGIN], &origin, &in_alt))
		return at;
	return origin | (in_alt ? SCOPE_NAME_IN_ALT : 0);
}

/* Enters what of the ranges is code. */
static bool cover(struct scan *s, uint32_t scope)
{
	bool any = false;
	for (size_t i = 0; i < s->list.v.n; i++) {
		const struct dwarf_range *range = &s->list.v.v[i];
		uint64_t end = elf_layout_code_end(s->layout, range->low);
		uint64_t high = range->high < end ? range->high : end;
		if (end && ranges_add(&s->covered, range->low, high - range->low, scope))
			any = true;
	}
	return any;
}

/* Returns the scope that d's children are in. */
static uint32_t scan_function(struct scan *s, const struct dwarf_abbrev *abbrev,
			      const struct dwarf_die *d, uint64_t at)
{
	bool is_inlined = abbrev->tag == DW_TAG_inlined_subroutine;
	uint32_t scope = s->out->v.n, around = s->around[s->depth];
	vec_clear(&s->list.v);
	if (!die_ranges(s->r, d, &s->list))
		s->out->skipped++;
	bool covers = scope < DWARF_MAX_SCOPES && cover(s, scope);
	/* A call of which nothing is left can have others in it. */
	if (!covers &&
	    (!is_inlined || around == SCOPE_NONE || !abbrev->children || scope >= DWARF_MAX_SCOPES))
		return is_inlined ? around : SCOPE_NONE;
	vec_push(&s->out->v,
		 (struct dwarf_scope){
			 .name = scope_name(s, d, at),
			 .parent = is_inlined ? around : SCOPE_NONE,
			 .call_file = die_has(d, SLOT_CALL_FILE) ? d->v[SLOT_CALL_FILE].n : 0,
			 .call_line = die_has(d, SLOT_CALL_LINE) ? d->v[SLOT_CALL_LINE].n : 0,
		 });
	return scope;
}

/* Jumps over the children of d, where it says where they end. */
static bool jump_to_sibling(const struct scan *s, struct cur *c, const uint8_t *base,
			    const struct dwarf_die *d)
{
	uint64_t to;
	bool in_alt;
	if (!die_has(d, SLOT_SIBLING) ||
	    !value_reference(s->r, &d->v[SLOT_SIBLING], &to, &in_alt) || in_alt ||
	    to < (uint64_t)(c->p - base) || to > s->r->unit->end)
		return false;
	c->p = base + to;
	return true;
}

/* One DIE. base is where .debug_info begins. */
static void scan_die(struct scan *s, struct cur *c, const uint8_t *base,
		     const struct dwarf_abbrev *abbrev, uint64_t at)
{
	struct dwarf_die d;
	bool is_function =
		abbrev->tag == DW_TAG_subprogram || abbrev->tag == DW_TAG_inlined_subroutine;
	bool no_function = holds_no_function(s, abbrev->tag);
	uint32_t inside = s->around[s->depth];
	if (is_function || (no_function && abbrev->children)) {
		die_values(s->r, c, abbrev, &d);
		if (c->bad)
			return;
	} else {
		die_skip(s->r, c, abbrev);
	}
	if (is_function) {
		inside = scan_function(s, abbrev, &d, at);
		no_function = inside == SCOPE_NONE &&
			      (die_has(&d, SLOT_INLINE) || die_has(&d, SLOT_DECLARATION));
	}
	if (!abbrev->children || (no_function && jump_to_sibling(s, c, base, &d)))
		return;
	if (++s->depth >= DWARF_MAX_DEPTH)
		cur_fail(c);
	else
		s->around[s->depth] = inside;
}

static void scan_unit(struct scan *s)
{
	const struct dwarf_unit *u = s->r->unit;
	struct cur c =
		sections_cur(s->r->sections, DWARF_INFO, u->first_die, u->end - u->first_die);
	const uint8_t *base = c.p - u->first_die;
	s->around[0] = SCOPE_NONE;
	s->list.budget = u->end - u->start + FREE_RANGES;
	while (!c.bad && c.p < c.end) {
		uint64_t at = c.p - base, code = cur_varint(&c);
		const struct dwarf_abbrev *abbrev = code ? abbrevs_find(s->r->abbrevs, code) : NULL;
		if (abbrev)
			scan_die(s, &c, base, abbrev, at);
		else if (code)
			cur_fail(&c);
		else if (s->depth-- <= 1) /* of the unit's own list; padding may follow */
			break;
	}
	s->out->skipped += c.bad;
}

/* Keeps of the painted ranges what lookups need. */
static void keep_pieces(struct dwarf_scopes *out, struct ranges *r)
{
	size_t n = 0;
	ranges_build(r, 1);
	out->starts = xreallocarray(NULL, r->n_cuts ? r->n_cuts : 1, sizeof *out->starts);
	out->owners = xreallocarray(NULL, r->n_cuts ? r->n_cuts : 1, sizeof *out->owners);
	for (size_t i = 0; i < r->n_cuts; i++) {
		uint32_t owner = r->top[i] == RANGE_NONE
					 ? SCOPE_NONE
					 : r->v.v[r->layers.v[r->top[i]].range].name;
		if (n && out->owners[n - 1] == owner)
			continue;
		out->starts[n] = r->cuts[i];
		out->owners[n++] = owner;
	}
	out->n_pieces = n;
}

void scopes_read(struct dwarf_scopes *out, const struct dwarf_reader *r, bool c_like,
		 const struct elf_layout *layout)
{
	struct scan *s = xcalloc(1, sizeof *s);
	s->r = r;
	s->layout = layout;
	s->out = out;
	s->c_like = c_like;
	scan_unit(s);
	keep_pieces(out, &s->covered);
	ranges_done(&s->covered);
	vec_done(&s->list.v);
	free(s);
}

void scopes_done(struct dwarf_scopes *s)
{
	vec_done(&s->v);
	free(s->starts);
	free(s->owners);
}

size_t scopes_bytes(const struct dwarf_scopes *s)
{
	return s->v.cap * sizeof *s->v.v + s->n_pieces * (sizeof *s->starts + sizeof *s->owners);
}

uint32_t scopes_find(const struct dwarf_scopes *s, uint64_t addr)
{
	size_t lo = 0, hi = s->n_pieces;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (s->starts[mid] <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? s->owners[lo - 1] : SCOPE_NONE;
}
