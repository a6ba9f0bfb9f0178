/* Position tables: where in its script an instruction comes from. */
#include "runtime/v8_parts.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

/* A position: 1 bit for positions outside of scripts, 30 bits of offset + 1, 16 bits of the index
 * of an inlined call + 1. */
struct v8_position v8_position_of(uint64_t encoded)
{
	if (encoded & 1)
		return (struct v8_position){ V8_NO_POSITION, -1 };
	return (struct v8_position){ (int32_t)(encoded >> 1 & 0x3fffffff) - 1,
				     (int32_t)(encoded >> 31 & 0xffff) - 1 };
}

/* Returns false at the end of the table or if the number does not end. */
static bool next(const uint8_t **at, const uint8_t *end, int64_t *out)
{
	uint64_t v = 0;

	for (int shift = 0; *at < end && shift < 64; shift += 7) {
		uint8_t b = *(*at)++;

		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*out = (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
			return true;
		}
	}
	return false;
}

bool v8_positions_find(const uint8_t *table, size_t size, uint32_t offset, struct v8_position *out)
{
	const uint8_t *at = table, *end = table + size;
	int64_t code = -1, moved, more;
	uint64_t position = 0;
	bool found = false;

	while (next(&at, end, &moved) && next(&at, end, &more)) {
		moved = moved < 0 ? -(moved + 1) : moved; /* negative: no statement */
		if (moved > UINT32_MAX || code + moved > (int64_t)offset)
			break;
		code += moved;
		position += (uint64_t)more;
		*out = v8_position_of(position);
		found = true;
	}
	return found;
}

int v8_positions_read(const struct v8_reader *r, uint64_t tagged, uint32_t offset,
		      struct v8_position *out)
{
	uint32_t size;
	int rc = v8_array_length(r, tagged, V8_MAX_POSITIONS, &size);

	if (rc < 0)
		return rc;
	uint8_t *table = xmalloc(size + 1);
	rc = size ? r->memory->read(r->memory->ctx, tagged - 1 + V8_ARRAY_HEADER, table, size) : 0;
	if (rc == 0 && !v8_positions_find(table, size, offset, out))
		rc = -ENODATA;
	free(table);
	return rc;
}
