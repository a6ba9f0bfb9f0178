// tier: test
/* Times as users type them, compared with date(1), and the positions in errors. */
#include "unit.h"

#include "base/buf.h"
#include "base/err.h"
#include "query/time.h"

#include <errno.h>
#include <string.h>

#define S  (1000000000ll)
#define MS (1000000ll)

static const struct time_words words = {
	.now_ns = 1763717400 * S, /* 2026 is not now: whatever the clock */
	.start_ns = 1000 * S,
	.end_ns = 2000 * S,
};

START_TEST(known_times)
{
	static const struct {
		const char *text;
		int64_t ns;
	} cases[] = {
		{ "2025-11-21T09:30:00Z", 1763717400 * S },
		{ "2025-11-21t09:30:00z", 1763717400 * S },
		{ "2025-11-21T10:30:00+01:00", 1763717400 * S },
		{ "2025-11-21T04:00:00-05:30", 1763717400 * S },
		{ "2025-11-21 09:30", 1763717400 * S },
		{ "2025-11-21T09:30:00.25Z", 1763717400 * S + 250 * MS },
		{ "2025-11-21T09:30:00.1234567899Z", 1763717400 * S + 123456789 },
		{ "2025-11-21", 1763683200 * S },
		{ "2024-02-29", 1709164800 * S },
		{ "1969-12-31T23:59:59.5Z", -S / 2 },
		{ "1763717400", 1763717400 * S },
		{ "1763717400.5", 1763717400 * S + S / 2 },
		{ "1763717400123", 1763717400 * S + 123 * MS },
		{ "1763717400123456", 1763717400 * S + 123456000 },
		{ "1763717400123456789", 1763717400 * S + 123456789 },
		{ "0", 0 },
		{ "now", 1763717400 * S },
		{ "now-15m", 1763716500 * S },
		{ "now+1h30m", 1763722800 * S },
		{ "start", 1000 * S },
		{ "start+10s", 1010 * S },
		{ "start+1.5s", 1001 * S + 500 * MS },
		{ "end-500ms", 1999 * S + 500 * MS },
		{ "end-1", 1999 * S }, /* a bare number is seconds, as everywhere */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err err = { 0 };
		int64_t ns = -1;
		ck_assert_msg(time_parse(cases[i].text, &words, "--from", &ns, &err) == 0, "%s: %s",
			      cases[i].text, err.text);
		ck_assert_msg(ns == cases[i].ns, "%s is %lld", cases[i].text, (long long)ns);
	}
}
END_TEST

START_TEST(errors_point_at_the_column)
{
	static const struct {
		const char *text;
		int column;
	} cases[] = {
		{ "", 1 },
		{ "yesterday", 1 },
		{ "nowish", 1 },
		{ "now*2", 4 },
		{ "now-", 5 },
		{ "now-15x", 5 },
		{ "now-1h5parsecs", 5 + 2 },
		{ "2025-13-01", 6 },
		{ "2025-11-31", 9 },
		{ "2023-02-29", 9 },
		{ "1900-02-29", 9 },
		{ "2025-11", 1 },
		{ "2025-11-21T9:30", 12 },
		{ "2025-11-21T24:30", 12 },
		{ "2025-11-21T09:30:61Z", 12 },
		{ "2025-11-21T09:30:00X", 20 },
		{ "2025-11-21T09:30:00+1", 20 },
		{ "2025-11-21T09:30:00Z ", 21 },
		{ "1763717400x", 11 },
		{ "99999999999999999999", 1 },
		{ " now", 1 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err err = { 0 };
		char want[64];
		int64_t ns = 42;
		snprintf(want, sizeof want, "--from, column %d: ", cases[i].column);
		ck_assert_int_eq(time_parse(cases[i].text, &words, "--from", &ns, &err), -EINVAL);
		ck_assert_msg(strncmp(err.text, want, strlen(want)) == 0, "'%s': %s", cases[i].text,
			      err.text);
		ck_assert_int_eq(ns, 42);
	}
}
END_TEST

START_TEST(written_times_read_back)
{
	static const int64_t times[] = { 0,
					 1,
					 -1,
					 S - 1,
					 1763717400 * S,
					 1763717400 * S + 250 * MS,
					 -6213559680 * S,
					 4102444800 * S + 7 };
	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		struct buf b = { 0 };
		int64_t ns = 42;
		time_text(&b, times[i]);
		ck_assert_int_eq(time_parse(buf_cstr(&b), &words, "", &ns, NULL), 0);
		ck_assert_msg(ns == times[i], "%s", buf_cstr(&b));
		buf_done(&b);
	}
	struct buf b = { 0 };
	time_text(&b, 1763717400 * S + 250 * MS);
	ck_assert_str_eq(buf_cstr(&b), "2025-11-21T09:30:00.25Z");
	buf_done(&b);
}
END_TEST

UNIT_MAIN("query_time", known_times, errors_point_at_the_column, written_times_read_back)
