// tier: test
#include "unit.h"

#include "base/decimal.h"

#include <string.h>

static struct decimal of(const char *text)
{
	struct decimal d = { 0 };
	ck_assert_msg(decimal_parse(text, strlen(text), &d), "%s", text);
	return d;
}

START_TEST(numbers_are_exact)
{
	static const struct {
		const char *text;
		int64_t factor, want;
	} cases[] = {
		{ "0", 1, 0 },
		{ "12", 1, 12 },
		{ "-12", 1000, -12000 },
		{ "+7", 1, 7 },
		{ ".5", 1000, 500 },
		{ "12.", 1000, 12000 },
		{ "1732000000001000.125", 1000, 1732000000001000125 },
		{ "1732000000003000.225", 1000, 1732000000003000225 },
		{ "9223372036854775807", 1, INT64_MAX },
		{ "9223372036854775808", 1, INT64_MAX },
		{ "-9223372036854775807", 1, -INT64_MAX },
		{ "1.5", 1, 2 }, /* halves away from zero */
		{ "-1.5", 1, -2 },
		{ "1.4999999999999999999999", 1, 1 },
		{ "0.59999999999999998", 1000, 600 },
		{ "6e-1", 10, 6 },
		{ "1.25E+3", 1, 1250 },
		{ "1.732e15", 1000, 1732000000000000000 },
		{ "1e400", 1, INT64_MAX },
		{ "-1e99999999999999999999", 1, -INT64_MAX },
		{ "1e-99999999999999999999", 1, 0 },
		{ "0e99999999999999999999", 1, 0 },
		{ "0.000000000000000000000000000000000000000000000000000000001e57", 1, 1 },
		{ "100000000000000000000000000000000000000000000000000000000e-56", 1, 1 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_msg(decimal_times(of(cases[i].text), cases[i].factor) == cases[i].want,
			      "%s is %lld", cases[i].text,
			      (long long)decimal_times(of(cases[i].text), cases[i].factor));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		unsigned shift = 0;
		int64_t got;
		for (int64_t f = cases[i].factor; f > 1; f /= 10)
			shift++;
		const char *text = cases[i].text;
		ck_assert(decimal_parse_shifted(text, strlen(text), shift, &got, NULL));
		ck_assert_msg(got == cases[i].want, "%s is %lld", text, (long long)got);
	}
}
END_TEST

START_TEST(whole_numbers_are_told)
{
	static const struct {
		const char *text;
		bool is_whole;
	} cases[] = { { "5.000", true },
		      { "5.001", false },
		      { "1.5e3", true },
		      { "1.5e0", false },
		      { "1732000000001000.0", true },
		      { "1732000000001000.125", false },
		      { "1e18", true },
		      { "1e19", false },
		      { "0.1", false },
		      { "12345678901234567890e-1", true },
		      { "1e-30", true } /* 0, beyond 18 decimals */ };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t n;
		bool is_whole;
		ck_assert(decimal_parse_shifted(cases[i].text, strlen(cases[i].text), 0, &n,
						&is_whole));
		ck_assert_msg(is_whole == cases[i].is_whole, "%s", cases[i].text);
	}
}
END_TEST

START_TEST(nothing_else_is_a_number)
{
	static const char *const cases[] = { "",    ".",     "-",   "+.", "e5",   "1e",
					     "1e+", "1.2.3", "1 ",  " 1", "0x10", "nan",
					     "inf", "1e5.5", "--1", "1,5" };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct decimal d = { 42 };
		ck_assert_msg(!decimal_parse(cases[i], strlen(cases[i]), &d), "%s", cases[i]);
		ck_assert(d.atto == 42);
	}
}
END_TEST

START_TEST(sums_are_exact_and_clamped)
{
	struct decimal sum = { 0 };
	for (int i = 0; i < 1000; i++)
		sum = decimal_add(sum, of("0.1"));
	ck_assert_int_eq(decimal_times(sum, 1), 100);
	ck_assert_int_eq(decimal_part(sum), 0);
	sum = decimal_sub(sum, of("100.25"));
	ck_assert_int_eq(decimal_part(sum), -DECIMAL_ONE / 4);
	sum = decimal_add(of("9e18"), of("9e18"));
	ck_assert_int_eq(decimal_times(sum, 1), INT64_MAX);
	sum = decimal_sub(of("-9e18"), of("9e18"));
	ck_assert_int_eq(decimal_times(sum, 1), -INT64_MAX);
}
END_TEST

UNIT_MAIN("decimal", numbers_are_exact, whole_numbers_are_told, nothing_else_is_a_number,
	  sums_are_exact_and_clamped)
