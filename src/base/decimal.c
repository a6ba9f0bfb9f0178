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
	const char *from = s;
	if (d->mantissa < (uint64_t)DECIMAL_ONE) {
		uint64_t v = (uint64_t)d->mantissa;
		for (; is_digit(s, end) && v < (uint64_t)DECIMAL_ONE; s++)
			v = v * 10 + (unsigned)(*s - '0');
		d->mantissa = v;
		d->exponent += step * (s - from);
	}
	for (; is_digit(s, end); s++) {
		if (d->mantissa < room) {
			d->mantissa = d->mantissa * 10 + (unsigned)(*s - '0');
			d->exponent += step;
		} else {
			d->exponent += step + 1;
		}
	}
	d->any |= s > from;
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

static const uint64_t powers[] = {
	1,
	10,
	100,
	1000,
	10000,
	100000,
	1000000,
	10000000,
	100000000,
	1000000000,
	10000000000,
	100000000000,
	1000000000000,
	10000000000000,
	100000000000000,
	1000000000000000,
	10000000000000000,
	100000000000000000,
	1000000000000000000,
};

/* Returns mantissa * 10^shift, clamped. */
static __int128 shifted(unsigned __int128 mantissa, int64_t shift)
{
	const unsigned __int128 most = DECIMAL_MOST;
	if (mantissa <= UINT64_MAX && shift >= 0 && shift <= DECIMALS) {
		mantissa *= powers[shift];
		return mantissa > most ? DECIMAL_MOST : (__int128)mantissa;
	}
	for (; shift > 0 && mantissa && mantissa <= most; shift--)
		mantissa = mantissa > most / 10 ? most + 1 : mantissa * 10;
	for (; shift < 0 && mantissa; shift++)
		mantissa /= 10;
	return mantissa > most ? DECIMAL_MOST : (__int128)mantissa;
}

struct parsed {
	struct digits digits;
	bool negative;
};

static bool parse(const char *text, size_t len, struct parsed *out)
{
	const char *s = text, *end = text + len;
	struct digits d = { 0 };
	out->negative = s < end && *s == '-';
	s += s < end && (*s == '-' || *s == '+');
	s = read_digits(s, end, 0, &d);
	if (s < end && *s == '.')
		s = read_digits(s + 1, end, -1, &d);
	s = d.any ? read_exponent(s, end, &d.exponent) : NULL;
	out->digits = d;
	return s == end;
}

bool decimal_parse(const char *text, size_t len, struct decimal *out)
{
	struct parsed p;
	if (!parse(text, len, &p))
		return false;
	__int128 atto = shifted(p.digits.mantissa, p.digits.exponent + DECIMALS);
	out->atto = p.negative ? -atto : atto;
	return true;
}

/* The usual case of decimal_parse_shifted: at most 18 digits, and none is lost but behind the
 * point. */
static bool shift_small(const struct parsed *p, int64_t shift, int64_t *out, bool *is_whole)
{
	uint64_t v = (uint64_t)p->digits.mantissa;
	if (p->digits.mantissa >= (uint64_t)DECIMAL_ONE || shift < -DECIMALS || shift > DECIMALS)
		return false;
	*is_whole = true;
	if (shift < 0) {
		uint64_t by = powers[-shift], rest = v % by;
		*is_whole = rest == 0;
		v = v / by + (rest >= by - rest);
	} else if (__builtin_mul_overflow(v, powers[shift], &v) || v > INT64_MAX) {
		return false;
	}
	*out = p->negative ? -(int64_t)v : (int64_t)v;
	return true;
}

bool decimal_parse_shifted(const char *text, size_t len, unsigned shift, int64_t *out,
			   bool *is_whole)
{
	struct parsed p;
	bool whole;
	if (!parse(text, len, &p))
		return false;
	if (!shift_small(&p, p.digits.exponent + shift, out, &whole)) {
		__int128 atto = shifted(p.digits.mantissa, p.digits.exponent + shift + DECIMALS);
		struct decimal d = { p.negative ? -atto : atto };
		*out = decimal_times(d, 1);
		whole = decimal_part(d) == 0 && atto < DECIMAL_MOST;
	}
	if (is_whole)
		*is_whole = whole;
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
