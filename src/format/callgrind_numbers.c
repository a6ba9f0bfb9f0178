#include "format/callgrind_numbers.h"

#include "profile/sum.h"

const char *callgrind_skip_blanks(const char *s, const char *end)
{
	while (s < end && callgrind_is_blank(*s))
		s++;
	return s;
}

static unsigned callgrind_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

const char *callgrind_number(const char *s, const char *end, int64_t *out)
{
	unsigned base = 10, digit;
	int64_t v = 0;
	if (end - s > 2 && s[0] == '0' && (s[1] | 0x20) == 'x') {
		base = 16;
		s += 2;
	}
	const char *from = s;
	for (; s < end && (digit = callgrind_digit(*s)) < base; s++)
		v = sum_add(sum_mul(v, base), digit);
	*out = v;
	return s > from ? s : NULL;
}

/* One number of a cost line, whatever its sign; '*' leaves *out alone. */
static const char *callgrind_token(const char *s, const char *end, char *sign, int64_t *out)
{
	*sign = s < end && (*s == '+' || *s == '-' || *s == '*' || *s == '.') ? *s : 0;
	s += *sign != 0;
	if (*sign == 0 || *sign == '+' || *sign == '-')
		s = callgrind_number(s, end, out);
	return s && (s == end || callgrind_is_blank(*s)) ? callgrind_skip_blanks(s, end) : NULL;
}

static void callgrind_take(struct callgrind_numbers *c, size_t column, char sign, int64_t v)
{
	int64_t *cost = &c->costs.v[column];
	c->is_relative |= sign == '*' || sign == '+';
	if (sign == 0 || sign == '.')
		*cost = v;
	else if (sign == '+')
		*cost = sum_add(*cost, v);
	else if (sign == '-')
		*cost = sum_sub(c->is_relative ? *cost : 0, v);
}

bool callgrind_numbers_read(struct callgrind_numbers *c, const char *s, const char *end)
{
	char sign;
	int64_t v;
	for (uint32_t i = 0; i < c->n_positions && s; i++)
		s = i && s == end ? NULL : callgrind_token(s, end, &sign, &v);
	size_t column = 0;
	for (; s && s < end && column < c->costs.n; column++) {
		v = 0;
		s = callgrind_token(s, end, &sign, &v);
		if (s)
			callgrind_take(c, column, sign, v);
	}
	if (s)
		for (; column < c->costs.n; column++)
			c->costs.v[column] = 0;
	return s == end;
}
