/* Splits text, ranks suggestions by edit distance, and prints numbers with the fitting unit. */
#include "base/str.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* Longer words have no suggestions: users mistype options and functions. */
enum { NEAREST_MAX_WORD = 64, NEAREST_MAX_DISTANCE = 2 };

char **str_split(const char *s, char sep, size_t *n)
{
	size_t parts = 1, len = strlen(s);
	for (size_t i = 0; i < len; i++)
		parts += s[i] == sep;
	char **list = xmalloc((parts + 1) * sizeof *list + len + 1);
	char *text = memcpy(list + parts + 1, s, len + 1);
	for (size_t i = 0; i < parts; i++) {
		list[i] = text;
		text += strcspn(text, (char[]){ sep, '\0' });
		*text++ = '\0';
	}
	list[parts] = NULL;
	if (n)
		*n = parts;
	return list;
}

bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
	size_t len = strlen(s), tail = strlen(suffix);
	return len >= tail && memcmp(s + len - tail, suffix, tail) == 0;
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;
	return least < c ? least : c;
}

/* Optimal string alignment: insertions, deletions, replacements and swaps of neighbours. Retains
 * three rows of the table of prefixes: the current and the two previous ones. Both words are at
 * most NEAREST_MAX_WORD long. */
static unsigned edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned rows[3][NEAREST_MAX_WORD + 1];
	for (size_t j = 0; j <= nb; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= na; i++) {
		unsigned *row = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			row[j] =
				min3(up[j] + 1, row[j - 1] + 1, up[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    up2[j - 2] + 1 < row[j])
				row[j] = up2[j - 2] + 1;
		}
	}
	return rows[na % 3][nb];
}

const char *str_nearest(const char *word, const char *const *candidates, size_t n)
{
	size_t len = strlen(word);
	unsigned limit = len / 2 < NEAREST_MAX_DISTANCE ? len / 2 : NEAREST_MAX_DISTANCE;
	const char *best = NULL;
	if (len > NEAREST_MAX_WORD)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t other = strlen(candidates[i]);
		if (other > NEAREST_MAX_WORD)
			continue;
		unsigned distance = edit_distance(word, len, candidates[i], other);
		if (distance > limit || (best && distance == limit))
			continue;
		best = candidates[i];
		limit = distance;
	}
	return best;
}

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
