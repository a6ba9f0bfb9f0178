/* Parses decimal numbers without floating point. */
#include "base/decimal.h"

enum {
	DECIMALS = 18,
	EXPONENT_MOST = 100000, /* larger exponents of ten change nothing */
};

static struct decimal decimal_clamp(__int128 atto)
{
	atto = atto > DECIMAL_MOST ? DECIMAL_MOST : atto;
	return (struct decimal){ atto < -DECIMAL_MOST ? -DECIMAL_MOST : atto };
}

static bool is_digit(const char *s, const char *end)
{
	return s < end && *s >= '0' && *s <= '9';
}

/* Digits without their point: mantissa times ten to the power of exponent. */
struct digits {
	unsigned __int128 mantissa;
	int64_t exponent;
	bool any;
};

/* Reads digits, each of which moves the exponent by `step`. Digits beyond the 38 that mantissa
 * holds only count by their place. */
static const char *read_digits(const char *s, const char *end, int step, struct digits *d)
{
	static const unsigned __int128 room = ~(unsigned __int128)0 / 10 - 1;
	for (; is_digit(s, end); s++) {
		d->any = true;
		if (d->mantissa < room) {
			d->mantissa = d->mantissa * 10 + (unsigned)(*s - '0');
			d->exponent += step;
		} else {
			d->exponent += step + 1;
		}
	}
	return s;
}

/* Reads "e-12" if there is one. Returns NULL if it has no digits. */
static const char *read_exponent(const char *s, const char *end, int64_t *exponent)
{
	int64_t n = 0;
	if (s == end || (*s != 'e' && *s != 'E'))
		return s;
	s++;
	bool negative = s < end && *s == '-';
	s += s < end && (*s == '-' || *s == '+');
	if (!is_digit(s, end))
		return NULL;
	for (; is_digit(s, end); s++)
		n = n < EXPONENT_MOST ? n * 10 + (*s - '0') : n;
	*exponent += negative ? -n : n;
	return s;
}

/* Returns mantissa * 10^shift, clamped. */
static __int128 shifted(unsigned __int128 mantissa, int64_t shift)
{
	for (; shift > 0 && mantissa && mantissa <= (unsigned __int128)DECIMAL_MOST; shift--)
		mantissa = mantissa > (unsigned __int128)DECIMAL_MOST / 10 ? DECIMAL_MOST + 1
									   : mantissa * 10;
	for (; shift < 0 && mantissa; shift++)
		mantissa /= 10;
	return mantissa > (unsigned __int128)DECIMAL_MOST ? DECIMAL_MOST : (__int128)mantissa;
}

bool decimal_parse(const char *text, size_t len, struct decimal *out)
{
	const char *s = text, *end = text + len;
	struct digits d = { 0 };
	bool negative = s < end && *s == '-';
	s += s < end && (*s == '-' || *s == '+');
	s = read_digits(s, end, 0, &d);
	if (s < end && *s == '.')
		s = read_digits(s + 1, end, -1, &d);
	s = d.any ? read_exponent(s, end, &d.exponent) : NULL;
	if (s != end)
		return false;
	__int128 atto = shifted(d.mantissa, d.exponent + DECIMALS);
	out->atto = negative ? -atto : atto;
	return true;
}

struct decimal decimal_add(struct decimal a, struct decimal b)
{
	return decimal_clamp(a.atto + b.atto); /* the sum of two fits */
}

struct decimal decimal_sub(struct decimal a, struct decimal b)
{
	return decimal_clamp(a.atto - b.atto);
}

int64_t decimal_times(struct decimal d, int64_t factor)
{
	int64_t whole = (int64_t)(d.atto / DECIMAL_ONE);
	__int128 part = (__int128)decimal_part(d) * factor;
	part += part < 0 ? -DECIMAL_ONE / 2 : DECIMAL_ONE / 2;
	__int128 v = (__int128)whole * factor + part / DECIMAL_ONE;
	return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}
