// tier: test
#include "rand.h"
#include "unit.h"

#include "base/buf.h"
#include "base/json/json.h"

#include <float.h>
#include <math.h>

START_TEST(writes_a_tree)
{
	struct buf b = { 0 };
	struct json j = json_to(&b);
	json_obj(&j);
	json_key(&j, "pid");
	json_u64(&j, 42);
	json_key(&j, "empty");
	json_obj(&j);
	json_end(&j);
	json_key(&j, "list");
	json_arr(&j);
	json_i64(&j, INT64_MIN);
	json_u64(&j, UINT64_MAX);
	json_arr(&j);
	json_end(&j);
	json_arr(&j);
	json_bool(&j, true);
	json_bool(&j, false);
	json_end(&j);
	json_obj(&j);
	json_key(&j, "a\"b");
	json_str(&j, NULL);
	json_key(&j, "c");
	json_str(&j, "d\n");
	json_end(&j);
	json_end(&j);
	json_key(&j, "last");
	json_num(&j, -0.5);
	json_end(&j);
	ck_assert_str_eq(buf_cstr(&b),
			 "{\"pid\":42,\"empty\":{},\"list\":[-9223372036854775808,"
			 "18446744073709551615,[],[true,false],{\"a\\\"b\":null,\"c\":\"d\\n\"}],"
			 "\"last\":-0.5}");
	buf_done(&b);
}
END_TEST

START_TEST(writes_members)
{
	struct buf b = { 0 };
	struct json j = json_to(&b);
	json_obj(&j);
	json_key_str(&j, "str", "");
	json_key_str(&j, "no_str", NULL);
	json_key_text(&j, "text", "a");
	json_key_text(&j, "empty_text", "");
	json_key_text(&j, "no_text", NULL);
	json_key_u64(&j, "u64", UINT64_MAX);
	json_key_i64(&j, "i64", INT64_MIN);
	json_key_num(&j, "num", 0.25);
	json_key_num(&j, "no_num", NAN);
	json_key_bool(&j, "bool", false);
	json_end(&j);
	ck_assert_str_eq(buf_cstr(&b), "{\"str\":\"\",\"no_str\":null,"
				       "\"text\":\"a\",\"empty_text\":null,\"no_text\":null,"
				       "\"u64\":18446744073709551615,\"i64\":-9223372036854775808,"
				       "\"num\":0.25,\"no_num\":null,\"bool\":false}");
	buf_done(&b);
}
END_TEST

START_TEST(nests_to_the_limit)
{
	struct buf b = { 0 };
	struct json j = json_to(&b);
	for (int i = 0; i < 64; i++) {
		json_arr(&j);
		json_u64(&j, i);
	}
	for (int i = 0; i < 64; i++)
		json_end(&j);
	const char *s = buf_cstr(&b);
	ck_assert_str_eq(strstr(s, "[63"),
			 "[63]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
			 "]]]]]]]]]]");
	ck_assert_int_eq(strncmp(s, "[0,[1,[2,", 9), 0);
	buf_done(&b);
}
END_TEST

static const char *num(struct buf *b, double v)
{
	struct json j = json_to(b);
	buf_clear(b);
	json_num(&j, v);
	return buf_cstr(b);
}

START_TEST(known_numbers)
{
	static const struct {
		double v;
		const char *text;
	} known[] = {
		{ 0, "0" },
		{ 1, "1" },
		{ -3, "-3" },
		{ 0.1, "0.1" },
		{ 0.1 + 0.2, "0.30000000000000004" },
		{ 1e21, "1e+21" },
		{ 123456789012345, "123456789012345" },
		{ 1.0 / 3, "0.3333333333333333" },
		{ 5e-324, "5e-324" },
		{ DBL_MAX, "1.7976931348623157e+308" },
		{ NAN, "null" },
		{ INFINITY, "null" },
		{ -INFINITY, "null" },
	};
	struct buf b = { 0 };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		ck_assert_str_eq(num(&b, known[i].v), known[i].text);
	buf_done(&b);
}
END_TEST

/* Written numbers read back as the same bits; with one digit less they would not. */
START_TEST(numbers_read_back_and_are_shortest)
{
	struct buf b = { 0 };
	struct rng r = { 17 };
	for (int i = 0; i < 30000; i++) {
		union {
			uint64_t bits;
			double v;
		} u = { .bits = rng_next(&r) };
		if (i % 3 == 0)
			u.v = (double)rng_below(&r, 1000000) / 1000;
		if (i % 3 == 1)
			u.bits &= 0x800fffffffffffff >> rng_below(&r, 52); /* subnormal */
		if (!isfinite(u.v))
			continue;
		const char *text = num(&b, u.v);
		ck_assert_double_eq(strtod(text, NULL), u.v);
		int digits = 0;
		for (const char *p = text; *p && *p != 'e'; p++)
			digits += *p >= '0' && *p <= '9';
		while (digits > 17)
			digits--; /* leading zeros of 0.000… */
		char shorter[40];
		snprintf(shorter, sizeof shorter, "%.*g", digits > 1 ? digits - 1 : 1, u.v);
		if (strlen(shorter) < strlen(text))
			ck_assert_double_ne(strtod(shorter, NULL), u.v);
	}
	buf_done(&b);
}
END_TEST

/* Numbers of few digits, and their neighbours, are as printf prints them. */
START_TEST(numbers_of_few_digits_are_printf_s)
{
	struct buf b = { 0 };
	struct rng r = { 23 };
	for (int i = 0; i < 30000; i++) {
		double v = (double)(rng_next(&r) >> (12 + rng_below(&r, 52))) / 1e4;
		char want[40];
		if (i % 3 == 1)
			v = nextafter(v, i % 2 ? INFINITY : -INFINITY);
		v = rng_below(&r, 2) ? v : -v;
		for (int digits = 15; digits <= 17; digits++) {
			snprintf(want, sizeof want, "%.*g", digits, v);
			if (strtod(want, NULL) == v)
				break;
		}
		if (v == 0 || fpclassify(v) == FP_NORMAL)
			ck_assert_str_eq(num(&b, v), want);
	}
	buf_done(&b);
}
END_TEST

UNIT_MAIN("json", writes_a_tree, writes_members, nests_to_the_limit, known_numbers,
	  numbers_read_back_and_are_shortest, numbers_of_few_digits_are_printf_s)
