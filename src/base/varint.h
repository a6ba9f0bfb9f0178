/* base/varint.h: numbers as LEB128, written, and the zigzag order of signed ones: 0, -1, 1, -2 … are 0, 1, 2, 3 …. They are read by
 * base/buf.h's cur_varint. */
#ifndef CRESSET_BASE_VARINT_H
#define CRESSET_BASE_VARINT_H

#include <stddef.h>
#include <stdint.h>

enum { VARINT_MAX_BYTES = 10 };

/* Returns how many bytes. */
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

#endif
