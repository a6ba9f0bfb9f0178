#include "base/utf8.h"

#include "base/width.h"

#include <stdbool.h>
#include <string.h>

uint32_t utf8_char(const char *s, size_t n)
{
	static const uint8_t lead[5] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = (uint8_t)s[0] & lead[n];
	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((uint8_t)s[i] & 0x3f);
	return c;
}

size_t utf8_put(char *out, uint32_t c)
{
	static const uint8_t lead[5] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = n; i-- > 1; c >>= 6)
		out[i] = 0x80 | (c & 0x3f);
	out[0] = lead[n] | c;
	return n;
}

void utf8_add(struct buf *b, uint32_t c)
{
	char bytes[4];
	buf_add(b, bytes, utf8_put(bytes, c));
}

/* RFC 3629. */
size_t utf8_len(const char *s, size_t len)
{
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	if (len == 0)
		return 0;
	uint8_t first = s[0];
	size_t n = first < 0x80   ? 1
		   : first < 0xc0 ? 0
		   : first < 0xe0 ? 2
		   : first < 0xf0 ? 3
		   : first < 0xf8 ? 4
				  : 0;
	if (n > len)
		return 0;
	for (size_t i = 1; i < n; i++)
		if (((uint8_t)s[i] & 0xc0) != 0x80)
			return 0;
	if (n < 2)
		return n;
	uint32_t c = utf8_char(s, n);
	bool surrogate = c >= 0xd800 && c <= 0xdfff;
	return c < least[n] || c > 0x10ffff || surrogate ? 0 : n;
}

size_t utf8_width(const char *s)
{
	size_t width = 0;
	while (*s) {
		size_t n = utf8_len(s, strnlen(s, 4));
		width += n > 1 ? char_width(utf8_char(s, n)) : 1;
		s += n ? n : 1;
	}
	return width;
}
