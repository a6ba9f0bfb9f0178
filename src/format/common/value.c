/* Formats values by unit: times, bytes and counts. */
#include "format/common/value.h"

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <string.h>

static const struct {
	const char *name, *base;
	int64_t scale;
} value_units[] = {
	{ "nanoseconds", "ns", 1 },
	{ "ns", "ns", 1 },
	{ "microseconds", "ns", 1000 },
	{ "us", "ns", 1000 },
	{ "milliseconds", "ns", 1000000 },
	{ "ms", "ns", 1000000 },
	{ "seconds", "ns", 1000000000 },
	{ "s", "ns", 1000000000 },
	{ "bytes", "B", 1 },
	{ "B", "B", 1 },
	{ "kilobytes", "B", 1024 },
	{ "megabytes", "B", 1024 * 1024 },
};

struct value_unit value_unit(const char *unit)
{
	for (size_t i = 0; i < sizeof value_units / sizeof *value_units; i++)
		if (strcmp(unit, value_units[i].name) == 0)
			return (struct value_unit){ value_units[i].base, value_units[i].scale };
	return (struct value_unit){ unit, 1 };
}

/* Returns |value| in base units, at most UINT64_MAX. */
static uint64_t value_size(int64_t value, int64_t scale)
{
	uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value, scaled;
	return __builtin_mul_overflow(size, (uint64_t)scale, &scaled) ? UINT64_MAX : scaled;
}

/* Returns false for a plain count. */
static bool value_put(struct buf *b, int64_t value, struct value_unit u)
{
	uint64_t size = value_size(value, u.scale);
	bool is_time = strcmp(u.base, "ns") == 0, is_bytes = strcmp(u.base, "B") == 0;
	if (value < 0)
		buf_addc(b, '-');
	if (is_time)
		fmt_duration(b, size);
	else if (is_bytes)
		fmt_bytes(b, size);
	else
		fmt_count(b, size);
	return is_time || is_bytes;
}

void value_fmt_bare(struct buf *b, int64_t value, const char *unit)
{
	value_put(b, value, value_unit(unit));
}

void value_fmt(struct buf *b, int64_t value, const char *unit)
{
	if (!value_put(b, value, value_unit(unit)) && *unit)
		buf_addf(b, " %s", unit);
}

double value_percent(double part, double whole)
{
	return whole != 0 ? 100 * part / whole : 0;
}

int64_t value_clamp(double v)
{
	const double limit = 9223372036854775808.0; /* 2^63 */
	return v >= limit ? INT64_MAX : v <= -limit ? INT64_MIN : (int64_t)v;
}
