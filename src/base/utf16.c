#include "base/utf16.h"

#include "base/utf8.h"

enum { REPLACEMENT = 0xfffd };

static size_t utf16_unit(struct utf16 *u, uint16_t unit, char *out)
{
	bool is_high = unit >> 10 == 0xd800 >> 10, is_low = unit >> 10 == 0xdc00 >> 10;
	size_t n = 0;
	if (u->high && is_low) {
		n = utf8_put(out, 0x10000 + ((u->high & 0x3ffu) << 10) + (unit & 0x3ff));
		u->high = 0;
		return n;
	}
	if (u->high)
		n = utf8_put(out, REPLACEMENT);
	u->high = is_high ? unit : 0;
	if (is_high)
		return n;
	return n + utf8_put(out + n, is_low ? REPLACEMENT : unit);
}

size_t utf16_decode(struct utf16 *u, const void *data, size_t n, char *out)
{
	const uint8_t *p = data;
	size_t len = 0;
	for (size_t i = 0; i < n; i++) {
		if (!u->has_byte) {
			u->byte = p[i];
			u->has_byte = true;
			continue;
		}
		u->has_byte = false;
		uint16_t unit = u->is_big_endian ? u->byte << 8 | p[i] : p[i] << 8 | u->byte;
		len += utf16_unit(u, unit, out + len);
	}
	return len;
}

size_t utf16_end(struct utf16 *u, char *out)
{
	size_t n = 0;
	if (u->high)
		n += utf8_put(out, REPLACEMENT);
	if (u->has_byte)
		n += utf8_put(out + n, REPLACEMENT);
	*u = (struct utf16){ .is_big_endian = u->is_big_endian };
	return n;
}
