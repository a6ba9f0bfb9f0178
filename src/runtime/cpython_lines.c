/* Decodes the line table of a code object. */
#include "runtime/cpython_parts.h"

#include "base/buf.h"
#include "runtime/cpython_layout.h"

/* The table is not trusted: only valid line numbers are returned. */
static uint32_t line_of(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? line : 0;
}

/* Up to 3.9: a pair takes effect after its number of bytes. */
static uint32_t line_by_pairs(struct cur c, int64_t line, uint32_t offset)
{
	uint64_t at = 0;

	while (cur_left(&c) >= 2) {
		at += cur_u8(&c);
		if (at > offset)
			break;
		line += (int8_t)cur_u8(&c);
	}
	return line_of(line);
}

/* 3.10: a pair applies to the bytes that follow. */
static uint32_t line_by_ranges(struct cur c, int64_t line, uint32_t offset)
{
	enum { NO_LINE = -128 };
	uint64_t end = 0;

	while (cur_left(&c) >= 2) {
		end += cur_u8(&c);
		int8_t lines = cur_u8(&c);

		if (lines != NO_LINE)
			line += lines;
		if (offset < end)
			return lines == NO_LINE ? 0 : line_of(line);
	}
	return 0;
}

/* Six bits per byte; bit 6 is set if more follow; the lowest bit of the value is the sign. */
static int64_t signed_varint(struct cur *c)
{
	uint64_t v = 0;

	for (int shift = 0; shift < 36; shift += 6) {
		uint8_t byte = cur_u8(c);

		v |= (uint64_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

static uint32_t line_by_locations(struct cur c, int64_t line, uint32_t offset)
{
	enum { ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
	uint64_t end = 0;

	while (cur_left(&c)) {
		uint8_t first = cur_u8(&c), kind = first >> 3 & 15;

		if (kind == NO_COLUMNS || kind == LONG)
			line += signed_varint(&c);
		else if (kind >= ONE_LINE_0 && kind <= ONE_LINE_2)
			line += kind - ONE_LINE_0;
		end += ((first & 7) + 1) * 2;
		if (offset < end)
			return kind == NONE ? 0 : line_of(line);
		/* Columns: only first bytes have the highest bit. */
		while (cur_left(&c) && !(*c.p & 128))
			cur_u8(&c);
	}
	return 0;
}

uint32_t cpython_line(uint16_t version, const uint8_t *table, size_t size, uint32_t first_line,
		      uint32_t offset)
{
	struct cur c = cur_of(table, size);

	if (version < CPYTHON_VERSION(3, 10))
		return line_by_pairs(c, first_line, offset);
	if (version == CPYTHON_VERSION(3, 10))
		return line_by_ranges(c, first_line, offset);
	return line_by_locations(c, first_line, offset);
}
