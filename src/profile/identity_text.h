/* profile/identity_text.h: parts of texts that are not NUL-terminated. Used only by identity*.c. */
#ifndef CRESSET_PROFILE_IDENTITY_TEXT_H
#define CRESSET_PROFILE_IDENTITY_TEXT_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A part to remove: n bytes at `at`; n = 0: none. */
struct cut {
	size_t at, n;
};
static const struct cut no_cut;

/* The length of the run of such characters at the start. */
static inline size_t run(const char *s, size_t len, int (*is)(int c))
{
	size_t n = 0;
	while (n < len && is((unsigned char)s[n]))
		n++;
	return n;
}

/* The length of the run that ends at s + len. */
static inline size_t run_before(const char *s, size_t len, int (*is)(int c))
{
	size_t n = 0;
	while (n < len && is((unsigned char)s[len - n - 1]))
		n++;
	return n;
}

static inline bool starts(const char *s, size_t len, const char *with)
{
	size_t n = strlen(with);
	return len >= n && memcmp(s, with, n) == 0;
}

static inline bool ends(const char *s, size_t len, const char *with)
{
	size_t n = strlen(with);
	return len >= n && memcmp(s + len - n, with, n) == 0;
}

/* Return the length of the first of n texts that s starts or ends with; 0: none. */
static inline size_t starts_any(const char *s, size_t len, const char *const *with, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (starts(s, len, with[i]))
			return strlen(with[i]);
	return 0;
}

static inline size_t ends_any(const char *s, size_t len, const char *const *with, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ends(s, len, with[i]))
			return strlen(with[i]);
	return 0;
}

#endif
