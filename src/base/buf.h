/* base/buf.h: bytes being written (struct buf) and untrusted bytes being read (struct cur).
 *
 * A buf is a growable byte string; a zeroed one is empty and valid. A cur is a cursor that cannot run over: a read past the
 * end returns zero or NULL, sets `bad` and empties the cursor, so a parser may read a whole record and test once. */
#ifndef CRESSET_BASE_BUF_H
#define CRESSET_BASE_BUF_H

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

/* The next n bytes, not NULL for n = 0 either; NULL only when bad. */
const void *cur_take(struct cur *c, size_t n);

/* Little endian. */
uint8_t cur_u8(struct cur *c);
uint16_t cur_u16(struct cur *c);
uint32_t cur_u32(struct cur *c);
uint64_t cur_u64(struct cur *c);

/* Unsigned LEB128: bad past 10 bytes or 64 bits. */
uint64_t cur_varint(struct cur *c);

/* One line without its \n or \r\n; false at the end of the input. The last line needs no newline. */
bool cur_line(struct cur *c, const char **line, size_t *len);

#endif
