/* Parses absolute and relative times. */
#include "query/time.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/parse.h"
#include "profile/sum.h"
#include "query/query.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND_NS INT64_C(1000000000)

struct parser {
	const char *text, *at, *what;
	struct err *err;
};

static int time_error(struct parser *p, const char *where, const char *what)
{
	return column_error(p->err, p->what, p->text, where, what);
}

static bool skip(struct parser *p, char c)
{
	if (*p->at != c)
		return false;
	p->at++;
	return true;
}

/* --- now-15m --- */

/* Parses 500ms or 1h30m: the sum of its parts. */
static int parse_pieces(struct parser *p, const char *text, int64_t *out_ns)
{
	*out_ns = 0;
	do {
		size_t digits = strspn(text, "0123456789.");
		size_t len = digits + strcspn(text + digits, "0123456789.");
		char *piece = xstrndup(text, len);
		uint64_t ns = 0;
		int rc = parse_duration(piece, SECOND_NS, &ns);
		free(piece);
		if (rc < 0 || ns > INT64_MAX)
			return time_error(p, text, "this is not a duration, like 500ms, 15m or 7d");
		*out_ns = sum_add(*out_ns, ns);
		text += len;
	} while (*text);
	return 0;
}

static int parse_offset(struct parser *p, int64_t *ns)
{
	int64_t offset;
	char sign = *p->at;
	if (!sign)
		return 0;
	if (sign != '-' && sign != '+')
		return time_error(p, p->at, "- or + and a duration are expected here");
	if (parse_pieces(p, p->at + 1, &offset) < 0)
		return -EINVAL;
	*ns = sign == '-' ? sum_sub(*ns, offset) : sum_add(*ns, offset);
	return 0;
}

static bool take_word(struct parser *p, const char *word)
{
	size_t len = strlen(word);
	if (strncmp(p->at, word, len) != 0 || isalnum((unsigned char)p->at[len]))
		return false;
	p->at += len;
	return true;
}

/* --- numbers --- */

/* Parses a fraction after the point, as ns; digits beyond the ninth are dropped. */
static int64_t parse_fraction(struct parser *p)
{
	int64_t ns = 0, each = SECOND_NS / 10;
	for (; isdigit((unsigned char)*p->at); p->at++, each /= 10)
		ns += (*p->at - '0') * each;
	return ns;
}

/* Parses exactly n digits; returns -1 if they are not there. */
static int parse_digits(struct parser *p, int n)
{
	int v = 0;
	for (int i = 0; i < n; i++) {
		if (!isdigit((unsigned char)p->at[i]))
			return -1;
		v = v * 10 + p->at[i] - '0';
	}
	p->at += n;
	return v;
}

/* Seconds until the year 5138 have at most 11 digits. */
static int parse_unix(struct parser *p, int64_t *out_ns)
{
	enum { SECONDS_MAX = 11, MS_MAX = 14, US_MAX = 17, NS_MAX = 19 };
	size_t n = strspn(p->at, "0123456789");
	int64_t each = n <= SECONDS_MAX ? SECOND_NS
		       : n <= MS_MAX    ? 1000000
		       : n <= US_MAX    ? 1000
					: 1;
	char *digits = xstrndup(p->at, n);
	uint64_t v = 0;
	int rc = n <= NS_MAX ? parse_u64(digits, &v) : -ERANGE;
	free(digits);
	if (rc < 0 || v > INT64_MAX)
		return time_error(p, p->at, "this number is too large for a time");
	p->at += n;
	*out_ns = sum_mul(v, each);
	if (each == SECOND_NS && skip(p, '.'))
		*out_ns = sum_add(*out_ns, parse_fraction(p));
	return *p->at ? time_error(p, p->at, "unexpected text after the number") : 0;
}

/* --- RFC 3339 --- */

static int parse_date(struct parser *p, struct tm *tm)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	const char *start = p->at;
	int year = parse_digits(p, 4), month = -1, day = -1;
	if (skip(p, '-'))
		month = parse_digits(p, 2);
	const char *at_day = p->at;
	if (month >= 0 && skip(p, '-'))
		day = parse_digits(p, 2);
	if (year < 0 || month < 0 || day < 0)
		return time_error(p, start, "a date is written 2026-11-21");
	if (month < 1 || month > 12)
		return time_error(p, start + 5, "no such month");
	bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	if (day < 1 || day > days[month - 1] + (month == 2 && is_leap))
		return time_error(p, at_day + 1, "no such day");
	tm->tm_year = year - 1900;
	tm->tm_mon = month - 1;
	tm->tm_mday = day;
	return 0;
}

/* Parses HH:MM[:SS[.frac]]; 60 is a leap second. */
static int parse_clock(struct parser *p, struct tm *tm, int64_t *frac_ns)
{
	const char *start = p->at;
	int hour = parse_digits(p, 2), minute = skip(p, ':') ? parse_digits(p, 2) : -1;
	int second = minute >= 0 && skip(p, ':') ? parse_digits(p, 2) : 0;
	if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
		return time_error(p, start, "a time of day is written 09:30 or 09:30:15.250");
	tm->tm_hour = hour;
	tm->tm_min = minute;
	tm->tm_sec = second;
	if (skip(p, '.'))
		*frac_ns = parse_fraction(p);
	return 0;
}

/* Parses Z, +01:00, or nothing. */
static int parse_zone(struct parser *p, int64_t *east_s)
{
	const char *start = p->at;
	if (!*p->at || skip(p, 'Z') || skip(p, 'z'))
		return 0;
	int sign = *p->at == '-' ? -1 : 1;
	if (!skip(p, '+') && !skip(p, '-'))
		return time_error(p, start, "a zone is written Z or +01:00");
	int hours = parse_digits(p, 2), minutes = skip(p, ':') ? parse_digits(p, 2) : -1;
	if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59)
		return time_error(p, start, "a zone is written Z or +01:00");
	*east_s = sign * (hours * 3600 + minutes * 60);
	return 0;
}

static int parse_rfc3339(struct parser *p, int64_t *out_ns)
{
	struct tm tm = { 0 };
	int64_t frac_ns = 0, east_s = 0;
	if (parse_date(p, &tm) < 0)
		return -EINVAL;
	if (skip(p, 'T') || skip(p, 't') || skip(p, ' ')) {
		if (parse_clock(p, &tm, &frac_ns) < 0 || parse_zone(p, &east_s) < 0)
			return -EINVAL;
	}
	if (*p->at)
		return time_error(p, p->at, "nothing is expected here");
	*out_ns = sum_add(sum_mul(timegm(&tm) - east_s, SECOND_NS), frac_ns);
	return 0;
}

/* --- */

enum { NOW, START, END, WORDS };

static int64_t word_ns(const struct time_words *words, int word)
{
	int64_t start_ns = words->start_ns, end_ns = words->end_ns;
	if (word == NOW)
		return words->now_ns;
	if (words->range)
		words->range(words->ctx, &start_ns, &end_ns);
	return word == START ? start_ns : end_ns;
}

static int parse_any(struct parser *p, const struct time_words *words, int64_t *ns)
{
	static const char *const names[WORDS] = { "now", "start", "end" };
	for (int i = 0; i < WORDS; i++) {
		if (!take_word(p, names[i]))
			continue;
		*ns = word_ns(words, i);
		return parse_offset(p, ns);
	}
	size_t digits = strspn(p->at, "0123456789");
	if (!digits)
		return time_error(
			p, p->at,
			"a time is 2026-11-21T09:30:00Z, Unix time, or now-15m, start+10s, "
			"end-1h");
	return p->at[digits] == '-' ? parse_rfc3339(p, ns) : parse_unix(p, ns);
}

int time_parse(const char *text, const struct time_words *words, const char *what, int64_t *out_ns,
	       struct err *err)
{
	struct parser p = { .text = text, .at = text, .what = what, .err = err };
	int64_t ns = 0;
	int rc = parse_any(&p, words, &ns);
	if (rc == 0)
		*out_ns = ns;
	return rc;
}

void time_text(struct buf *b, int64_t ns)
{
	int64_t frac = ns % SECOND_NS, seconds = ns / SECOND_NS;
	if (frac < 0) {
		frac += SECOND_NS;
		seconds--;
	}
	time_t t = seconds;
	struct tm tm;
	gmtime_r(&t, &tm);
	buf_addf(b, "%04d-%02d-%02dT%02d:%02d:%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
		 tm.tm_hour, tm.tm_min, tm.tm_sec);
	if (frac) {
		buf_addf(b, ".%09d", (int)frac);
		while (b->data[b->len - 1] == '0')
			b->len--;
	}
	buf_addc(b, 'Z');
}
