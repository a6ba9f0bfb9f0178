/* Encodes bytes as base64 (RFC 4648), with padding. */
#include "base/buf.h"
#include "base/escape.h"

#include <stdint.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Encodes n bytes, 1 to 3, as four characters. */
static void put_group(char out[4], const uint8_t *p, size_t n)
{
	uint32_t bits = p[0] << 16 | (n > 1 ? p[1] : 0) << 8 | (n > 2 ? p[2] : 0);
	for (size_t i = 0; i < 4; i++)
		out[i] = i <= n ? digits[bits >> (18 - 6 * i) & 63] : '=';
}

void base64_put(struct buf *b, const void *data, size_t len)
{
	const uint8_t *p = data;
	buf_reserve(b, (len + 2) / 3 * 4);
	for (size_t at = 0; at < len; at += 3, b->len += 4)
		put_group(b->data + b->len, p + at, len - at < 3 ? len - at : 3);
}
