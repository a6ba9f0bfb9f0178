/* Collects scopes, and finds those of an address. */
#include "symbol/dwarf/dwarf_scopes.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/search.h"
#include "symbol/dwarf/dwarf_abbrev.h"
#include "symbol/dwarf/dwarf_die.h"
#include "symbol/dwarf/dwarf_spec.h"
#include "symbol/elf/elf_layout.h"

#include <stdlib.h>
#include <string.h>

/* Entries of range lists that a unit may have in addition to one per byte. */
enum { FREE_RANGES = 64 << 10 };
enum { RADIX_BITS = 8, RADIX_MASK = (1 << RADIX_BITS) - 1 };

/* An address range of a scope. */
struct span {
	uint64_t low, high;
	uint32_t scope;
};

struct scan {
	const struct dwarf_reader *r;
	const struct elf_layout *layout;
	struct elf_code code; /* the code found by the last lookup in layout */
	struct dwarf_scopes *out;
	VEC(struct span) spans;
	struct dwarf_range_list list; /* of the current DIE */
	bool c_like;
	uint32_t depth;
	uint32_t around[DWARF_MAX_DEPTH];  /* the scope at each depth */
	uint32_t holders[DWARF_MAX_DEPTH]; /* the holder */
};

/* Whether a DIE of this tag contains no functions. In C and C++, classes only contain
 * declarations. */
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

/* Returns the DIE that names d, which is at offset `at`: itself, or its abstract origin. */
static uint64_t scope_name(const struct scan *s, const struct dwarf_die *d, uint64_t at)
{
	uint64_t origin;
	bool in_alt;
	if (die_has(d, SLOT_LINKAGE) || !die_has(d, SLOT_ORIGIN) ||
	    !value_reference(s->r, &d->v[SLOT_ORIGIN], &origin, &in_alt))
		return at;
	return origin | (in_alt ? SCOPE_NAME_IN_ALT : 0);
}

/* Adds the parts of the ranges that are code. */
static bool cover(struct scan *s, uint32_t scope)
{
	bool any = false;
	for (size_t i = 0; i < s->list.v.n; i++) {
		const struct dwarf_range *range = &s->list.v.v[i];
		if (range->low < s->code.start || range->low >= s->code.end) {
			uint64_t end = elf_layout_code_end(s->layout, range->low);
			if (!end)
				continue;
			s->code = (struct elf_code){ range->low, end };
		}
		uint64_t end = s->code.end;
		vec_push(&s->spans,
			 (struct span){ range->low, range->high < end ? range->high : end, scope });
		any = true;
	}
	return any;
}

static bool is_holder(uint16_t tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_interface_type;
}

/* Returns the scope of d's children. */
static uint32_t scan_function(struct scan *s, const struct dwarf_abbrev *abbrev,
			      const struct dwarf_die *d, uint64_t at)
{
	bool is_inlined = abbrev->tag == DW_TAG_inlined_subroutine;
	uint32_t scope = s->out->v.n, around = s->around[s->depth];
	vec_clear(&s->list.v);
	die_ranges(s->r, d, &s->list);
	bool covers = scope < DWARF_MAX_SCOPES && cover(s, scope);
	/* An inlined call without code can contain others. */
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

/* Returns the offset of c in .debug_info. */
static uint64_t here(const struct scan *s, const struct cur *c)
{
	return s->r->unit->start + (c->p - s->r->bytes);
}

/* Skips the children of d, if d has a sibling attribute. */
static bool jump_to_sibling(const struct scan *s, struct cur *c, const struct dwarf_die *d)
{
	const struct dwarf_unit *u = s->r->unit;
	uint64_t to, from = here(s, c);
	bool in_alt;
	if (!die_has(d, SLOT_SIBLING) ||
	    !value_reference(s->r, &d->v[SLOT_SIBLING], &to, &in_alt) || in_alt || to < from ||
	    to > u->end)
		return false;
	c->p += to - from;
	return true;
}

/* Enters the children of a DIE. */
static inline void scan_enter(struct scan *s, struct cur *c, uint32_t scope, uint32_t holder)
{
	if (++s->depth >= DWARF_MAX_DEPTH) {
		cur_fail(c);
		return;
	}
	s->around[s->depth] = scope;
	s->holders[s->depth] = holder;
}

/* Reads one DIE after its code. */
static void scan_die(struct scan *s, struct cur *c, const struct dwarf_abbrev *abbrev, uint64_t at)
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
	if (!abbrev->children)
		return;
	uint32_t holder = s->holders[s->depth];
	if (is_holder(abbrev->tag) && s->out->holders.n < DWARF_MAX_SCOPES) {
		holder = s->out->holders.n;
		vec_push(&s->out->holders,
			 (struct dwarf_holder){ at, s->r->unit->end, s->holders[s->depth] });
	}
	if (no_function && jump_to_sibling(s, c, &d)) {
		if (holder != s->holders[s->depth])
			s->out->holders.v[holder].end = here(s, c);
		return;
	}
	scan_enter(s, c, inside, holder);
}

/* Ends a list of children; returns false at the end of the unit's own. */
static bool scan_end(struct scan *s, uint64_t at)
{
	if (s->depth <= 1)
		return false;
	uint32_t holder = s->holders[s->depth--];
	if (holder != s->holders[s->depth])
		s->out->holders.v[holder].end = at;
	return true;
}

static void scan_unit(struct scan *s)
{
	const struct dwarf_unit *u = s->r->unit;
	struct cur c = cur_of(s->r->bytes + (u->first_die - u->start), u->end - u->first_die);
	s->around[0] = s->holders[0] = SCOPE_NONE;
	s->list.budget = u->end - u->start + FREE_RANGES;
	while (!c.bad && c.p < c.end) {
		uint64_t at = here(s, &c), code = cur_varint(&c);
		const struct dwarf_abbrev *abbrev = code ? abbrevs_find(s->r->abbrevs, code) : NULL;
		if (abbrev && abbrev->plain) {
			die_skip(s->r, &c, abbrev);
			if (abbrev->children)
				scan_enter(s, &c, s->around[s->depth], s->holders[s->depth]);
		} else if (abbrev)
			scan_die(s, &c, abbrev, at);
		else if (code)
			cur_fail(&c);
		else if (!scan_end(s, at)) /* padding may follow */
			break;
	}
}

/* --- pieces ----------------------------------------------------------------------------------- */

/* A stable radix sort by low address, with digits of RADIX_BITS: a unit's addresses differ in few
 * digits, and a comparison sort would take a quarter of all time. */
static void sort_spans(struct span *v, size_t n)
{
	size_t counts[1 << RADIX_BITS];
	uint64_t differ = 0;
	struct span *from = v, *to = xreallocarray(NULL, n + 1, sizeof *to);
	for (size_t i = 0; i < n; i++)
		differ |= v[i].low ^ v[0].low;
	for (unsigned shift = 0; shift < 64 && differ >> shift; shift += RADIX_BITS) {
		memset(counts, 0, sizeof counts);
		for (size_t i = 0; i < n; i++)
			counts[from[i].low >> shift & RADIX_MASK]++;
		for (size_t i = 0, sum = 0; i <= RADIX_MASK; i++) {
			sum += counts[i];
			counts[i] = sum - counts[i];
		}
		for (size_t i = 0; i < n; i++)
			to[counts[from[i].low >> shift & RADIX_MASK]++] = from[i];
		struct span *swap = from;
		from = to;
		to = swap;
	}
	if (from != v) {
		memcpy(v, from, n * sizeof *v);
		to = from;
	}
	free(to);
}

static void piece_add(struct dwarf_scopes *out, uint64_t start, uint32_t owner)
{
	if (out->n_pieces && out->starts[out->n_pieces - 1] == start)
		out->n_pieces--;
	if (out->n_pieces && out->owners[out->n_pieces - 1] == owner)
		return;
	out->starts[out->n_pieces] = start;
	out->owners[out->n_pieces++] = owner;
}

/* Spans are nested like their scopes, so those around the current address form a stack. If they
 * only overlap, which compilers sometimes generate, the one that starts last counts. A scope has a
 * lower number than those inside it, so it is first. */
static void cut_spans(struct scan *s, struct dwarf_scopes *out)
{
	struct span *v = s->spans.v, **stack = xreallocarray(NULL, s->spans.n + 1, sizeof *stack);
	size_t depth = 0, most = 2 * s->spans.n + 1;
	out->starts = xreallocarray(NULL, most, sizeof *out->starts);
	out->owners = xreallocarray(NULL, most, sizeof *out->owners);
	sort_spans(v, s->spans.n);
	for (size_t i = 0; i <= s->spans.n; i++) {
		uint64_t low = i < s->spans.n ? v[i].low : UINT64_MAX;
		while (depth && stack[depth - 1]->high <= low) {
			uint64_t high = stack[--depth]->high;
			while (depth && stack[depth - 1]->high <= high)
				depth--;
			piece_add(out, high, depth ? stack[depth - 1]->scope : SCOPE_NONE);
		}
		if (i < s->spans.n) {
			stack[depth++] = &v[i];
			piece_add(out, low, v[i].scope);
		}
	}
	free(stack);
	out->starts = xreallocarray(out->starts, out->n_pieces + 1, sizeof *out->starts);
	out->owners = xreallocarray(out->owners, out->n_pieces + 1, sizeof *out->owners);
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
	cut_spans(s, out);
	vec_done(&s->spans);
	vec_done(&s->list.v);
	free(s);
}

void scopes_done(struct dwarf_scopes *s)
{
	vec_done(&s->v);
	vec_done(&s->holders);
	free(s->starts);
	free(s->owners);
}

size_t scopes_bytes(const struct dwarf_scopes *s)
{
	return s->v.cap * sizeof *s->v.v + s->holders.cap * sizeof *s->holders.v +
	       s->n_pieces * (sizeof *s->starts + sizeof *s->owners);
}

uint32_t scopes_holder(const struct dwarf_scopes *s, uint64_t offset)
{
	size_t after = vec_lower(&s->holders, start, offset);
	uint32_t at = after ? after - 1 : SCOPE_NONE;
	while (at != SCOPE_NONE && s->holders.v[at].end <= offset)
		at = s->holders.v[at].parent;
	return at;
}

uint32_t scopes_find(const struct dwarf_scopes *s, uint64_t addr)
{
	size_t after = search_first(i, 0, s->n_pieces, s->starts[i] > addr);
	return after ? s->owners[after - 1] : SCOPE_NONE;
}
