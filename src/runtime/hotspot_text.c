/* Names of Java methods as text. */
#include "runtime/hotspot_parts.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <string.h>

/* --- modified UTF-8 --------------------------------------------------------------------------- */

enum { REPLACEMENT = 0xfffd };

static bool is_rest(const struct cur *c, size_t at)
{
	return at < cur_left(c) && (c->p[at] & 0xc0) == 0x80;
}

/* The next UTF-16 unit, in one to three bytes; *n: their number. REPLACEMENT if they are none. */
static uint32_t peek_unit(const struct cur *c, size_t *n)
{
	const uint8_t *p = c->p;

	*n = 1;
	if (p[0] && p[0] < 0x80)
		return p[0];
	if ((p[0] & 0xe0) == 0xc0 && is_rest(c, 1)) {
		*n = 2;
		return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
	}
	if ((p[0] & 0xf0) == 0xe0 && is_rest(c, 1) && is_rest(c, 2)) {
		*n = 3;
		return (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
	}
	return REPLACEMENT;
}

static bool is_high(uint32_t unit)
{
	return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low(uint32_t unit)
{
	return unit >= 0xdc00 && unit < 0xe000;
}

static uint32_t take_char(struct cur *c)
{
	size_t n, more;
	uint32_t unit = peek_unit(c, &n), low;

	cur_take(c, n);
	if (is_high(unit) && cur_left(c)) {
		low = peek_unit(c, &more);
		if (is_low(low)) {
			cur_take(c, more);
			return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
		}
	}
	return !unit || is_high(unit) || is_low(unit) ? REPLACEMENT : unit;
}

/* A dot instead of each slash, if it is the name of a class. */
static void add_text(struct buf *out, struct cur c, bool is_class)
{
	while (cur_left(&c)) {
		uint32_t ch = take_char(&c);

		utf8_add(out, is_class && ch == '/' ? '.' : ch);
	}
}

/* A text that was cut may end inside a character. */
static struct cur cur_of_text(const struct hotspot_symbol_text *t)
{
	uint32_t len = t->len;

	while (t->is_cut && len && t->text[len - 1] >= 0x80)
		len--;
	return cur_of(t->text, len);
}

void hotspot_text_add(struct buf *out, const struct hotspot_symbol_text *t)
{
	add_text(out, cur_of_text(t), false);
	if (t->is_cut)
		buf_adds(out, "…");
}

/* --- classes ---------------------------------------------------------------------------------- */

static bool is_digits(const uint8_t *p, const uint8_t *end)
{
	for (const uint8_t *at = p; at < end; at++)
		if (*at < '0' || *at > '9')
			return false;
	return p < end;
}

static bool is_hex(const uint8_t *p, const uint8_t *end)
{
	for (const uint8_t *at = p; at < end; at++)
		if (!((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f')))
			return false;
	return p < end;
}

/* Cuts the end of the text from its last `sep` on, if what follows it has that form. */
static void cut_end(struct cur *c, uint8_t sep, const char *prefix,
		    bool (*has_form)(const uint8_t *p, const uint8_t *end))
{
	const uint8_t *at = cur_left(c) ? memrchr(c->p, sep, cur_left(c)) : NULL;
	size_t n = strlen(prefix);

	if (at && (size_t)(c->end - at) > n && memcmp(at + 1, prefix, n) == 0 &&
	    has_form(at + 1 + n, c->end))
		c->end = at;
}

/* Main$$Lambda+0x0000000800c03000, Main$$Lambda$14+0x…, Main$$Lambda/0x… and
 * Main$$Lambda$14/1879492184 are Main$$Lambda. */
static struct cur without_address(struct cur c)
{
	static const char lambda[] = "$$Lambda";
	const size_t n = sizeof lambda - 1;
	struct cur at = c;

	cut_end(&c, '+', "0x", is_hex);
	cut_end(&c, '/', "0x", is_hex);
	at = c;
	cut_end(&at, '/', "", is_digits);
	cut_end(&at, '$', "", is_digits);
	if (cur_left(&at) >= n && memcmp(at.end - n, lambda, n) == 0)
		return at;
	return c;
}

static void add_class(struct buf *out, const struct hotspot_symbol_text *t)
{
	add_text(out, without_address(cur_of_text(t)), true);
	if (t->is_cut)
		buf_adds(out, "…");
}

/* --- signatures ------------------------------------------------------------------------------- */

static const char *const primitives[128] = {
	['B'] = "byte", ['C'] = "char", ['D'] = "double", ['F'] = "float",
	['I'] = "int",  ['J'] = "long", ['S'] = "short",  ['Z'] = "boolean",
};

/* The class in L…; without its package. */
static bool add_reference(struct buf *out, struct cur *c)
{
	const uint8_t *end = memchr(c->p, ';', cur_left(c)), *slash;
	struct cur name = { c->p, end, false };

	if (!end)
		return false;
	c->p = end + 1;
	name = without_address(name);
	slash = cur_left(&name) ? memrchr(name.p, '/', cur_left(&name)) : NULL;
	name.p = slash ? slash + 1 : name.p;
	if (!cur_left(&name))
		return false;
	add_text(out, name, true);
	return true;
}

static bool add_type(struct buf *out, struct cur *c)
{
	enum { MAX_DIMENSIONS = 255 };
	unsigned dimensions = 0;
	uint8_t type;

	while ((type = cur_u8(c)) == '[')
		if (++dimensions > MAX_DIMENSIONS)
			return false;
	if (c->bad || type >= 128)
		return false;
	if (type == 'L') {
		if (!add_reference(out, c))
			return false;
	} else if (!primitives[type]) {
		return false;
	} else {
		buf_adds(out, primitives[type]);
	}
	while (dimensions--)
		buf_adds(out, "[]");
	return true;
}

static bool add_signature(struct buf *out, const struct hotspot_symbol_text *t)
{
	struct cur c = cur_of(t->text, t->len);
	const char *between = "";

	if (cur_u8(&c) != '(')
		return false;
	buf_addc(out, '(');
	while (cur_left(&c) && *c.p != ')') {
		size_t before = out->len;

		buf_adds(out, between);
		if (!add_type(out, &c)) {
			out->len = before;
			if (!t->is_cut)
				return false;
			break;
		}
		between = ",";
	}
	if (!cur_left(&c) || *c.p != ')') {
		if (!t->is_cut)
			return false;
		buf_adds(out, "…");
	}
	buf_addc(out, ')');
	return true;
}

bool hotspot_method_name(struct buf *out, const struct hotspot_symbol_text *class_name,
			 const struct hotspot_symbol_text *method,
			 const struct hotspot_symbol_text *signature)
{
	add_class(out, class_name);
	buf_addc(out, '.');
	hotspot_text_add(out, method);
	return add_signature(out, signature);
}
