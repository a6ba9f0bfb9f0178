/* Decodes compressed line number tables. */
#include "runtime/hotspot_parts.h"

#include "base/buf.h"

struct pair {
	int64_t bci, line;
};

static int32_t signed_number(struct cur *c, uint16_t version)
{
	uint32_t v = hotspot_unsigned5(c, version);

	return (int32_t)(v >> 1 ^ -(v & 1));
}

/* Returns false at the end. */
static bool next_pair(struct cur *c, uint16_t version, struct pair *p)
{
	enum { END = 0, ESCAPE = 255, LINE_BITS = 3 };
	uint8_t byte = cur_u8(c);

	if (c->bad || byte == END)
		return false;
	if (byte == ESCAPE) {
		p->bci += signed_number(c, version);
		p->line += signed_number(c, version);
	} else {
		p->bci += byte >> LINE_BITS;
		p->line += byte & ((1 << LINE_BITS) - 1);
	}
	return !c->bad;
}

/* The table is not trusted: only valid line numbers are returned. */
static uint32_t line_of(int64_t line)
{
	return line > 0 && line <= UINT16_MAX ? line : 0;
}

uint32_t hotspot_line(uint16_t version, const uint8_t *table, size_t size, int32_t bci)
{
	struct cur c = cur_of(table, size);
	struct pair p = { 0, 0 }, best = { -1, 0 };

	/* Compilers may write pairs in any order. */
	while (next_pair(&c, version, &p)) {
		if (bci < 0 || p.bci == bci)
			return line_of(p.line);
		if (p.bci < bci && p.bci >= best.bci)
			best = p;
	}
	return line_of(best.line);
}

size_t hotspot_lines_size(uint16_t version, const uint8_t *table, size_t size)
{
	struct cur c = cur_of(table, size);
	struct pair p = { 0, 0 };

	while (next_pair(&c, version, &p))
		;
	return c.bad ? size : (size_t)(c.p - table);
}
