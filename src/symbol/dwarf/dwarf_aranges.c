/* Reads the sets, and sorts their ranges by unit. */
#include "symbol/dwarf/dwarf_aranges.h"

#include "symbol/dwarf/dwarf_sections.h"

#include <stdbool.h>
#include <stdlib.h>

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
