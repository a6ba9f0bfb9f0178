#include "symbol/demangle.h"

#include <ctype.h>
#include <string.h>

/* The library's D parser (dlang_demangle; grammar: dlang.org/spec/abi.html, "Name Mangling") has no callback, no limit of depth,
 * and goes back where the grammar is ambiguous:
 *
 * - what follows an identifier is read as a function's parameters, and if that fails once more as something else;
 * - a symbol in template arguments that starts with a number of n digits is tried n + 1 times;
 * - a type Q… is read again where it stood first; with q of them the text grows at most by 3^(q/3), about 2^(q/2).
 *
 * Each of these at most doubles (the second: multiplies) the work, so here they are counted, generously, wherever they might
 * stand. Of the 16 571 names of the D libraries of GCC 12, 98 % are below the limit. */
enum {
	D_MAX_NAME = 1 << 10,
	D_MAX_DOUBLINGS = 8,
};

static bool starts_parameters(char c)
{
	return c && strchr("MFUVWRY", c);
}

/* The number at p, or D_MAX_NAME where it is larger; *end is behind its digits. */
static size_t d_number(const char *p, const char **end)
{
	size_t n = 0;
	for (; isdigit((unsigned char)*p); p++)
		if (n < D_MAX_NAME)
			n = 10 * n + (*p - '0');
	*end = p;
	return n < D_MAX_NAME ? n : D_MAX_NAME;
}

/* The distance of the back reference at p ("Q", letters in base 26 of which the last is small), 0 when it is none. */
static size_t d_backref(const char *p, const char **end)
{
	size_t n = 0;
	for (p++; isupper((unsigned char)*p); p++)
		if (n < D_MAX_NAME)
			n = 26 * n + (*p - 'A');
	*end = p + 1;
	return islower((unsigned char)*p) ? 26 * n + (*p - 'a') : 0;
}

/* Where an identifier that starts at p may end: a length and as many characters, a reference back to one, or the Z of a
 * template's arguments. NULL: none starts here. */
static const char *d_identifier_end(const char *name, size_t len, const char *p)
{
	const char *end;
	if (*p == 'Z')
		return p + 1;
	if (isdigit((unsigned char)*p)) {
		size_t n = d_number(p, &end);
		return n <= (size_t)(name + len - end) ? end + n : NULL;
	}
	if (*p == 'Q') {
		size_t distance = d_backref(p, &end);
		bool found = distance && distance <= (size_t)(p - name);
		return found && isdigit((unsigned char)p[-(ptrdiff_t)distance]) ? end : NULL;
	}
	return NULL;
}

static unsigned d_doublings(const char *name, size_t len)
{
	bool ambiguous[D_MAX_NAME + 1] = { false };
	unsigned symbols = 0, types = 0, ends = 0;
	for (const char *p = name; p < name + len; p++) {
		const char *end = d_identifier_end(name, len, p);
		if (end && starts_parameters(*end))
			ambiguous[end - name] = true;
		if (*p == 'Q' && !end)
			types++;
		if (*p == 'S' && isdigit((unsigned char)p[1]))
			symbols += isdigit((unsigned char)p[2]) ? 2 : 1;
	}
	for (size_t i = 0; i < len; i++)
		ends += ambiguous[i];
	return ends + symbols + (types + 1) / 2;
}

bool demangle_d(const char *name, size_t len, struct demangled *d)
{
	if (len > D_MAX_NAME || d_doublings(name, len) > D_MAX_DOUBLINGS)
		return false;
	char *text = dlang_demangle(name, DEMANGLE_FLAGS);
	bool ok = text && strlen(text) <= DEMANGLE_MAX_RESULT;
	if (ok)
		buf_adds(&d->text, text);
	free(text);
	return ok;
}
