/* format/perf_data_wire.h: the numbers of a perf.data file, in the byte order of the machine that
 * wrote it. */
#ifndef CRESSET_FORMAT_PERF_DATA_WIRE_H
#define CRESSET_FORMAT_PERF_DATA_WIRE_H

#include "base/buf.h"

#include <string.h>

struct wire {
	struct cur c;
	bool big; /* big endian */
};

static inline struct wire wire_of(const void *data, size_t len, bool big)
{
	return (struct wire){ cur_of(data, len), big };
}
static inline size_t wire_left(const struct wire *w)
{
	return cur_left(&w->c);
}
static inline uint16_t wire_u16(struct wire *w)
{
	uint16_t v = cur_u16(&w->c);
	return w->big ? __builtin_bswap16(v) : v;
}
static inline uint32_t wire_u32(struct wire *w)
{
	uint32_t v = cur_u32(&w->c);
	return w->big ? __builtin_bswap32(v) : v;
}
static inline uint64_t wire_u64(struct wire *w)
{
	uint64_t v = cur_u64(&w->c);
	return w->big ? __builtin_bswap64(v) : v;
}
/* The next n 8-byte numbers are passed over. */
static inline void wire_skip_u64(struct wire *w, uint64_t n)
{
	if (n > wire_left(w) / 8)
		n = wire_left(w) / 8 + 1; /* more than there is: bad */
	cur_take(&w->c, n * 8);
}
/* A number of things of at least 8 bytes each that follow: when there cannot be so many, the first
 * number that makes skipping them bad. */
static inline uint64_t wire_count(struct wire *w)
{
	uint64_t n = wire_u64(w), most = wire_left(w) / 8;
	return n <= most ? n : most + 1;
}
/* The next n bytes as a cursor of their own; empty when they are not there. */
static inline struct wire wire_part(struct wire *w, size_t n)
{
	const void *p = cur_take(&w->c, n);
	return wire_of(p, p ? n : 0, w->big);
}
/* Text that ends in a NUL or with the data; the cursor is then behind the NUL. */
static inline const char *wire_text(struct wire *w, size_t *len)
{
	size_t left = wire_left(w);
	const char *s = cur_take(&w->c, 0);
	*len = left ? strnlen(s, left) : 0;
	cur_take(&w->c, *len < left ? *len + 1 : left);
	return s;
}

#endif
