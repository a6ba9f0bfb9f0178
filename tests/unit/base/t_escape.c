// tier: test
#include "rand.h"
#include "unit.h"

#include "base/buf.h"
#include "base/escape.h"
#include "base/mem.h"
#include "base/utf8.h"

typedef void (*esc_fn)(struct buf *b, const char *s, size_t len, size_t max);

static const char *esc(esc_fn fn, struct buf *b, const char *s, size_t len)
{
	buf_clear(b);
	fn(b, s, len, SIZE_MAX);
	return buf_cstr(b);
}

/* ck_assert sends a message to the runner: too slow for every character. */
#define MUST(what) \
	do { \
		if (!(what)) \
			ck_abort_msg("%s", #what); \
	} while (0)

/* Reads the next character of valid UTF-8. */
static uint32_t next_char(const char **s, const char *end)
{
	size_t n = utf8_len(*s, end - *s);
	MUST(n > 0);
	uint32_t c = utf8_char(*s, n);
	*s += n;
	return c;
}

static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

static bool is_reordering(uint32_t c)
{
	return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* --- known answers --- */

struct known {
	const char *text, *expected;
};

static void check_known(esc_fn fn, const struct known *known, size_t n)
{
	struct buf b = { 0 };
	for (size_t i = 0; i < n; i++)
		ck_assert_str_eq(esc(fn, &b, known[i].text, strlen(known[i].text)),
				 known[i].expected);
	buf_done(&b);
}
#define CHECK_KNOWN(fn, known) check_known(fn, known, sizeof known / sizeof *known)

START_TEST(known_utf8)
{
	static const struct known known[] = {
		{ "", "" },
		{ "a\x1b\n\xc2\x85z", "a\x1b\n\xc2\x85z" },
		{ "\xff", "\xef\xbf\xbd" },
		{ "a\xe2\x82", "a\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xc3\xa9", "\xc3\xa9" },
	};
	CHECK_KNOWN(esc_utf8, known);
}
END_TEST

START_TEST(known_xml)
{
	static const struct known known[] = {
		{ "<script>alert('x')</script>",
		  "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;" },
		{ "\"&amp;\"", "&quot;&amp;amp;&quot;" },
		{ "a\tb\nc\rd", "a&#9;b&#10;c&#13;d" },
		{ "\x01\x1b[0m\x7f\xc2\x9b",
		  "\xef\xbf\xbd\xef\xbf\xbd[0m\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xef\xbf\xbe", "\xef\xbf\xbd" },
		{ "std::vector<int>", "std::vector&lt;int&gt;" },
	};
	CHECK_KNOWN(esc_xml, known);
}
END_TEST

START_TEST(known_json)
{
	static const struct known known[] = {
		{ "a\"b\\c/d", "a\\\"b\\\\c/d" },
		{ "\b\f\n\r\t", "\\b\\f\\n\\r\\t" },
		{ "\x01\x1b\x7f\xc2\x80", "\\u0001\\u001b\\u007f\\u0080" },
		{ "\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029" },
		{ "</script><!--<ScRiPt", "\\u003c/script>\\u003c!--\\u003cScRiPt" },
		{ "vector<int> <scr", "vector<int> <scr" },
		{ "\xf0\x9f\x94\xa5\xfe", "\xf0\x9f\x94\xa5\xef\xbf\xbd" },
	};
	CHECK_KNOWN(esc_json, known);
}
END_TEST

START_TEST(known_csv)
{
	static const struct known known[] = {
		{ "", "" },
		{ "plain name", "plain name" },
		{ "a,b", "\"a,b\"" },
		{ "a;b", "\"a;b\"" },
		{ "say \"hi\"", "\"say \"\"hi\"\"\"" },
		{ " a", "\" a\"" },
		{ "a ", "\"a \"" },
		{ "=1+1", "'=1+1" },
		{ "+a,b", "\"'+a,b\"" },
		{ "-x", "'-x" },
		{ "@SUM(A1)", "'@SUM(A1)" },
		{ "operator-", "operator-" },
		{ "a\r\nb\tc", "a\xef\xbf\xbd\xef\xbf\xbd"
			       "b\xef\xbf\xbd"
			       "c" },
	};
	CHECK_KNOWN(esc_csv, known);
}
END_TEST

START_TEST(known_term)
{
	static const struct known known[] = {
		{ "\x1b]0;title\x07", "\xef\xbf\xbd]0;title\xef\xbf\xbd" },
		{ "\xc2\x9b"
		  "31m",
		  "\xef\xbf\xbd"
		  "31m" },
		{ "\x9b"
		  "31m",
		  "\xef\xbf\xbd"
		  "31m" },
		{ "a\nb\tc\rd", "a\xef\xbf\xbd"
				"b\xef\xbf\xbd"
				"c\xef\xbf\xbd"
				"d" },
		{ "evil\xe2\x80\xae"
		  "gnp\xe2\x81\xa6",
		  "evil\xef\xbf\xbd"
		  "gnp\xef\xbf\xbd" },
		{ "\xe6\x97\xa5 <b>", "\xe6\x97\xa5 <b>" },
	};
	CHECK_KNOWN(esc_term, known);
}
END_TEST

/* --- properties of the output for any name --- */

static void check_valid(const struct buf *b)
{
	for (const char *s = b->data, *end = s + b->len; s < end;)
		next_char(&s, end);
}

/* XML as a reader sees it: with entities replaced. */
static void check_xml(const struct buf *b, const struct buf *plain)
{
	static const struct known entities[] = {
		{ "&lt;", "<" },  { "&gt;", ">" },  { "&amp;", "&" },  { "&quot;", "\"" },
		{ "&#39;", "'" }, { "&#9;", "\t" }, { "&#10;", "\n" }, { "&#13;", "\r" },
	};
	const char *s = b->data, *end = s + b->len, *p = plain->data, *plain_end = p + plain->len;
	while (s < end) {
		uint32_t c = next_char(&s, end), wanted = next_char(&p, plain_end);
		MUST(!is_control(c) && !strchr("<>\"'", c < 0x80 ? (int)c : 'x'));
		if (c == '&') {
			size_t i = 0;
			while (i < 8 && strncmp(s - 1, entities[i].text, strlen(entities[i].text)))
				i++;
			MUST(i < 8);
			c = entities[i].expected[0];
			s += strlen(entities[i].text) - 1;
		}
		bool lost = (is_control(wanted) && !strchr("\t\n\r", wanted ? (int)wanted : 'x')) ||
			    wanted == 0xfffe || wanted == 0xffff;
		MUST(c == (lost ? 0xfffd : wanted));
	}
	ck_assert_ptr_eq(p, plain_end);
}

/* JSON as a reader sees it (RFC 8259 §7): nothing is lost. */
static void check_json(const struct buf *b, const struct buf *plain)
{
	static const char letters[] = "b\bf\fn\nr\rt\t\"\"\\\\";
	const char *s = b->data, *end = s + b->len, *p = plain->data, *plain_end = p + plain->len;
	ck_assert_ptr_null(strcasestr(s, "<script"));
	ck_assert_ptr_null(strstr(s, "</"));
	ck_assert_ptr_null(strstr(s, "<!"));
	while (s < end) {
		uint32_t c = next_char(&s, end);
		MUST(!is_control(c) && c != '"');
		if (c == '\\' && *s == 'u') {
			char hex[5] = { s[1], s[2], s[3], s[4] };
			c = strtoul(hex, NULL, 16);
			s += 5;
		} else if (c == '\\') {
			const char *letter = strchr(letters, *s++);
			MUST(letter);
			c = letter[1];
		}
		MUST(c == next_char(&p, plain_end));
	}
	ck_assert_ptr_eq(p, plain_end);
}

/* CSV as a reader sees it (RFC 4180 §2). */
static void check_csv(const struct buf *b, const struct buf *plain)
{
	const char *s = b->data, *end = s + b->len, *p = plain->data, *plain_end = p + plain->len;
	bool quoted = b->len > 0 && *s == '"';
	s += quoted;
	if (plain->len && strchr("=+-@", *p ? *p : 'x'))
		MUST(*s++ == '\'');
	while (p < plain_end) {
		uint32_t c = next_char(&s, end), wanted = next_char(&p, plain_end);
		MUST(quoted || (c != ',' && c != '"'));
		if (c == '"')
			MUST(next_char(&s, end) == '"');
		MUST(c == (is_control(wanted) ? 0xfffd : wanted));
	}
	if (quoted)
		MUST(*s++ == '"');
	ck_assert_ptr_eq(s, end);
}

static void check_term(const struct buf *b, const struct buf *plain)
{
	const char *s = b->data, *end = s + b->len, *p = plain->data, *plain_end = p + plain->len;
	while (s < end) {
		uint32_t c = next_char(&s, end), wanted = next_char(&p, plain_end);
		bool lost = is_control(wanted) || is_reordering(wanted) || wanted == 0x2028 ||
			    wanted == 0x2029;
		MUST(c == (lost ? 0xfffd : wanted));
	}
	ck_assert_ptr_eq(p, plain_end);
}

static void check_everywhere(const char *s, size_t len)
{
	struct buf plain = { 0 }, b = { 0 };
	esc(esc_utf8, &plain, s, len);
	check_valid(&plain);
	esc(esc_utf8, &b, plain.data, plain.len);
	ck_assert(b.len == plain.len && memcmp(b.data, plain.data, b.len) == 0);
	esc(esc_xml, &b, s, len);
	check_xml(&b, &plain);
	esc(esc_json, &b, s, len);
	check_json(&b, &plain);
	ck_assert_uint_le(b.len, 6 * len);
	esc(esc_csv, &b, s, len);
	check_csv(&b, &plain);
	esc(esc_term, &b, s, len);
	check_term(&b, &plain);
	buf_done(&plain);
	buf_done(&b);
}

START_TEST(hostile_names_are_harmless)
{
	static const char *const names[] = {
		"",
		"<script>alert(1)</script>",
		"</style><!--<script>",
		"]]>&amp;<svg onload=\"x\">",
		"' onmouseover='alert(1)",
		"=cmd|' /C calc'!A0",
		"@a,\"b\"\r\n=c",
		"\x1b[2J\x1b]52;c;aGk=\x07\x1bP$q\x1b\\",
		"\xc2\x9b"
		"2J\xc2\x90",
		"a\xe2\x80\xae"
		"b\xe2\x81\xa9\xe2\x80\xa8",
		"\xed\xa0\x80\xf4\x90\x80\x80\xc0\xaf\xff\xfe\xef\xbf\xbf",
		"\\u003c\\\"\\",
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		check_everywhere(names[i], strlen(names[i]));
	char every[256];
	for (int i = 0; i < 256; i++)
		every[i] = i;
	check_everywhere(every, sizeof every);
}
END_TEST

START_TEST(random_names_are_harmless)
{
	struct rng r = { 29 };
	for (int run = 0; run < 3000; run++) {
		static const char frequent[] =
			"<>&\"'\\/!=+-@,; \t\n\r\x1b\xc2\x9b\xe2\x80\xae\xffscript";
		char name[100];
		size_t len = rng_below(&r, sizeof name);
		for (size_t i = 0; i < len; i++)
			name[i] = rng_below(&r, 4) ? frequent[rng_below(&r, sizeof frequent)]
						   : (char)rng_next(&r);
		check_everywhere(name, len);
	}
}
END_TEST

START_TEST(megabyte_names_are_harmless)
{
	enum { MEGABYTE = 1 << 20 };
	static const char fill[] = { 'A', '"', '\x01', '\xff', '<', '\0' };
	char *name = xmalloc(MEGABYTE);
	for (size_t i = 0; i < sizeof fill; i++) {
		memset(name, fill[i], MEGABYTE);
		check_everywhere(name, MEGABYTE);
	}
	free(name);
}
END_TEST

/* Truncated anywhere: the mark is there if and only if something is missing, and no character is split. */
START_TEST(cuts_at_whole_characters)
{
	static const char text[] = "ab\xc3\xa9\xe2\x82\xac<\xf0\x9f\x94\xa5\xff&z";
	static const esc_fn all[] = { esc_utf8, esc_xml, esc_json, esc_csv, esc_term };
	const size_t len = sizeof text - 1;
	for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
		for (size_t max = 0; max <= len + 1; max++) {
			size_t whole = 0, n;
			while (whole < len) {
				n = utf8_len(text + whole, len - whole);
				if (whole + (n ? n : 1) > max)
					break;
				whole += n ? n : 1;
			}
			struct buf cut = { 0 }, expected = { 0 };
			all[k](&cut, text, len, max);
			all[k](&expected, text, whole, SIZE_MAX);
			if (max < len)
				buf_adds(&expected, "\xe2\x80\xa6");
			ck_assert_str_eq(buf_cstr(&cut), buf_cstr(&expected));
			buf_done(&cut);
			buf_done(&expected);
		}
	}
}
END_TEST

UNIT_MAIN("escape", known_utf8, known_xml, known_json, known_csv, known_term,
	  hostile_names_are_harmless, random_names_are_harmless, megabyte_names_are_harmless,
	  cuts_at_whole_characters)
