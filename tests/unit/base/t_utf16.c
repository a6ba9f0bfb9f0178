// tier: test
#include "unit.h"

#include "base/utf8.h"

/* Decodes text in pieces of `piece` bytes. */
static void check_decoded(const char *text, size_t len, bool is_big_endian, size_t piece,
			  const char *want)
{
	struct utf16 u = { .is_big_endian = is_big_endian };
	char out[256];
	size_t n = 0;
	for (size_t at = 0; at < len; at += piece) {
		size_t more = piece < len - at ? piece : len - at;
		size_t got = utf16_decode(&u, text + at, more, out + n);
		ck_assert_uint_le(got, UTF16_ROOM(more));
		n += got;
	}
	n += utf16_end(&u, out + n);
	out[n] = '\0';
	ck_assert_str_eq(out, want);
}

START_TEST(pieces_of_any_size_give_the_same)
{
	/* "a", U+00E9, U+20AC, U+1F600, and then malformed text: a second half, a first half before "b", a first half, a byte */
	static const char le[] = "a\0\xe9\0\xac\x20\x3d\xd8\x00\xde\x00\xdc\x3d\xd8"
				 "b\0\x3d\xd8x";
	static const char be[] = "\0a\0\xe9\x20\xac\xd8\x3d\xde\x00\xdc\x00\xd8\x3d"
				 "\0b\xd8\x3dx";
	static const char want[] = "a\u00e9\u20ac\U0001f600\ufffd\ufffd"
				   "b\ufffd\ufffd";
	for (size_t piece = 1; piece < sizeof le; piece++) {
		check_decoded(le, sizeof le - 1, false, piece, want);
		check_decoded(be, sizeof be - 1, true, piece, want);
	}
}
END_TEST

START_TEST(every_character_reads_back)
{
	struct utf16 u = { 0 };
	for (uint32_t c = 0; c < 0x10000; c++) {
		char out[8], unit[2] = { c, c >> 8 };
		if (c >= 0xd800 && c < 0xe000)
			continue;
		size_t n = utf16_decode(&u, unit, 2, out);
		ck_assert_uint_eq(utf8_len(out, n), n);
		ck_assert_uint_eq(utf8_char(out, n), c);
	}
}
END_TEST

UNIT_MAIN("utf16", pieces_of_any_size_give_the_same, every_character_reads_back)
