/* Parses a time from a file name: RFC 3339, compact form or Unix time. */
#include "cmd/files/load.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#define SECOND_NS INT64_C(1000000000)

/* Reads n digits. Returns the position after them, or NULL if they are not there. */
static const char *take_digits(const char *s, int n, int *out)
{
	*out = 0;
	for (int i = 0; i < n; i++) {
		if (!s || !isdigit((unsigned char)s[i]))
			return NULL;
		*out = *out * 10 + (s[i] - '0');
	}
	return s + n;
}

/* Skips one of these characters, if it is there. */
static const char *skip(const char *s, const char *any)
{
	return s && *s && strchr(any, *s) ? s + 1 : s;
}

/* Reads the digits after a point, unless a letter other than Z follows them: 10:15:00.25Z. */
static int64_t take_fraction(const char *s)
{
	int64_t ns = 0, unit = SECOND_NS / 10;
	const char *end;

	if (*s != '.' || !isdigit((unsigned char)s[1]))
		return 0;
	for (end = s + 1; isdigit((unsigned char)*end); end++, unit /= 10)
		ns += (*end - '0') * unit;
	return isalpha((unsigned char)*end) && *end != 'Z' ? 0 : ns;
}

static bool is_date(const struct tm *t)
{
	return t->tm_year >= 70 && t->tm_year < 200 && t->tm_mon >= 0 && t->tm_mon < 12 &&
	       t->tm_mday >= 1 && t->tm_mday <= 31 && t->tm_hour < 24 && t->tm_min < 60 &&
	       t->tm_sec <= 60;
}

static bool date_at(const char *s, int64_t *out_ns)
{
	struct tm t = { 0 };

	s = take_digits(s, 4, &t.tm_year);
	s = take_digits(skip(s, "-_."), 2, &t.tm_mon);
	s = take_digits(skip(s, "-_."), 2, &t.tm_mday);
	s = take_digits(skip(s, "T_- ."), 2, &t.tm_hour);
	s = take_digits(skip(s, ":-_."), 2, &t.tm_min);
	s = take_digits(skip(s, ":-_."), 2, &t.tm_sec);
	t.tm_year -= 1900;
	t.tm_mon--;
	if (!s || isdigit((unsigned char)*s) || !is_date(&t))
		return false;
	*out_ns = (int64_t)timegm(&t) * SECOND_NS + take_fraction(s);
	return true;
}

static bool unix_at(const char *s, size_t n, int64_t *out_ns)
{
	static const struct {
		size_t digits;
		int64_t unit_ns;
	} forms[] = { { 10, SECOND_NS }, { 13, 1000000 }, { 16, 1000 }, { 19, 1 } };
	int64_t v = 0;

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		if (forms[i].digits != n || *s < '1' || *s > '8')
			continue;
		for (size_t k = 0; k < n; k++)
			v = v * 10 + (s[k] - '0');
		*out_ns = v * forms[i].unit_ns;
		return true;
	}
	return false;
}

bool name_time(const char *path, int64_t *out_ns)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n;

	for (const char *s = name; *s; s++)
		if (isdigit((unsigned char)*s) && (s == name || !isdigit((unsigned char)s[-1])) &&
		    date_at(s, out_ns))
			return true;
	for (const char *s = name; *s; s += n ? n : 1) {
		n = strspn(s, "0123456789");
		if (n && unix_at(s, n, out_ns))
			return true;
	}
	return false;
}
