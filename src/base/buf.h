/* base/buf.h: bytes being written (struct buf) and untrusted bytes being read (struct cur).
 *
 * A buf is a growable byte string; a zeroed one is empty and valid. A cur is a cursor that cannot
 * overrun: a read past the end returns zero or NULL, sets `bad` and empties the cursor, so a
 * parser may read a whole record and check once. */
#ifndef CRESSET_BASE_BUF_H
#define CRESSET_BASE_BUF_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data; /* not NUL-terminated unless buf_cstr was called last */
	size_t len, cap;
};

void buf_done(struct buf *b);
void buf_clear(struct buf *b); /* len = 0, memory kept */
void buf_reserve(struct buf *b, size_t more);

/* data must not be inside b. */
void buf_add(struct buf *b, const void *data, size_t len);
void buf_addc(struct buf *b, char c);
void buf_adds(struct buf *b, const char *s);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_addu(struct buf *b, uint64_t v); /* decimal, fast */

/* NUL-terminates the content; the string is valid until the next change. */
char *buf_cstr(struct buf *b);

/* Returns the content as a NUL-terminated string, for the caller to free; b is empty afterwards. */
char *buf_steal(struct buf *b);

struct cur {
	const uint8_t *p, *end;
	bool bad;
};

static inline struct cur cur_of(const void *data, size_t len)
{
	return (struct cur){ data, data ? (const uint8_t *)data + len : NULL, false };
}
static inline size_t cur_left(const struct cur *c)
{
	return c->end - c->p;
}

static inline bool cur_starts(struct cur c, const char *s)
{
	size_t len = __builtin_strlen(s);

	return cur_left(&c) >= len && __builtin_memcmp(c.p, s, len) == 0;
}
static inline bool cur_is(struct cur c, const char *s)
{
	return cur_left(&c) == __builtin_strlen(s) && cur_starts(c, s);
}

/* Makes all further reads fail: data after a gap in a record are meaningless. */
static inline void cur_fail(struct cur *c)
{
	c->bad = true;
	c->p = c->end;
}

/* Returns the next n bytes; NULL only if bad, never for n = 0. */
static inline const void *cur_take(struct cur *c, size_t n)
{
	if (c->bad || n > cur_left(c)) {
		cur_fail(c);
		return NULL;
	}
	if (n == 0)
		return c->p ? (const void *)c->p : "";
	const uint8_t *p = c->p;
	c->p += n;
	return p;
}

/* Reads a little-endian integer. */
static inline uint64_t cur_int(struct cur *c, size_t size)
{
	uint64_t v = 0;
	const void *p = cur_take(c, size);
	if (p)
		__builtin_memcpy(&v, p, size);
	return le64toh(v);
}
static inline uint8_t cur_u8(struct cur *c)
{
	return cur_int(c, 1);
}
static inline uint16_t cur_u16(struct cur *c)
{
	return cur_int(c, 2);
}
static inline uint32_t cur_u32(struct cur *c)
{
	return cur_int(c, 4);
}
static inline uint64_t cur_u64(struct cur *c)
{
	return cur_int(c, 8);
}

/* Writing numbers as LEB128, and zigzag coding of signed ones: 0, -1, 1, -2 … are 0, 1, 2, 3 ….
 * cur_varint reads them. */
enum { VARINT_MAX_BYTES = 10 };

/* Returns the number of bytes. */
static inline size_t varint_write(char bytes[VARINT_MAX_BYTES], uint64_t v)
{
	size_t n = 0;
	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (v & 0x7f) | 0x80;
	bytes[n++] = v;
	return n;
}

static inline uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}
static inline int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ -(v & 1));
}

/* Reads unsigned LEB128; bad past 10 bytes or 64 bits. Profiles consist of them, mostly of one to
 * three bytes, which are read inline. cur_long_varint takes the cursor by value, so that a loop
 * can keep it in registers. */
struct cur cur_long_varint(struct cur c, uint64_t *v);
static inline uint64_t cur_varint(struct cur *c)
{
	const uint8_t *p = c->p;
	size_t left = cur_left(c);
	if (left >= 1 && p[0] < 0x80) {
		c->p += 1;
		return p[0];
	}
	if (left >= 2 && p[1] < 0x80) {
		c->p += 2;
		return (p[0] & 0x7fu) | (uint32_t)p[1] << 7;
	}
	if (left >= 3 && p[2] < 0x80) {
		c->p += 3;
		return (p[0] & 0x7fu) | (p[1] & 0x7fu) << 7 | (uint32_t)p[2] << 14;
	}
	uint64_t v;
	*c = cur_long_varint(*c, &v);
	return v;
}

/* Reads the next n varints; returns false, with c bad, if there are fewer. */
bool cur_varints(struct cur *c, uint64_t *out, size_t n);

/* Reads one line without its \n or \r\n; returns false at the end of the input. The last line needs
 * no newline. */
bool cur_line(struct cur *c, const char **line, size_t *len);

#endif
