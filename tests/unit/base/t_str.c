// tier: test
#include "rand.h"
#include "unit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

START_TEST(split)
{
	static const struct {
		const char *text;
		size_t n;
		const char *parts[4];
	} known[] = {
		{ "", 1, { "" } },
		{ "a", 1, { "a" } },
		{ ",", 2, { "", "" } },
		{ "a,bc", 2, { "a", "bc" } },
		{ ",a,,b", 4, { "", "a", "", "b" } },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		size_t n;
		char **parts = str_split(known[i].text, ',', &n);
		ck_assert_uint_eq(n, known[i].n);
		for (size_t k = 0; k < n; k++)
			ck_assert_str_eq(parts[k], known[i].parts[k]);
		ck_assert_ptr_null(parts[n]);
		free(parts);
	}
}
END_TEST

START_TEST(starts_and_ends)
{
	ck_assert(str_starts("cresset", "cre"));
	ck_assert(str_starts("cresset", ""));
	ck_assert(!str_starts("cre", "cresset"));
	ck_assert(str_ends("a.pb.gz", ".pb.gz"));
	ck_assert(str_ends("a", ""));
	ck_assert(!str_ends("gz", ".gz"));
}
END_TEST

START_TEST(nearest_name)
{
	static const char *const names[] = { "record", "report", "flame",  "doctor",
					     "freq",   "pid",    "output", "-p" };
	static const struct {
		const char *word, *nearest;
	} known[] = {
		{ "recrod", "record" }, { "reprot", "report" }, { "flam", "flame" },
		{ "frq", "freq" },      { "outptu", "output" }, { "output", "output" },
		{ "doctro", "doctor" }, { "pdi", "pid" },       { "recccccord", NULL },
		{ "x", NULL },          { "", NULL },           { "p", NULL },
		{ "ox", NULL },         { "recoooord", NULL },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		const char *got = str_nearest(known[i].word, names, 8);
		if (known[i].nearest)
			ck_assert_str_eq(got ? got : "(none)", known[i].nearest);
		else
			ck_assert_msg(!got, "%s: %s", known[i].word, got);
	}
	char *huge = xcalloc(1000001, 1);
	memset(huge, 'r', 1000000);
	ck_assert_ptr_null(str_nearest(huge, names, 8));
	free(huge);
}
END_TEST

typedef int (*parse_fn)(const char *s, uint64_t *out);
struct number {
	const char *text;
	int rc;
	uint64_t value;
};

static void check_numbers(parse_fn parse, const struct number *known, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = 777; /* must be unchanged on failure */
		int rc = parse(known[i].text, &v);
		ck_assert_msg(rc == known[i].rc && v == (rc ? 777 : known[i].value),
			      "\"%s\": %d %" PRIu64, known[i].text, rc, v);
	}
}
#define CHECK_NUMBERS(parse, known) check_numbers(parse, known, sizeof known / sizeof *known)

START_TEST(numbers)
{
	static const struct number known[] = {
		{ "0", 0, 0 },
		{ "42", 0, 42 },
		{ "007", 0, 7 },
		{ "0x1F", 0, 31 },
		{ "0Xff", 0, 255 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "0xffffffffffffffff", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999999", -ERANGE, 0 },
		{ "0x10000000000000000", -ERANGE, 0 },
		{ "18446744073709551616x", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "0x", -EINVAL, 0 },
		{ "x", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "1f", -EINVAL, 0 },
		{ "0xfg", -EINVAL, 0 },
		{ "1.0", -EINVAL, 0 },
	};
	CHECK_NUMBERS(parse_u64, known);
}
END_TEST

START_TEST(sizes)
{
	static const struct number known[] = {
		{ "0", 0, 0 },
		{ "4096", 0, 4096 },
		{ "64K", 0, 65536 },
		{ "64k", 0, 65536 },
		{ "16M", 0, 16 << 20 },
		{ "16MiB", 0, 16 << 20 },
		{ "16MB", 0, 16 << 20 },
		{ "2G", 0, 2ull << 30 },
		{ "1.5G", 0, 3ull << 29 },
		{ ".5K", 0, 512 },
		{ "1T", 0, 1ull << 40 },
		{ "16383P", 0, 16383ull << 50 },
		{ "16384P", -ERANGE, 0 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "18446744073709551615.5", 0, UINT64_MAX },
		{ "", -EINVAL, 0 },
		{ "K", -EINVAL, 0 },
		{ ".", -EINVAL, 0 },
		{ ".K", -EINVAL, 0 },
		{ "1.", -EINVAL, 0 },
		{ "1.K", -EINVAL, 0 },
		{ "1 K", -EINVAL, 0 },
		{ "1Q", -EINVAL, 0 },
		{ "1KK", -EINVAL, 0 },
		{ "1i", -EINVAL, 0 },
		{ "-1K", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "1.5.5K", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
	};
	CHECK_NUMBERS(parse_size, known);
}
END_TEST

static int duration_s(const char *s, uint64_t *out)
{
	return parse_duration(s, 1000000000, out);
}

static int duration_us(const char *s, uint64_t *out)
{
	return parse_duration(s, 1000, out);
}

START_TEST(durations)
{
	static const struct number known[] = {
		{ "0", 0, 0 },
		{ "10", 0, 10000000000 },
		{ "0.25", 0, 250000000 },
		{ "500ms", 0, 500000000 },
		{ "1.5s", 0, 1500000000 },
		{ ".5s", 0, 500000000 },
		{ "250us", 0, 250000 },
		{ "250\xc2\xb5s", 0, 250000 },
		{ "7ns", 0, 7 },
		{ "1.9ns", 0, 1 },
		{ "15m", 0, 900000000000 },
		{ "2h", 0, 7200000000000 },
		{ "7d", 0, 604800000000000 },
		{ "0.000000001s", 0, 1 },
		{ "0.00000000099999999999999999999999999s", 0, 0 },
		{ "213503d", 0, 213503ull * 86400 * 1000000000 },
		{ "213504d", -ERANGE, 0 },
		{ "18446744073.709551615", 0, UINT64_MAX },
		{ "18446744073.709551616", -ERANGE, 0 },
		{ "99999999999999999999d", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ "1.s", -EINVAL, 0 },
		{ "1w", -EINVAL, 0 },
		{ "1M", -EINVAL, 0 },
		{ "1S", -EINVAL, 0 },
		{ "1 s", -EINVAL, 0 },
		{ "1s ", -EINVAL, 0 },
		{ "-1s", -EINVAL, 0 },
		{ "1h30m", -EINVAL, 0 },
		{ "nan", -EINVAL, 0 },
		{ "inf", -EINVAL, 0 },
	};
	static const struct number bare[] = {
		{ "100", 0, 100000 },
		{ "1.5", 0, 1500 },
		{ "1ms", 0, 1000000 },
	};
	CHECK_NUMBERS(duration_s, known);
	CHECK_NUMBERS(duration_us, bare);
}
END_TEST

/* Every code point, encoded independently, with every kind of damage. */
static size_t encode(uint32_t c, char *s)
{
	if (c < 0x80)
		return s[0] = c, 1;
	size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i > 0; i--, c >>= 6)
		s[i] = 0x80 | (c & 0x3f);
	s[0] = (0xf00 >> n) | c;
	return n;
}

START_TEST(utf8_of_every_character)
{
	for (uint32_t c = 0; c <= 0x1fffff; c++) {
		char s[4];
		size_t n = encode(c, s);
		bool valid = c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
		if (utf8_len(s, n) != (valid ? n : 0) || (valid && utf8_char(s, n) != c))
			ck_abort_msg("U+%04X", c);
		for (size_t cut = 0; cut < n; cut++)
			if (utf8_len(s, cut) != 0)
				ck_abort_msg("U+%04X cut to %zu", c, cut);
	}
}
END_TEST

START_TEST(utf8_that_is_none)
{
	static const char *const bad[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xe0\x9f\xbf",
		"\xf0\x8f\xbf\xbf",
		"\xed\xa0\x80",
		"\xf4\x90\x80\x80",
		"\xf8\x88\x80\x80\x80",
		"\xfe",
		"\xff",
		"\xc3(",
		"\xe2\x82(",
		"\xf0\x9f\x98(",
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(utf8_len(bad[i], strlen(bad[i])) == 0, "%zu", i);
}
END_TEST

START_TEST(width_of_known_text)
{
	static const struct {
		const char *text;
		size_t width;
	} known[] = {
		{ "", 0 },
		{ "abc", 3 },
		{ "na\xc3\xafve", 5 },
		{ "nai\xcc\x88ve", 5 },            /* combining diaeresis */
		{ "\xe6\x97\xa5\xe6\x9c\xac", 4 }, /* two CJK characters */
		{ "\xea\xb0\x80", 2 },             /* Hangul syllable */
		{ "\xf0\x9f\x94\xa5", 2 },         /* fire */
		{ "\xe2\x80\xa6", 1 },             /* … */
		{ "a\xff"
		  "b",
		  3 }, /* U+FFFD on output */
		{ "\x1b[0m", 4 },
		{ "\xe2\x80\xae", 1 }, /* override, U+FFFD on output */
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		ck_assert_uint_eq(utf8_width(known[i].text), known[i].width);
}
END_TEST

/* glibc has another version of Unicode, so a few characters may differ: at most one in a thousand of those it knows. */
START_TEST(width_equals_wcwidth)
{
	unsigned known = 0, different = 0;
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		T_SKIP("no C.UTF-8 locale");
	for (uint32_t c = 0xa0; c <= 0x10ffff; c++) {
		char s[5] = { 0 };
		int width = wcwidth(c);
		bool reordering = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
		if (width < 0 || reordering || (c >= 0xd800 && c <= 0xdfff))
			continue;
		encode(c, s);
		known++;
		different += utf8_width(s) != (size_t)width;
	}
	ck_assert_uint_gt(known, 100000);
	ck_assert_uint_lt(different, known / 1000);
}
END_TEST

static const char *call(void (*fmt)(struct buf *, uint64_t), struct buf *b, uint64_t v)
{
	buf_clear(b);
	fmt(b, v);
	return buf_cstr(b);
}

START_TEST(numbers_for_people)
{
	static const struct {
		void (*fmt)(struct buf *, uint64_t);
		uint64_t v;
		const char *text;
	} known[] = {
		{ fmt_count, 0, "0" },
		{ fmt_count, 999, "999" },
		{ fmt_count, 1000, "1,000" },
		{ fmt_count, 1234567, "1,234,567" },
		{ fmt_count, UINT64_MAX, "18,446,744,073,709,551,615" },
		{ fmt_bytes, 0, "0 B" },
		{ fmt_bytes, 999, "999 B" },
		{ fmt_bytes, 1000, "1.00 kB" },
		{ fmt_bytes, 9994, "9.99 kB" },
		{ fmt_bytes, 9996, "10.0 kB" },
		{ fmt_bytes, 12345678, "12.3 MB" },
		{ fmt_bytes, 123456789, "123 MB" },
		{ fmt_bytes, 999499, "999 kB" },
		{ fmt_bytes, 999500, "1.00 MB" },
		{ fmt_bytes, UINT64_MAX, "18.4 EB" },
		{ fmt_duration, 0, "0 ns" },
		{ fmt_duration, 999, "999 ns" },
		{ fmt_duration, 1500, "1.50 \xc2\xb5s" },
		{ fmt_duration, 12345678, "12.3 ms" },
		{ fmt_duration, 999600000, "1.00 s" },
		{ fmt_duration, 1500000000, "1.50 s" },
		{ fmt_duration, 59900000000, "59.9 s" },
		{ fmt_duration, 59960000000, "1 min 0 s" },
		{ fmt_duration, 310000000000, "5 min 10 s" },
		{ fmt_duration, 3599600000000, "1 h 0 min" },
		{ fmt_duration, 7500000000000, "2 h 5 min" },
		{ fmt_duration, 86400000000000, "1 d 0 h" },
		{ fmt_duration, 273600000000000, "3 d 4 h" },
		{ fmt_duration, UINT64_MAX, "213504 d 0 h" }, /* 213503.98 days */
	};
	struct buf b = { 0 };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		ck_assert_str_eq(call(known[i].fmt, &b, known[i].v), known[i].text);
	buf_done(&b);
}
END_TEST

UNIT_MAIN("str", split, starts_and_ends, nearest_name, numbers, sizes, durations,
	  utf8_of_every_character, utf8_that_is_none, width_of_known_text, width_equals_wcwidth,
	  numbers_for_people)
