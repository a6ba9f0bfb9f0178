/* Reads fields of V8's objects. */
#include "runtime/v8_parts.h"

#include <errno.h>

int v8_field(const struct v8_reader *r, uint64_t tagged, uint32_t offset, uint64_t *out)
{
	if (!v8_is_object(tagged))
		return -EBADMSG;
	return r->memory->read(r->memory->ctx, tagged - 1 + offset, out, sizeof *out);
}

int v8_field32(const struct v8_reader *r, uint64_t tagged, uint32_t offset, uint32_t *out)
{
	if (!v8_is_object(tagged))
		return -EBADMSG;
	return r->memory->read(r->memory->ctx, tagged - 1 + offset, out, sizeof *out);
}

int v8_type(const struct v8_reader *r, uint64_t tagged, uint16_t *out)
{
	uint64_t map;
	int rc = v8_field(r, tagged, 0, &map);

	if (rc < 0)
		return rc;
	if (!v8_is_object(map))
		return -EBADMSG;
	return r->memory->read(r->memory->ctx, map - 1 + r->layout->map_type, out, sizeof *out);
}

bool v8_is(const struct v8_reader *r, uint64_t tagged, uint16_t type)
{
	uint16_t is;

	return type && v8_type(r, tagged, &is) == 0 && is == type;
}

int v8_array_length(const struct v8_reader *r, uint64_t tagged, uint32_t max, uint32_t *out)
{
	uint64_t length;
	int rc = v8_field(r, tagged, 8, &length);

	if (rc < 0)
		return rc;
	if ((uint32_t)length || length >> 32 > max)
		return -EBADMSG;
	*out = length >> 32;
	return 0;
}
