/* Prints numbers with three significant digits and the fitting unit. */
#include "base/fmt.h"

#include "base/buf.h"

#include <stdio.h>

struct fmt_unit {
	double scale;
	const char *name;
};

/* Three significant digits, in the largest unit that gives at least 1 after rounding: 999.6 kB is
 * 1.00 MB. The first unit has no decimals. */
static void fmt_scaled(struct buf *b, uint64_t v, const struct fmt_unit *units, size_t n)
{
	size_t i = 0;
	while (i + 1 < n && v >= 999.5 * units[i].scale)
		i++;
	double x = v / units[i].scale;
	int decimals = i == 0 || x >= 99.95 ? 0 : x >= 9.995 ? 1 : 2;
	buf_addf(b, "%.*f %s", decimals, x, units[i].name);
}

void fmt_count(struct buf *b, uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			buf_addc(b, ',');
		buf_addc(b, digits[i]);
	}
}

void fmt_bytes(struct buf *b, uint64_t bytes)
{
	static const struct fmt_unit units[] = {
		{ 1, "B" },     { 1e3, "kB" },  { 1e6, "MB" },  { 1e9, "GB" },
		{ 1e12, "TB" }, { 1e15, "PB" }, { 1e18, "EB" },
	};
	fmt_scaled(b, bytes, units, sizeof units / sizeof *units);
}

/* Returns v in units of `unit`, rounded to the nearest. */
static uint64_t fmt_round(uint64_t v, uint64_t unit)
{
	return v / unit + (v % unit >= unit / 2);
}

static void fmt_pair(struct buf *b, uint64_t v, uint64_t per, const char *big, const char *small)
{
	buf_addf(b, "%llu %s %llu %s", (unsigned long long)(v / per), big,
		 (unsigned long long)(v % per), small);
}

void fmt_duration(struct buf *b, uint64_t ns)
{
	static const struct fmt_unit units[] = {
		{ 1, "ns" }, { 1e3, "\xc2\xb5s" }, { 1e6, "ms" }, { 1e9, "s" }
	};
	const uint64_t second = 1000000000, minute = 60 * second, hour = 60 * minute;
	if (ns < 59950 * (second / 1000))
		fmt_scaled(b, ns, units, sizeof units / sizeof *units);
	else if (fmt_round(ns, second) < 3600)
		fmt_pair(b, fmt_round(ns, second), 60, "min", "s");
	else if (fmt_round(ns, minute) < 24 * 60)
		fmt_pair(b, fmt_round(ns, minute), 60, "h", "min");
	else
		fmt_pair(b, fmt_round(ns, hour), 24, "d", "h");
}
