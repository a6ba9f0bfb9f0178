/* base/bits.h: streams of bits, the highest of a byte first: written (struct bit_writer) and, untrusted, read (struct bit_reader).
 *
 *     struct bit_writer w = { .out = &buf };   bits_put(&w, 5, 3); …; bits_flush(&w);
 *     struct bit_reader r = { data, len, 0 };   v = bits_get(&r, 3); …; if (!bits_at_end(&r)) it was no such stream
 *
 * A reader gives zeros beyond its end and knows of it: so a parser may read a whole record and test once. */
#ifndef CRESSET_BASE_BITS_H
#define CRESSET_BASE_BITS_H

#include "base/buf.h"

#include <string.h>

struct bit_writer {
	struct buf *out;
	uint64_t held; /* the lowest n bits are not in out yet */
	unsigned n;    /* < 8 between two calls */
};

/* The lowest `bits` of v, at most 64. */
static inline void bits_put(struct bit_writer *w, uint64_t v, unsigned bits)
{
	if (bits > 32) {
		bits_put(w, v >> 32, bits - 32);
		bits = 32;
	}
	w->held = w->held << bits | (v & ((1ull << bits) - 1));
	if (w->out->cap - w->out->len < 8)
		buf_reserve(w->out, 8);
	for (w->n += bits; w->n >= 8; w->n -= 8)
		w->out->data[w->out->len++] = w->held >> (w->n - 8);
}

/* A number in Golomb's code with a power of two (Rice): what is above its `low` lowest bits as so many ones and a zero, then these bits. One that
 * would have RICE_MOST_ONES or more is just as many ones, and `plain` bits. low and plain: at most 32. */
enum { RICE_MOST_ONES = 24 };
static inline void bits_put_rice(struct bit_writer *w, uint32_t v, unsigned low, unsigned plain)
{
	uint32_t ones = v >> low;
	if (ones >= RICE_MOST_ONES) {
		bits_put(w, ~0ull, RICE_MOST_ONES);
		bits_put(w, v, plain);
		return;
	}
	bits_put(w, (2ull << ones) - 2, ones + 1);
	bits_put(w, v, low);
}

/* Zeros up to the next byte. */
static inline void bits_flush(struct bit_writer *w)
{
	if (w->n)
		bits_put(w, 0, 8 - w->n);
}

struct bit_reader {
	const uint8_t *data;
	size_t len;
	uint64_t at; /* bits taken so far; beyond the end they were zeros */
};

enum {
	BITS_MOST = 57
}; /* that are there at once: 8 bytes less the bits of the first that were taken */

/* What comes next, from the highest bit on. */
static inline uint64_t bits_peek(const struct bit_reader *r)
{
	uint64_t next = 0;
	size_t byte = r->at / 8;
	if (byte + sizeof next <= r->len)
		memcpy(&next, r->data + byte, sizeof next);
	else if (byte < r->len)
		memcpy(&next, r->data + byte, r->len - byte);
	return be64toh(next) << r->at % 8;
}

/* At most BITS_MOST. */
static inline uint64_t bits_get(struct bit_reader *r, unsigned bits)
{
	uint64_t v = bits_peek(r) >> 1 >> (63 - bits); /* bits may be 0 */
	r->at += bits;
	return v;
}

/* At most 64. */
static inline uint64_t bits_get_wide(struct bit_reader *r, unsigned bits)
{
	uint64_t high = bits > 32 ? bits_get(r, bits - 32) << 32 : 0;
	return high | bits_get(r, bits < 32 ? bits : 32);
}

/* How many ones come before the next zero, which is taken, too; at most `most` (then no zero is looked for), which is less than BITS_MOST. */
static inline unsigned bits_get_ones(struct bit_reader *r, unsigned most)
{
	unsigned ones = __builtin_clzll(~bits_peek(r) | 1);
	ones = ones < most ? ones : most;
	r->at += ones + (ones < most);
	return ones;
}

static inline uint64_t bits_get_rice(struct bit_reader *r, unsigned low, unsigned plain)
{
	uint64_t next = bits_peek(r); /* all of it, at most 24 + 1 + 32 bits */
	unsigned ones = __builtin_clzll(~next | 1);
	if (__builtin_expect(ones >= RICE_MOST_ONES, 0)) {
		r->at += RICE_MOST_ONES;
		return bits_get(r, plain);
	}
	r->at += ones + 1 + low;
	return (uint64_t)ones << low | next << (ones + 1) >> 1 >> (63 - low);
}

/* n of them, in much less time than one by one: what was read of memory once is used up first, and of the one before a number waits only for
 * where it ends. */
static inline void bits_get_rices(struct bit_reader *from, unsigned low, unsigned plain,
				  uint64_t *out, size_t n)
{
	struct bit_reader r = *from; /* in registers */
	size_t i = 0;
	while (i < n && r.at / 8 + 8 <= r.len) {
		uint64_t zeros = ~bits_peek(&r);
		unsigned left = 64 - r.at % 8, first = left;
		for (; i < n; i++) {
			unsigned zero = 63 - __builtin_clzll(zeros | 1), ones = 63 - zero;
			unsigned bits = 64 + low - zero;
			if (ones >= RICE_MOST_ONES || bits > left)
				break;
			out[i] = (uint64_t)ones << low | ~(zeros << (ones + 1)) >> 1 >> (63 - low);
			zeros <<= bits;
			left -= bits;
		}
		r.at += first - left;
		if (i < n && left == first) /* of a gap that is unusually large */
			out[i++] = bits_get_rice(&r, low, plain);
	}
	for (; i < n; i++)
		out[i] = bits_get_rice(&r, low, plain);
	*from = r;
}

/* Whether more was read than there is. */
static inline bool bits_overrun(const struct bit_reader *r)
{
	return r->at > 8 * (uint64_t)r->len;
}

/* Whether exactly all was read: what is left is what bits_flush adds. */
static inline bool bits_at_end(const struct bit_reader *r)
{
	return !bits_overrun(r) && 8 * (uint64_t)r->len - r->at < 8 && bits_peek(r) == 0;
}

#endif
