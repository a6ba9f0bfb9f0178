#include "base/str.h"

#include <string.h>

/* Reads one character and moves on; a byte that is no UTF-8 becomes a value above all characters. */
static uint32_t glob_char(const char **s)
{
	size_t n = utf8_len(*s, strnlen(*s, 4));
	uint32_t c = n ? utf8_char(*s, n) : 0x110000u + (uint8_t) * *s;
	*s += n ? n : 1;
	return c;
}

/* The same in a pattern, where \x is x. */
static uint32_t glob_literal(const char **p)
{
	if (**p == '\\' && (*p)[1])
		++*p;
	return glob_char(p);
}

/* *p is behind a [. Moves it behind the ] and says whether c is in the class; -1 when there is no ]. */
static int glob_class(const char **p, uint32_t c)
{
	const char *q = *p;
	bool negate = *q == '!' || *q == '^', found = false;
	q += negate;
	for (bool first = true; *q != ']' || first; first = false) {
		if (!*q)
			return -1;
		uint32_t low = glob_literal(&q), high = low;
		if (q[0] == '-' && q[1] && q[1] != ']') {
			q++;
			high = glob_literal(&q);
		}
		found |= low <= c && c <= high;
	}
	*p = q + 1;
	return found != negate;
}

/* Matches one character of s against the pattern, which is not at a *; moves both on. */
static bool glob_one(const char **p, const char **s)
{
	if (!**p)
		return false;
	uint32_t c = glob_char(s);
	if (**p == '?') {
		++*p;
		return true;
	}
	if (**p == '[') {
		const char *class = *p + 1;
		int in = glob_class(&class, c);
		if (in >= 0) {
			*p = class;
			return in;
		}
	}
	return glob_literal(p) == c;
}

/* When a match fails, only the last * need take one more character: what an earlier one could take, it can as well. */
bool glob_match(const char *pattern, const char *s)
{
	const char *star = NULL, *retry = NULL;
	while (*s) {
		if (*pattern == '*') {
			star = ++pattern;
			retry = s;
		} else if (glob_one(&pattern, &s)) {
			continue;
		} else if (star) {
			glob_char(&retry);
			pattern = star;
			s = retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}
