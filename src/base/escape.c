/* One loop per output format, over the characters of utf8.h. */
#include "base/escape.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <string.h>
#include <strings.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define ELLIPSIS    "\xe2\x80\xa6"

/* An output format. Printable ASCII is copied unchanged, except the characters in `special` (a bit
 * per character, below and from 64 on). These and all others are passed to put, one character of n
 * valid bytes at a time; left: bytes from this character to the end. */
struct place {
	uint64_t special[2];
	void (*put)(struct buf *b, uint32_t c, const char *s, size_t n, size_t left);
};
#define SPECIAL(c) (1ull << ((c) % 64))

static bool esc_plain(const struct place *place, uint8_t c)
{
	return c >= 0x20 && c < 0x7f && !(place->special[c >> 6] & SPECIAL(c));
}

static void esc_walk(struct buf *b, const char *s, size_t len, size_t max,
		     const struct place *place)
{
	size_t i = 0, limit = len < max ? len : max;
	buf_reserve(b, limit + sizeof ELLIPSIS);
	while (i < limit) {
		size_t run = i;
		while (run < limit && esc_plain(place, s[run]))
			run++;
		buf_add(b, s + i, run - i);
		i = run;
		if (i == limit)
			break;
		size_t n = utf8_len(s + i, len - i);
		if (n > limit - i)
			break;
		if (n)
			place->put(b, utf8_char(s + i, n), s + i, n, limit - i);
		else
			buf_adds(b, REPLACEMENT);
		i += n ? n : 1;
	}
	if (limit < len)
		buf_adds(b, ELLIPSIS);
}

/* DEL, C0 and C1. */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f);
}

static void put_utf8(struct buf *b, uint32_t c, const char *s, size_t n, size_t left)
{
	(void)c, (void)left;
	buf_add(b, s, n);
}

void esc_utf8(struct buf *b, const char *s, size_t len, size_t max)
{
	static const struct place place = { .put = put_utf8 };
	esc_walk(b, s, len, max, &place);
}

/* XML 1.0 §2.2 does not allow most control characters, nor U+FFFE and U+FFFF. A parser would turn
 * literal tabs and line ends in attribute values into blanks. */
static void put_xml(struct buf *b, uint32_t c, const char *s, size_t n, size_t left)
{
	(void)left;
	switch (c) {
	case '<':
		buf_adds(b, "&lt;");
		break;
	case '>':
		buf_adds(b, "&gt;");
		break;
	case '&':
		buf_adds(b, "&amp;");
		break;
	case '"':
		buf_adds(b, "&quot;");
		break;
	case '\'':
	case '\t':
	case '\n':
	case '\r':
		buf_addf(b, "&#%u;", c);
		break;
	default:
		if (is_control(c) || c == 0xfffe || c == 0xffff)
			buf_adds(b, REPLACEMENT);
		else
			buf_add(b, s, n);
	}
}

void esc_xml(struct buf *b, const char *s, size_t len, size_t max)
{
	static const struct place place = {
		.special = { SPECIAL('<') | SPECIAL('>') | SPECIAL('&') | SPECIAL('"') |
			     SPECIAL('\'') },
		.put = put_xml,
	};
	esc_walk(b, s, len, max, &place);
}

/* Whether an HTML parser would react to it inside a <script> element: "<!--", "<script",
 * "</script". */
static bool html_would_look(const char *s, size_t left)
{
	if (left >= 2 && (s[1] == '!' || s[1] == '/'))
		return true;
	return left >= 7 && strncasecmp(s + 1, "script", 6) == 0;
}

static void put_json(struct buf *b, uint32_t c, const char *s, size_t n, size_t left)
{
	static const char letters[] = "\bb\ff\nn\rr\tt\"\"\\\\";
	const char *letter = c && c < 0x80 ? strchr(letters, c) : NULL;
	if (letter && (letter - letters) % 2 == 0) {
		buf_addc(b, '\\');
		buf_addc(b, letter[1]);
	} else if (is_control(c) || c == 0x2028 || c == 0x2029 ||
		   (c == '<' && html_would_look(s, left))) {
		buf_addf(b, "\\u%04x", c);
	} else {
		buf_add(b, s, n);
	}
}

void esc_json(struct buf *b, const char *s, size_t len, size_t max)
{
	static const struct place place = {
		.special = { SPECIAL('"') | SPECIAL('<'), SPECIAL('\\') },
		.put = put_json,
	};
	esc_walk(b, s, len, max, &place);
}

static void put_csv(struct buf *b, uint32_t c, const char *s, size_t n, size_t left)
{
	(void)left;
	if (is_control(c))
		buf_adds(b, REPLACEMENT);
	else if (c == '"')
		buf_adds(b, "\"\"");
	else
		buf_add(b, s, n);
}

/* Semicolons are separators where the comma is the decimal point; some readers strip blanks at the
 * ends. */
static bool csv_needs_quotes(const char *s, size_t len)
{
	return len > 0 && (s[0] == ' ' || s[len - 1] == ' ' || memchr(s, ',', len) ||
			   memchr(s, ';', len) || memchr(s, '"', len));
}

void esc_csv(struct buf *b, const char *s, size_t len, size_t max)
{
	static const struct place place = { .special = { SPECIAL('"') }, .put = put_csv };
	bool quoted = csv_needs_quotes(s, len < max ? len : max);
	if (quoted)
		buf_addc(b, '"');
	if (len > 0 && memchr("=+-@", s[0], 4))
		buf_addc(b, '\'');
	esc_walk(b, s, len, max, &place);
	if (quoted)
		buf_addc(b, '"');
}

/* Whether a character reorders the text around it (UAX #9: embeddings, overrides, isolates), so
 * that a name could look like another one. */
static bool is_reordering(uint32_t c)
{
	return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

static void put_term(struct buf *b, uint32_t c, const char *s, size_t n, size_t left)
{
	(void)left;
	if (is_control(c) || is_reordering(c) || c == 0x2028 || c == 0x2029)
		buf_adds(b, REPLACEMENT);
	else
		buf_add(b, s, n);
}

void esc_term(struct buf *b, const char *s, size_t len, size_t max)
{
	static const struct place place = { .put = put_term };
	esc_walk(b, s, len, max, &place);
}
