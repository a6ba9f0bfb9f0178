// tier: test
#include "unit.h"

#include "base/bits.h"
#include "rand.h"

enum { NUMBERS = 5000 };

START_TEST(known_bytes)
{
	struct buf b = { 0 };
	struct bit_writer w = { .out = &b };
	bits_put(&w, 5, 3);           /* 101 */
	bits_put(&w, ~0ull, 0);       /* nothing */
	bits_put_rice(&w, 6, 1, 14);  /* 1110 0 */
	bits_put_rice(&w, 24, 0, 14); /* 24 ones, 00000000011000 */
	bits_flush(&w);
	ck_assert_uint_eq(b.len, 6);
	ck_assert_mem_eq(b.data, "\xbc\xff\xff\xff\x00\x60", 6);
	buf_done(&b);
}
END_TEST

/* Numbers of any width: plain, unary, Rice coded. */
static void put_any(struct bit_writer *w, uint64_t v, unsigned width)
{
	bits_put(w, v, width);
	bits_put(w, (2ull << width % 20) - 2, width % 20 + 1);
	bits_put_rice(w, (uint32_t)v, width % 32, 32);
}

static bool get_any(struct bit_reader *r, uint64_t v, unsigned width)
{
	uint64_t want = width < 64 ? v & ((1ull << width) - 1) : v;
	return bits_get_wide(r, width) == want && bits_get_ones(r, 20) == width % 20 &&
	       bits_get_rice(r, width % 32, 32) == (uint32_t)v;
}

START_TEST(numbers_come_back)
{
	struct buf b = { 0 };
	struct bit_writer w = { .out = &b };
	struct rng r = { 5 }, again = { 5 };
	for (int i = 0; i < NUMBERS; i++) {
		uint64_t v = rng_next(&r) >> rng_below(&r, 64);
		put_any(&w, v, rng_below(&r, 65));
	}
	bits_flush(&w);
	uint8_t *copy = malloc(b.len); /* exact size, for the sanitizer */
	memcpy(copy, b.data, b.len);
	struct bit_reader in = { copy, b.len, 0 };
	bool same = true;
	for (int i = 0; i < NUMBERS; i++) {
		uint64_t v = rng_next(&again) >> rng_below(&again, 64);
		same &= get_any(&in, v, rng_below(&again, 65));
	}
	ck_assert(same);
	ck_assert(bits_at_end(&in));
	free(copy);
	buf_done(&b);
}
END_TEST

/* Many at once give the same numbers and end at the same bit as one by one, also beyond the end. */
START_TEST(batches_of_rice_numbers)
{
	struct rng r = { 6 };
	for (int round = 0; round < 3000; round++) {
		uint64_t got[100];
		unsigned low = rng_below(&r, 33), plain = 32;
		size_t len = rng_below(&r, 200), n = rng_below(&r, 100);
		uint8_t *bytes = malloc(len + !len);
		for (size_t i = 0; i < len; i++)
			bytes[i] = rng_below(&r, 3) ? rng_next(&r) : 0xff;
		struct bit_reader many = { bytes, len, rng_below(&r, 8) }, one = many;
		bits_get_rices(&many, low, plain, got, n);
		for (size_t i = 0; i < n; i++)
			ck_assert_uint_eq(got[i], bits_get_rice(&one, low, plain));
		ck_assert_uint_eq(many.at, one.at);
		free(bytes);
	}
}
END_TEST

START_TEST(the_end_is_seen)
{
	static const uint8_t two[] = { 0xff, 0x80 };
	struct bit_reader r = { two, 2, 0 };
	ck_assert_uint_eq(bits_get_ones(&r, 30), 9); /* and a zero */
	ck_assert(bits_at_end(&r));                  /* six zeros are left */
	ck_assert_uint_eq(bits_get(&r, 7), 0);
	ck_assert(bits_overrun(&r) && !bits_at_end(&r));
	r = (struct bit_reader){ two, 2, 8 };
	ck_assert(!bits_at_end(&r)); /* a byte is left, and a one */
	r = (struct bit_reader){ NULL, 0, 0 };
	ck_assert(bits_at_end(&r));
	ck_assert_uint_eq(bits_get_wide(&r, 64), 0);
	ck_assert(bits_overrun(&r));
}
END_TEST

UNIT_MAIN("bits", known_bytes, numbers_come_back, batches_of_rice_numbers, the_end_is_seen)
