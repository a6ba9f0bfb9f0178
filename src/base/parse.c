/* Digit loops with overflow checks, and tables of units. */
#include "base/parse.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* A unit and its factor to the result's unit. */
struct parse_unit {
	const char *name;
	uint64_t scale;
};

static int parse_digit(char c, unsigned base)
{
	int v = c >= '0' && c <= '9'   ? c - '0'
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
		: c >= 'A' && c <= 'F' ? c - 'A' + 10
				       : 99;
	return v < (int)base ? v : -1;
}

/* Reads digits at *s and moves *s past them; -EINVAL if none exists, -ERANGE on overflow (*s is
 * moved then as well). */
static int parse_digits(const char **s, unsigned base, uint64_t *out)
{
	const char *p = *s;
	bool over = false;
	uint64_t v = 0;
	for (; parse_digit(*p, base) >= 0; p++) {
		over |= __builtin_mul_overflow(v, base, &v);
		over |= __builtin_add_overflow(v, (uint64_t)parse_digit(*p, base), &v);
	}
	if (p == *s)
		return -EINVAL;
	*s = p;
	*out = v;
	return over ? -ERANGE : 0;
}

int parse_u64(const char *s, uint64_t *out)
{
	bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	uint64_t v = 0;
	s += hex ? 2 : 0;
	int rc = parse_digits(&s, hex ? 16 : 10, &v);
	if (*s)
		return -EINVAL;
	if (rc == 0)
		*out = v;
	return rc;
}

/* Reads digits after the point, as a fraction of scale; digits past the 18th are ignored, as no
 * scale has so many. */
static int parse_fraction(const char **s, uint64_t scale, uint64_t *out)
{
	uint64_t value = 0, one = 1;
	const char *p = *s;
	for (; parse_digit(*p, 10) >= 0; p++) {
		if (one == 1000000000000000000u)
			continue;
		value = value * 10 + parse_digit(*p, 10);
		one *= 10;
	}
	if (p == *s)
		return -EINVAL;
	*s = p;
	*out = (unsigned __int128)value * scale / one;
	return 0;
}

/* Reads 12, 1.5 or .5 and the name of a unit; the table ends with a NULL name. */
static int parse_scaled(const char *s, const struct parse_unit *units,
			int (*compare)(const char *, const char *), uint64_t *out)
{
	const char *digits = s, *fraction = NULL;
	uint64_t whole = 0, part = 0, v;
	int rc = *s == '.' ? 0 : parse_digits(&s, 10, &whole);
	if (rc == -EINVAL)
		return rc;
	if (*s == '.') {
		fraction = ++s;
		s += strspn(s, "0123456789");
	}
	while (units->name && compare(units->name, s) != 0)
		units++;
	if (!units->name || s == digits)
		return -EINVAL;
	if (fraction && parse_fraction(&fraction, units->scale, &part) != 0)
		return -EINVAL;
	if (rc || __builtin_mul_overflow(whole, units->scale, &v) ||
	    __builtin_add_overflow(v, part, &v))
		return -ERANGE;
	*out = v;
	return 0;
}

int parse_size(const char *s, uint64_t *out)
{
#define SIZE_UNIT(letter, shift) \
	{ letter, 1ull << shift }, { letter "B", 1ull << shift }, \
	{ \
		letter "iB", 1ull << shift \
	}
	static const struct parse_unit units[] = {
		{ "", 1 },          { "B", 1 },         SIZE_UNIT("K", 10), SIZE_UNIT("M", 20),
		SIZE_UNIT("G", 30), SIZE_UNIT("T", 40), SIZE_UNIT("P", 50), { NULL, 0 },
	};
	return parse_scaled(s, units, strcasecmp, out);
}

int parse_duration(const char *s, uint64_t bare_unit_ns, uint64_t *out_ns)
{
	const struct parse_unit units[] = {
		{ "", bare_unit_ns },
		{ "ns", 1 },
		{ "us", 1000 },
		{ "\xc2\xb5s", 1000 },
		{ "ms", 1000000 },
		{ "s", 1000000000 },
		{ "m", 60 * 1000000000ull },
		{ "min", 60 * 1000000000ull },
		{ "h", 3600 * 1000000000ull },
		{ "d", 86400 * 1000000000ull },
		{ NULL, 0 },
	};
	return parse_scaled(s, units, strcmp, out_ns);
}

size_t parse_hex(const char *s, size_t len, uint8_t *out, size_t max)
{
	if (len % 2 || len / 2 > max)
		return 0;
	for (size_t i = 0; i < len; i++)
		if (parse_hex_digit(s[i]) < 0)
			return 0;
	for (size_t i = 0; i < len / 2; i++)
		out[i] = (uint8_t)(parse_hex_digit(s[2 * i]) << 4 | parse_hex_digit(s[2 * i + 1]));
	return len / 2;
}
