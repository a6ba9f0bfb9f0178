/* Cursor reads check the remaining length first, and set `bad` on failure. */
#include "base/buf.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUF_FIRST_BYTES = 64 };

void buf_done(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}

void buf_clear(struct buf *b)
{
	b->len = 0;
}

void buf_reserve(struct buf *b, size_t more)
{
	size_t want;
	if (__builtin_add_overflow(b->len, more, &want))
		mem_exhausted();
	if (want <= b->cap)
		return;
	size_t cap = b->cap < SIZE_MAX / 2 ? 2 * b->cap : want;
	cap = cap < want ? want : cap;
	cap = cap < BUF_FIRST_BYTES ? BUF_FIRST_BYTES : cap;
	b->data = xrealloc(b->data, cap);
	b->cap = cap;
}

void buf_add(struct buf *b, const void *data, size_t len)
{
	if (len == 0)
		return;
	buf_reserve(b, len);
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

void buf_addc(struct buf *b, char c)
{
	buf_reserve(b, 1);
	b->data[b->len++] = c;
}

void buf_adds(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	buf_reserve(b, BUF_FIRST_BYTES);
	va_start(ap, fmt);
	int len = vsnprintf(b->data + b->len, b->cap - b->len, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	if ((size_t)len >= b->cap - b->len) {
		buf_reserve(b, (size_t)len + 1);
		va_start(ap, fmt);
		vsnprintf(b->data + b->len, b->cap - b->len, fmt, ap);
		va_end(ap);
	}
	b->len += len;
}

void buf_addu(struct buf *b, uint64_t v)
{
	char digits[20];
	size_t n = sizeof digits;
	do {
		digits[--n] = '0' + v % 10;
		v /= 10;
	} while (v);
	buf_add(b, digits + n, sizeof digits - n);
}

char *buf_cstr(struct buf *b)
{
	buf_reserve(b, 1);
	b->data[b->len] = '\0';
	return b->data;
}

char *buf_steal(struct buf *b)
{
	char *s = buf_cstr(b);
	*b = (struct buf){ 0 };
	return s;
}

struct cur cur_long_varint(struct cur c, uint64_t *v)
{
	size_t left = cur_left(&c), most = left < VARINT_MAX_BYTES ? left : VARINT_MAX_BYTES;
	uint64_t sum = 0;
	for (size_t i = 0; i < most; i++) {
		uint8_t byte = c.p[i];
		if (i == VARINT_MAX_BYTES - 1 && byte > 1)
			break; /* more than 64 bits */
		sum |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte >= 0x80)
			continue;
		*v = sum;
		c.p += i + 1;
		return c;
	}
	*v = 0;
	cur_fail(&c);
	return c;
}

#define HIGH_BITS 0x8080808080808080ull

/* Reads eight one-byte numbers. Unrolled, as compilers do not unroll the loop. */
static bool take_eight(const uint8_t *p, uint64_t *out)
{
	uint64_t bytes;
	memcpy(&bytes, p, sizeof bytes);
	if (bytes & HIGH_BITS)
		return false;
	out[0] = p[0];
	out[1] = p[1];
	out[2] = p[2];
	out[3] = p[3];
	out[4] = p[4];
	out[5] = p[5];
	out[6] = p[6];
	out[7] = p[7];
	return true;
}

/* Joins the lowest seven bits of each byte. */
static uint64_t without_high_bits(uint64_t v)
{
	v = (v & 0x007f007f007f007full) | (v & 0x7f007f007f007f00ull) >> 1;
	v = (v & 0x00003fff00003fffull) | (v & 0x3fff00003fff0000ull) >> 2;
	return (v & 0x000000000fffffffull) | (v & 0x0fffffff00000000ull) >> 4;
}

static uint64_t load_eight(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return le64toh(v);
}

/* Reads a number of up to eight bytes without branching on its length, so mixed lengths cost no
 * more than single bytes. Returns its length, 0 if it is longer. */
static size_t take_any(const uint8_t *p, uint64_t *out)
{
	uint64_t v = load_eight(p), ends = ~v & HIGH_BITS;
	if (!ends)
		return 0;
	*out = without_high_bits(v & (ends ^ (ends - 1)));
	return __builtin_ctzll(ends) / 8 + 1;
}

/* Reads two numbers of up to eight bytes together: finding the end of both takes much less than
 * twice the time for one. Returns their length, 0 if they are longer. */
static size_t take_two(const uint8_t *p, uint64_t out[2])
{
	uint64_t v = load_eight(p), ends = ~v & HIGH_BITS, later = ends & (ends - 1);
	if (!later)
		return 0;
	uint64_t first = ends ^ (ends - 1), both = later ^ (later - 1);
	out[0] = without_high_bits(v & first);
	out[1] = without_high_bits((v & both & ~first) >> __builtin_ctzll(ends) >> 1);
	return __builtin_ctzll(later) / 8 + 1;
}

/* Reads eight numbers of any length, 64 bytes at most; returns NULL if one is longer. Not inlined,
 * so that the loop over one-byte numbers stays small. */
__attribute__((noinline)) static const uint8_t *take_mixed(const uint8_t *p, uint64_t out[8])
{
	for (size_t i = 0; i < 8;) {
		size_t two = i + 1 < 8 ? take_two(p, out + i) : 0;
		size_t bytes = two ? two : take_any(p, out + i);
		if (!bytes)
			return NULL;
		p += bytes;
		i += two ? 2 : 1;
	}
	return p;
}

bool cur_varints(struct cur *c, uint64_t *out, size_t n)
{
	const uint8_t *p = c->p, *end = c->end, *next;
	size_t i = 0, bytes;
	while (n - i >= 8 && end - p >= 8 * 8) {
		if (take_eight(p, out + i)) {
			p += 8;
			i += 8;
			continue;
		}
		next = take_mixed(p, out + i);
		if (!next)
			break;
		p = next;
		i += 8;
	}
	for (; i < n && end - p >= 8 && (bytes = take_any(p, &out[i])); i++)
		p += bytes;
	c->p = p;
	for (; i < n; i++)
		out[i] = cur_varint(c);
	return !c->bad;
}

bool cur_line(struct cur *c, const char **line, size_t *len)
{
	size_t left = cur_left(c);
	if (c->bad || left == 0)
		return false;
	const uint8_t *nl = memchr(c->p, '\n', left);
	size_t n = nl ? (size_t)(nl - c->p) : left;
	*line = (const char *)c->p;
	c->p += nl ? n + 1 : n;
	*len = n > 0 && (*line)[n - 1] == '\r' ? n - 1 : n;
	return true;
}
