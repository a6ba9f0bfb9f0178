/* Removes versions and directories from binaries and source files. */
#include "base/buf.h"
#include "profile/identity.h"
#include "profile/identity_text.h"

/* --- versions --- */

static int is_separator(int c)
{
	return c == '-' || c == '_' || c == '.' || c == '@' || c == '+' || c == '~';
}

/* "1.2.3": the length of numbers with dots between them. */
static size_t numbers(const char *s, size_t len, bool *has_dot)
{
	size_t n = run(s, len, isdigit);
	*has_dot = false;
	while (n && n + 1 < len && s[n] == '.' && isdigit((unsigned char)s[n + 1])) {
		n += 1 + run(s + n + 1, len - n - 1, isdigit);
		*has_dot = true;
	}
	return n;
}

/* Whether a version may end before s. */
static bool is_end(const char *s, size_t len)
{
	return !len || is_separator((unsigned char)*s) || *s == '/';
}

/* "rc1", "beta2", "SNAPSHOT", "dirty", or a commit's hash. */
static size_t version_word(const char *s, size_t len)
{
	static const char *const words[] = { "rc",      "beta",  "alpha", "SNAPSHOT",
					     "RELEASE", "Final", "dirty", "pre" };
	enum { HASH_MIN = 7, HASH_MAX = 40 };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i]);
		if (!starts(s, len, words[i]))
			continue;
		n += run(s + n, len - n, isdigit);
		return is_end(s + n, len - n) ? n : 0;
	}
	size_t g = len && *s == 'g', n = run(s + g, len - g, isxdigit);
	bool has_digit = false;
	for (size_t i = 0; i < n; i++)
		has_digit |= isdigit((unsigned char)s[g + i]) != 0;
	return n >= HASH_MIN && n <= HASH_MAX && has_digit && is_end(s + g + n, len - g - n) ? g + n
											     : 0;
}

/* Returns the length of a version at s[at], with the separator before it: "-1.2.3", "@v1.2",
 * ".so" is none; 0 if none exists. A number right after a letter is a version only with a dot:
 * "python3.11", not "base64". */
static size_t version_at(const char *s, size_t len, size_t at)
{
	size_t sep = at < len && is_separator((unsigned char)s[at]);
	if (!at && !sep) {
		bool dot;
		size_t n = numbers(s, len, &dot);
		return n && is_end(s + n, len - n) ? n : 0;
	}
	if (!sep && !(isalpha((unsigned char)s[at - 1]) && isdigit((unsigned char)s[at])))
		return 0;
	size_t word = sep && at ? version_word(s + at + 1, len - at - 1) : 0;
	if (word)
		return 1 + word;
	size_t v = sep && at + 1 < len && s[at + 1] == 'v', from = at + sep + v;
	bool has_dot;
	size_t n = numbers(s + from, len - from, &has_dot);
	if (!n || !is_end(s + from + n, len - from - n))
		return 0;
	if ((!sep || (s[at] == '_' && !v)) && !has_dot)
		return 0;
	return sep + v + n;
}

/* Appends s without versions; returns whether there was one. */
static bool put_unversioned(struct buf *out, const char *s, size_t len)
{
	bool any = false;
	for (size_t i = 0; i < len;) {
		size_t n = version_at(s, len, i);
		any |= n > 0;
		if (!n)
			buf_addc(out, s[i++]);
		i += n;
	}
	return any;
}

/* --- binaries --- */

/* Files whose names have the pid of the process that wrote them. */
static bool put_of_process(struct buf *out, const char *s, size_t len)
{
	static const struct {
		const char *begin, *end, *as;
	} all[] = {
		{ "perf-", ".map", "perf.map" },
		{ "jitted-", ".so", "jitted.so" },
		{ "jna", ".tmp", "jna.tmp" },
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		size_t b = strlen(all[i].begin), e = strlen(all[i].end);
		if (len <= b + e || !starts(s, len, all[i].begin) || !ends(s, len, all[i].end))
			continue;
		for (size_t at = b; at < len - e; at++)
			if (!isdigit((unsigned char)s[at]) && s[at] != '-')
				return false;
		buf_adds(out, all[i].as);
		return true;
	}
	return false;
}

bool identity_binary(const char *s, size_t len, struct buf *out)
{
	static const char deleted[] = " (deleted)";
	size_t start = out->len;
	bool is_other = ends(s, len, deleted);
	if (is_other)
		len -= strlen(deleted);
	const char *slash = memrchr(s, '/', len);
	if (slash && slash + 1 < s + len) {
		is_other = true;
		len -= slash + 1 - s;
		s = slash + 1;
	}
	if (put_of_process(out, s, len))
		return true;
	bool has_version = put_unversioned(out, s, len);
	if (out->len == start) /* nothing but a version */
		buf_add(out, s, len);
	else
		is_other |= has_version;
	if (!is_other)
		out->len = start;
	return is_other;
}

/* --- source files --- */

/* ".3f2a1b9c" of "main.3f2a1b9c.js": bundlers write a hash of the content into the name. */
static struct cut bundle_hash(const char *s, size_t len)
{
	enum { LEAST = 8 };
	const char *dot = memrchr(s, '.', len);
	size_t end = dot ? (size_t)(dot - s) : 0, n = run_before(s, end, isxdigit);
	bool is_script = ends(s, len, ".js") || ends(s, len, ".mjs") || ends(s, len, ".cjs");
	if (!is_script || n < LEAST || n + 1 >= end || !strchr(".-_", s[end - n - 1]) ||
	    run(s + end - n, n, isdigit) == n || run(s + end - n, n, isalpha) == n)
		return no_cut;
	return (struct cut){ end - n - 1, n + 1 };
}

bool identity_is_bundle(const char *s, size_t len)
{
	const char *slash = memrchr(s, '/', len);
	size_t dir = slash ? (size_t)(slash - s) : 0;
	return bundle_hash(s + dir, len - dir).n;
}

bool identity_file(const char *s, size_t len, struct buf *out)
{
	const char *slash = memrchr(s, '/', len);
	size_t dir = slash ? (size_t)(slash - s) : 0, start = out->len, from = 0;
	bool any = false;
	while (from < dir) {
		const char *end = memchr(s + from, '/', dir - from);
		size_t n = end ? (size_t)(end - s) - from : dir - from;
		any |= put_unversioned(out, s + from, n);
		from += n;
		if (end) {
			buf_addc(out, '/');
			from++;
		}
	}
	struct cut hash = bundle_hash(s + dir, len - dir);
	if (!any && !hash.n) {
		out->len = start;
		return false;
	}
	hash.at = hash.n ? hash.at : len - dir;
	buf_add(out, s + dir, hash.at);
	buf_add(out, s + dir + hash.at + hash.n, len - dir - hash.at - hash.n);
	return true;
}
