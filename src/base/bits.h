/* base/bits.h: bit streams, most significant bit first: a writer (struct bit_writer) and a reader
 * of untrusted data (struct bit_reader).
 *
 *     struct bit_writer w = { .out = &buf };   bits_put(&w, 5, 3); …; bits_flush(&w);
 *     struct bit_reader r = { data, len, 0 };   v = bits_get(&r, 3); …; if (!bits_at_end(&r)) the
 *                                               data is invalid
 *
 * Beyond its end a reader returns zeros and records the overrun, so a parser may read a whole
 * record and check once. */
#ifndef CRESSET_BASE_BITS_H
#define CRESSET_BASE_BITS_H

#include "base/buf.h"

#include <string.h>

struct bit_writer {
	struct buf *out;
	uint64_t held; /* the lowest n bits are not in out yet */
	unsigned n;    /* < 8 between two calls */
};

/* Writes the lowest `bits` of v, at most 64. */
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

/* Writes a number in a Rice code: v >> low in unary, as ones and a zero, then its `low` lowest
 * bits. If v >> low is RICE_MOST_ONES or more, writes RICE_MOST_ONES ones and then `plain` bits of
 * v. low and plain: at most 32. */
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

/* Pads with zeros to the next byte. */
static inline void bits_flush(struct bit_writer *w)
{
	if (w->n)
		bits_put(w, 0, 8 - w->n);
}

struct bit_reader {
	const uint8_t *data;
	size_t len;
	uint64_t at; /* bits read so far; zeros beyond the end */
};

enum { BITS_MOST = 57 }; /* bits available at one time: 8 bytes minus up to 7 bits already read */

/* Returns the next bits, left-aligned. */
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

/* Reads at most BITS_MOST bits. */
static inline uint64_t bits_get(struct bit_reader *r, unsigned bits)
{
	uint64_t v = bits_peek(r) >> 1 >> (63 - bits); /* bits may be 0 */
	r->at += bits;
	return v;
}

/* Reads at most 64 bits. */
static inline uint64_t bits_get_wide(struct bit_reader *r, unsigned bits)
{
	uint64_t high = bits > 32 ? bits_get(r, bits - 32) << 32 : 0;
	return high | bits_get(r, bits < 32 ? bits : 32);
}

/* Reads ones up to and including the next zero, and returns their number. Stops after `most` ones,
 * without a zero; most is less than BITS_MOST. */
static inline unsigned bits_get_ones(struct bit_reader *r, unsigned most)
{
	unsigned ones = __builtin_clzll(~bits_peek(r) | 1);
	ones = ones < most ? ones : most;
	r->at += ones + (ones < most);
	return ones;
}

static inline uint64_t bits_get_rice(struct bit_reader *r, unsigned low, unsigned plain)
{
	uint64_t next = bits_peek(r); /* the whole code, at most 24 + 1 + 32 bits */
	unsigned ones = __builtin_clzll(~next | 1);
	if (__builtin_expect(ones >= RICE_MOST_ONES, 0)) {
		r->at += RICE_MOST_ONES;
		return bits_get(r, plain);
	}
	r->at += ones + 1 + low;
	return (uint64_t)ones << low | next << (ones + 1) >> 1 >> (63 - low);
}

/* Reads n numbers, much faster than one by one: each load from memory is used up first, and a
 * number depends on the previous one only for its position. */
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
		if (i < n && left == first) /* an unusually large number */
			out[i++] = bits_get_rice(&r, low, plain);
	}
	for (; i < n; i++)
		out[i] = bits_get_rice(&r, low, plain);
	*from = r;
}

/* Whether the reader went beyond the end. */
static inline bool bits_overrun(const struct bit_reader *r)
{
	return r->at > 8 * (uint64_t)r->len;
}

/* Whether exactly all was read: only the padding of bits_flush is left. */
static inline bool bits_at_end(const struct bit_reader *r)
{
	return !bits_overrun(r) && 8 * (uint64_t)r->len - r->at < 8 && bits_peek(r) == 0;
}

#endif
