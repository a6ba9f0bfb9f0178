/* base/buf.h: bytes being written (struct buf) and untrusted bytes being read (struct cur).
 *
 * A buf is a growable byte string; a zeroed one is empty and valid. A cur is a cursor that cannot run over: a read past the
 * end returns zero or NULL, sets `bad` and empties the cursor, so a parser may read a whole record and test once. */
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

/* data must not lie in b. */
void buf_add(struct buf *b, const void *data, size_t len);
void buf_addc(struct buf *b, char c);
void buf_adds(struct buf *b, const char *s);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_addu(struct buf *b, uint64_t v); /* decimal, fast */

/* NUL-terminates; the string is valid until the next change. */
char *buf_cstr(struct buf *b);

/* The content as a NUL-terminated string, to be freed by the caller; b is empty afterwards. */
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

/* From here on every read fails: what follows a hole in a record means nothing. */
static inline void cur_fail(struct cur *c)
{
	c->bad = true;
	c->p = c->end;
}

/* The next n bytes, not NULL for n = 0 either; NULL only when bad. */
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

/* Little endian. */
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

/* Unsigned LEB128: bad past 10 bytes or 64 bits. Profiles are made of them, mostly of one to three bytes: these are read in
 * place. The rest goes by value, so that a loop can keep its cursor in registers. */
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

/* The next n of them; false when there are fewer, which makes c bad. */
bool cur_varints(struct cur *c, uint64_t *out, size_t n);

/* One line without its \n or \r\n; false at the end of the input. The last line needs no newline. */
bool cur_line(struct cur *c, const char **line, size_t *len);

#endif
