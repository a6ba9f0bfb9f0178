// tier: test
#include "rand.h"
#include "unit.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"

#include <inttypes.h>

START_TEST(grows_and_retains_every_byte)
{
	struct buf b = { 0 };
	struct rng r = { 7 };
	uint8_t expected[4096];
	size_t n = 0;
	while (n + 300 < sizeof expected) {
		uint8_t piece[300];
		size_t len = rng_below(&r, sizeof piece);
		for (size_t i = 0; i < len; i++)
			expected[n + i] = piece[i] = rng_next(&r);
		buf_add(&b, piece, len);
		n += len;
		ck_assert_uint_ge(b.cap, b.len);
	}
	ck_assert_uint_eq(b.len, n);
	ck_assert_mem_eq(b.data, expected, n);
	buf_clear(&b);
	ck_assert_uint_eq(b.len, 0);
	ck_assert_uint_ge(b.cap, n);
	buf_done(&b);
	ck_assert_ptr_null(b.data);
	buf_done(&b);
}
END_TEST

START_TEST(formats_whatever_the_length)
{
	for (int len = 0; len < 400; len++) {
		struct buf b = { 0 };
		buf_adds(&b, "ab");
		buf_addf(&b, "%*d|%s", len, 42, "x");
		char expected[512];
		snprintf(expected, sizeof expected, "ab%*d|%s", len, 42, "x");
		ck_assert_str_eq(buf_cstr(&b), expected);
		ck_assert_uint_eq(b.len, strlen(expected));
		buf_done(&b);
	}
}
END_TEST

START_TEST(decimals_equal_printf)
{
	struct rng r = { 11 };
	for (int i = 0; i < 2000; i++) {
		uint64_t v = i == 0 ? 0 : i == 1 ? UINT64_MAX : rng_next(&r) >> rng_below(&r, 64);
		char expected[32];
		struct buf b = { 0 };
		buf_addu(&b, v);
		snprintf(expected, sizeof expected, "%" PRIu64, v);
		ck_assert_str_eq(buf_cstr(&b), expected);
		buf_done(&b);
	}
}
END_TEST

START_TEST(stolen_text_is_ours)
{
	struct buf b = { 0 };
	char *empty = buf_steal(&b);
	ck_assert_str_eq(empty, "");
	buf_adds(&b, "kept");
	char *s = buf_steal(&b);
	ck_assert_str_eq(s, "kept");
	ck_assert_ptr_null(b.data);
	ck_assert_uint_eq(b.len, 0);
	free(empty);
	free(s);
}
END_TEST

START_TEST(cursor_reads_little_endian)
{
	static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	struct cur c = cur_of(bytes, sizeof bytes);
	ck_assert_uint_eq(cur_u8(&c), 1);
	ck_assert_uint_eq(cur_u16(&c), 0x0302);
	ck_assert_uint_eq(cur_u32(&c), 0x07060504);
	ck_assert_uint_eq(cur_u64(&c), 0x0f0e0d0c0b0a0908);
	ck_assert(!c.bad);
	ck_assert_uint_eq(cur_left(&c), 0);
}
END_TEST

START_TEST(cursor_never_runs_over)
{
	static const uint8_t bytes[] = { 1, 2, 3 };
	struct cur c = cur_of(bytes, sizeof bytes);
	ck_assert_uint_eq(cur_u32(&c), 0);
	ck_assert(c.bad);
	ck_assert_uint_eq(cur_u8(&c), 0); /* although there was one byte */
	ck_assert_ptr_null(cur_take(&c, 0));
	ck_assert_uint_eq(cur_left(&c), 0);
	c = cur_of(bytes, sizeof bytes);
	ck_assert_ptr_null(cur_take(&c, SIZE_MAX));
	ck_assert(c.bad);
}
END_TEST

START_TEST(empty_input_is_not_bad)
{
	struct cur c = cur_of(NULL, 0);
	ck_assert_ptr_nonnull(cur_take(&c, 0));
	ck_assert(!c.bad);
	const char *line;
	size_t len;
	ck_assert(!cur_line(&c, &line, &len));
	ck_assert(!c.bad);
	ck_assert_uint_eq(cur_u8(&c), 0);
	ck_assert(c.bad);
}
END_TEST

static uint64_t varint_of(const char *bytes, size_t n, bool *bad)
{
	struct cur c = cur_of(bytes, n);
	uint64_t v = cur_varint(&c);
	*bad = c.bad;
	return v;
}

START_TEST(varints)
{
	bool bad;
	ck_assert_uint_eq(varint_of("\x00", 1, &bad), 0);
	ck_assert_uint_eq(varint_of("\x96\x01", 2, &bad),
			  150); /* the example of the protobuf page */
	ck_assert_uint_eq(varint_of("\x80\x80\x00", 3, &bad), 0);
	ck_assert(!bad);
	ck_assert_uint_eq(varint_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, &bad),
			  UINT64_MAX);
	ck_assert(!bad);
	varint_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, &bad); /* 65 bits */
	ck_assert(bad);
	varint_of("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, &bad);
	ck_assert(bad);
	varint_of("\x80", 1, &bad);
	ck_assert(bad);
	varint_of("", 0, &bad);
	ck_assert(bad);
}
END_TEST

/* All at once equals one by one, wherever the input ends. */
START_TEST(batches_of_varints)
{
	enum { BYTES = 400 };
	struct rng r = { 11 };
	for (int round = 0; round < 20000; round++) {
		uint64_t got[BYTES + 1];
		size_t most = round % 2 ? BYTES : 40; /* many are read in groups of eight */
		size_t len = rng_below(&r, most + 1), n = rng_below(&r, len + 2);
		uint32_t wide = 1 + rng_below(&r, 5), low = rng_below(&r, 4) ? 0x7f : 0xff;
		uint8_t *bytes = malloc(len + !len); /* exact size, for the sanitizer */
		for (size_t i = 0; i < len; i++)
			bytes[i] = rng_next(&r) & (rng_below(&r, wide) ? 0xff : low);
		struct cur c = cur_of(bytes, len), one = c;
		bool ok = cur_varints(&c, got, n);
		for (size_t i = 0; i < n; i++)
			ck_assert_uint_eq(got[i], cur_varint(&one));
		ck_assert(ok == !one.bad && c.bad == one.bad);
		ck_assert_ptr_eq(c.p, one.p);
		free(bytes);
	}
}
END_TEST

START_TEST(lines)
{
	static const char text[] = "one\r\n\ntwo\n\r\nla\rst";
	static const char *const expected[] = { "one", "", "two", "", "la\rst" };
	struct cur c = cur_of(text, sizeof text - 1);
	const char *line;
	size_t len, n = 0;
	while (cur_line(&c, &line, &len)) {
		ck_assert_uint_lt(n, 5);
		ck_assert_uint_eq(len, strlen(expected[n]));
		ck_assert_mem_eq(line, expected[n], len);
		n++;
	}
	ck_assert_uint_eq(n, 5);
}
END_TEST

START_TEST(arena_pieces_are_aligned_and_apart)
{
	struct arena a = { 0 };
	struct rng r = { 13 };
	enum { PIECES = 3000 };
	struct {
		uint8_t *p;
		size_t size;
	} pieces[PIECES];
	size_t asked = 0;
	for (int i = 0; i < PIECES; i++) {
		size_t size = rng_below(&r, 100) ? rng_below(&r, 200) : rng_below(&r, 100000);
		pieces[i].p = arena_alloc(&a, size);
		pieces[i].size = size;
		asked += size;
		ck_assert_uint_eq((uintptr_t)pieces[i].p % 8, 0);
		memset(pieces[i].p, i, size);
	}
	for (int i = 0; i < PIECES; i++)
		for (size_t k = 0; k < pieces[i].size; k++)
			if (pieces[i].p[k] != (uint8_t)i)
				ck_abort_msg("byte %zu of piece %d", k, i);
	ck_assert_uint_ge(a.total, asked);
	ck_assert_uint_le(a.total, 2 * asked + (1 << 20));
	arena_done(&a);
	ck_assert_ptr_null(a.head);
	arena_done(&a);
}
END_TEST

START_TEST(arena_copies_and_zeroes)
{
	struct arena a = { 0 };
	memset(arena_alloc(&a, 64), 0xff, 64);
	uint8_t *zero = arena_zalloc(&a, 1 << 21); /* larger than any block */
	for (size_t i = 0; i < 1 << 21; i++)
		if (zero[i])
			ck_abort_msg("byte %zu", i);
	ck_assert_str_eq(arena_dup(&a, "abcdef", 3), "abc");
	ck_assert_str_eq(arena_dup(&a, NULL, 0), "");
	arena_done(&a);
}
END_TEST

START_TEST(vectors)
{
	VEC(uint32_t) v = { 0 };
	uint32_t more[1000], *none = NULL;
	for (uint32_t i = 0; i < 1000; i++) {
		vec_push(&v, i);
		more[i] = 1000 + i;
	}
	vec_append(&v, more, 1000);
	vec_append(&v, none, 0);
	ck_assert_uint_eq(v.n, 2000);
	for (uint32_t i = 0; i < 2000; i++)
		ck_assert_uint_eq(v.v[i], i);
	ck_assert_uint_le(v.cap, 4000);
	vec_clear(&v);
	ck_assert_uint_eq(v.n, 0);
	vec_done(&v);
	ck_assert_ptr_null(v.v);
}
END_TEST

UNIT_MAIN("buf", grows_and_retains_every_byte, formats_whatever_the_length, decimals_equal_printf,
	  stolen_text_is_ours, cursor_reads_little_endian, cursor_never_runs_over,
	  empty_input_is_not_bad, varints, batches_of_varints, lines,
	  arena_pieces_are_aligned_and_apart, arena_copies_and_zeroes, vectors)
