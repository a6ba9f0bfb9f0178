#include "format/refused/refused.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/json/json_read.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>

enum { REFUSED_INFO_BYTES = 1 << 20 }; /* of uftrace's file info */

static bool starts(const char *s, size_t len, const char *text)
{
	return len >= strlen(text) && memcmp(s, text, strlen(text)) == 0;
}

/* Whether s begins like the pattern: 9 stands for a digit, A for a capital, a for a small letter, _
 * for a digit or a blank; others for themselves. */
static bool is_like(const char *s, size_t len, const char *pattern)
{
	size_t i = 0;
	for (; pattern[i] && i < len; i++) {
		bool digit = s[i] >= '0' && s[i] <= '9';
		bool good = pattern[i] == '9'   ? digit
			    : pattern[i] == '_' ? digit || s[i] == ' '
			    : pattern[i] == 'A' ? s[i] >= 'A' && s[i] <= 'Z'
			    : pattern[i] == 'a' ? s[i] >= 'a' && s[i] <= 'z'
						: s[i] == pattern[i];
		if (!good)
			return false;
	}
	return !pattern[i];
}

/* --- perf's JSON, V8's log, pstats, Go's dumps ------------------------------------------------ */

static bool perf_json_sign(void *ctx, const struct json_value *key, const struct json_value *value,
			   int depth)
{
	bool *found = ctx;
	(void)value;
	*found |= depth == 1 && json_is(key, "linux-perf-json-version");
	return !*found;
}

static bool is_perf_json(const char *head, size_t len)
{
	bool found = false;
	return json_peek_keys(head, len, perf_json_sign, &found) && found;
}

static bool is_v8_log(const char *head, size_t len)
{
	static const char creation[] = "\ncode-creation,";
	return starts(head, len, "v8-version,") || (starts(head, len, "shared-library,") &&
						    memmem(head, len, creation, strlen(creation)));
}

/* A dictionary of Python's marshal whose first key is a tuple: of three, (file, line, function), or
 * of one, the mark of profiling.sampling. Bit 7 of a type says that it is referred to. */
static bool is_pstats(const char *head, size_t len)
{
	static const char texts[] = "zZuaAstr";
	const unsigned char *b = (const unsigned char *)head;
	if (len < 8 || (b[0] & 0x7f) != '{')
		return false;
	bool is_small = (b[1] & 0x7f) == ')', is_large = (b[1] & 0x7f) == '(';
	size_t text = is_small ? 3 : 6;
	bool has_size = b[2] == 3 || b[2] == 1;
	return (is_small || is_large) && has_size && (is_small || (b[3] | b[4] | b[5]) == 0) &&
	       memchr(texts, b[text] & 0x7f, strlen(texts));
}

static bool is_goroutine_dump(const char *head, size_t len)
{
	const char *line = len ? memchr(head, '\n', len) : NULL;
	return starts(head, len, "goroutine ") && line && line - head > 2 && line[-1] == ':' &&
	       line[-2] == ']';
}

/* --- logs ------------------------------------------------------------------------------------- */

/* "[info]" is also one, in any case; without brackets only capitals are. */
static bool begins_with_level(const char *s, size_t len)
{
	static const char *const levels[] = { "TRACE",   "DEBUG", "INFO",  "NOTICE",  "WARN",
					      "WARNING", "ERROR", "FATAL", "CRITICAL" };
	size_t bracket = len && *s == '[';
	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
		size_t n = strlen(levels[i]);
		if (len <= bracket + n ||
		    !memchr(bracket ? "]" : " :\t", s[bracket + n], bracket ? 1 : 3))
			continue;
		if (bracket ? strncasecmp(s + bracket, levels[i], n) == 0
			    : starts(s, len, levels[i]))
			return true;
	}
	return false;
}

static size_t key_len(const char *s, size_t len)
{
	size_t n = 0;
	while (n < len && (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '.'))
		n++;
	return n;
}

/* "level=info msg=\"a;b\" n=3": two keys, one of them at the start. */
static bool has_keys(const char *s, size_t len)
{
	size_t first = key_len(s, len);
	if (!first || first == len || s[first] != '=')
		return false;
	for (size_t i = first; i + 1 < len; i++) {
		size_t n = s[i] == ' ' ? key_len(s + i + 1, len - i - 1) : 0;
		if (n && i + 1 + n < len && s[i + 1 + n] == '=')
			return true;
	}
	return false;
}

/* An object, and a number after it. */
static bool is_object_line(const char *s, size_t len)
{
	size_t n = len;
	while (n && s[n - 1] >= '0' && s[n - 1] <= '9')
		n--;
	return starts(s, len, "{\"") && n < len && n > 2 && s[n - 1] == ' ' && s[n - 2] == '}';
}

static size_t digits(const char *s, size_t len)
{
	size_t n = 0;
	while (n < len && s[n] >= '0' && s[n] <= '9')
		n++;
	return n;
}

/* "[   12.345678] " of the kernel: seconds of any number of digits, padded or not. */
static bool begins_with_boot_time(const char *s, size_t len)
{
	enum { FRACTION_MIN = 3, FRACTION_MAX = 9 };
	size_t at = 1;
	if (!len || *s != '[')
		return false;
	while (at < len && s[at] == ' ')
		at++;
	size_t seconds = digits(s + at, len - at);
	at += seconds;
	if (!seconds || at == len || s[at++] != '.')
		return false;
	size_t fraction = digits(s + at, len - at);
	at += fraction;
	return fraction >= FRACTION_MIN && fraction <= FRACTION_MAX &&
	       starts(s + at, len - at, "] ");
}

static size_t word_len(const char *s, size_t len)
{
	size_t n = 0;
	while (n < len && s[n] != ' ' && s[n] != ';')
		n++;
	return n;
}

/* "Nov 12 host program[12]: ", without a time of day. */
static bool begins_with_date(const char *s, size_t len)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	enum { MONTH = 3, DATE = sizeof "Nov 12 " - 1 };
	bool is_month = false;
	for (size_t i = 0; len > DATE && i < sizeof months - 1; i += MONTH)
		is_month |= memcmp(s, months + i, MONTH) == 0;
	if (!is_month || !is_like(s + MONTH, len - MONTH, " _9 "))
		return false;
	size_t host = word_len(s + DATE, len - DATE), at = DATE + host + 1;
	if (!host || at >= len || s[at - 1] != ' ')
		return false;
	size_t program = word_len(s + at, len - at);
	return program > 1 && s[at + program - 1] == ':' && at + program < len &&
	       s[at + program] == ' ';
}

static bool is_log_line(const char *s, size_t len)
{
	static const char *const times[] = {
		"9999-99-99 99:99", "9999-99-99T99:99",
		"9999/99/99 99:99", "[9999-99-99",
		"[9999/99/99",      "99:99:99",
		"[99:99:99",        "Aaa _9 99:99:99",
		"A9999 99:99:99",   "[99/Aaa/9999",
		"9999999999.9",     "9999999999 ",
		"9999999999999 ",   "time=",
	};
	for (size_t i = 0; i < sizeof times / sizeof *times; i++)
		if (is_like(s, len, times[i]))
			return true;
	static const char access[] = " - - [";
	return begins_with_boot_time(s, len) || begins_with_date(s, len) ||
	       begins_with_level(s, len) || has_keys(s, len) || is_object_line(s, len) ||
	       memmem(s, len, access, strlen(access));
}

/* More than half of the lines begin with a time or a level. */
static bool is_log(const char *head, size_t len)
{
	struct cur c = cur_of(head, len);
	size_t logs = 0, others = 0, line_len;
	const char *line;
	if (!len || memchr(head, '\0', len))
		return false;
	while (cur_line(&c, &line, &line_len)) {
		if (line_len == 0 || *line == '#')
			continue;
		if (is_log_line(line, line_len))
			logs++;
		else
			others++;
	}
	return logs > others;
}

static const struct refused refused[] = {
	{ "the JSON of perf data convert",
	  "perf.data itself can be read, and the text of perf script; the JSON has no event names "
	  "and periods",
	  is_perf_json },
	{ "a log of V8 (node --prof)", "node --cpu-prof writes a .cpuprofile, which can be read",
	  is_v8_log },
	{ "statistics of Python's profilers (pstats)",
	  "they have no stacks; python -m profiling.sampling --binary or --collapsed has",
	  is_pstats },
	{ "a dump of goroutines (debug=2)",
	  "the profile itself can be read, and its text with debug=1", is_goroutine_dump },
	{ "a log: its lines begin with times or levels",
	  "if it is folded stacks, --from folded reads it", is_log },
};

const struct refused *refused_find(const char *head, size_t len)
{
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (refused[i].detect(head, len))
			return &refused[i];
	return NULL;
}

bool refused_is_uftrace(const char *directory)
{
	static const char magic[] = "Ftrace!";
	struct buf path = { 0 }, head = { 0 };
	buf_addf(&path, "%s/info", directory);
	bool is = fs_read_at(AT_FDCWD, buf_cstr(&path), REFUSED_INFO_BYTES, &head, NULL) == 0 &&
		  head.len > strlen(magic) && memcmp(head.data, magic, strlen(magic)) == 0;
	buf_done(&path);
	buf_done(&head);
	return is;
}
