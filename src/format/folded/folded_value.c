#include "format/folded/folded.h"

#include "base/decimal.h"

#include <string.h>

/* Copies "12,345,678.5" without its commas. Returns the length, or 0 if they are not between groups
 * of three digits, or do not fit. */
static size_t folded_ungroup(const char *s, const char *end, char *to, size_t size)
{
	size_t digits = 0, n = 0;
	const char *point = memchr(s, '.', end - s);
	const char *whole_end = point ? point : end;
	bool any = false;
	if (s < end && (*s == '-' || *s == '+'))
		to[n++] = *s++;
	for (; s < whole_end && n < size; s++) {
		if (*s == ',' && (any ? digits != 3 : digits < 1 || digits > 3))
			return 0;
		any |= *s == ',';
		digits = *s == ',' ? 0 : digits + 1;
		if (*s != ',')
			to[n++] = *s;
	}
	if (!any || digits != 3 || n + (end - s) > size)
		return 0;
	memcpy(to + n, s, end - s);
	return n + (end - s);
}

/* Reads "12.5", "+.5", "1.25e-1", "-3" or "1,234". */
static bool folded_decimal(const char *s, const char *end, struct folded_value *out)
{
	char plain[64];
	struct decimal d;
	size_t len = end - s;
	if (memchr(s, ',', len)) {
		len = folded_ungroup(s, end, plain, sizeof plain);
		s = plain;
	}
	if (!len || !decimal_parse(s, len, &d) || d.atto >= DECIMAL_MOST || d.atto <= -DECIMAL_MOST)
		return false;
	out->whole = (int64_t)(d.atto / DECIMAL_ONE);
	out->part = decimal_part(d);
	if (out->part < 0) {
		out->part += DECIMAL_ONE;
		out->whole--;
	}
	return true;
}

/* Reads "12", as most files have them, or a decimal. */
static bool folded_value(const char *s, const char *end, struct folded_value *out)
{
	int64_t v = 0;
	const char *digits = s;
	for (; s < end && *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s - '0', &v))
			return false;
	if (s != end)
		return folded_decimal(digits, end, out);
	*out = (struct folded_value){ v, 0 };
	return s != digits;
}

bool folded_split(const char *line, size_t len, size_t *stack_len, struct folded_value *value)
{
	const char *end = line + len;
	while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	const char *s = end;
	while (s > line && s[-1] != ' ' && s[-1] != '\t')
		s--;
	if (s - line < 2 || !folded_value(s, end, value)) /* at least one character and a blank */
		return false;
	*stack_len = s - line - 1;
	return true;
}

bool folded_split_diff(const char *line, size_t len, size_t *stack_len, struct folded_value *older,
		       struct folded_value *newer)
{
	return folded_split(line, len, stack_len, newer) &&
	       folded_split(line, *stack_len, stack_len, older);
}

/* Millionths are usual. */
static const struct folded_scale scales[] = {
	{ 1, "count" },
	{ 1000, "thousandths" },
	{ 1000000, "millionths" },
	{ 1000000000, "billionths" },
	{ 1000000000000, "trillionths" },
	{ 1000000000000000, "quadrillionths" },
};
enum { USUAL = 2, SCALES = sizeof scales / sizeof *scales };

const struct folded_scale *folded_scale_of(struct decimal smallest, struct decimal all)
{
	size_t i = decimal_times(smallest, 1) ? 0 : USUAL;
	while (i && i + 1 < SCALES && !decimal_times(smallest, scales[i].factor))
		i++;
	while (i && decimal_times(all, scales[i].factor) == INT64_MAX)
		i--;
	return &scales[i];
}
