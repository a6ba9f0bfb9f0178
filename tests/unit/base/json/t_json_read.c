// tier: test
#include "unit.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/input.h"
#include "base/json/json_read.h"

#include <errno.h>

/* Spells the tokens of a text: "{ k:a 1 } ", with "." at the end or "!" for an error. */
static char *tokens_of(const char *text, size_t len, bool lenient)
{
	struct input *in;
	struct json_value v;
	struct buf b = { 0 };
	int rc;
	ck_assert_int_eq(input_open_memory(text, len, &in, NULL), 0);
	struct json_reader *r = json_reader_new(in);
	if (lenient)
		json_set_lenient(r);
	while ((rc = json_next(r, &v, NULL)) > 0) {
		static const char *const marks[] = { [JSON_OBJECT] = "{",
						     [JSON_OBJECT_END] = "}",
						     [JSON_ARRAY] = "[",
						     [JSON_ARRAY_END] = "]" };
		switch (v.token) {
		case JSON_KEY:
			buf_addf(&b, "k:%s ", v.text);
			break;
		case JSON_STRING:
			ck_assert_int_eq(v.text[v.len], '\0');
			buf_addf(&b, "s:%s ", v.text);
			break;
		case JSON_NUMBER:
			if (v.is_integer)
				buf_addf(&b, "%lld ", (long long)v.integer);
			else
				buf_addf(&b, "%.17g ", json_double(&v));
			break;
		case JSON_BOOL:
			buf_adds(&b, v.boolean ? "true " : "false ");
			break;
		case JSON_NULL:
			buf_adds(&b, "null ");
			break;
		default:
			buf_addf(&b, "%s ", marks[v.token]);
		}
	}
	ck_assert_int_eq(json_next(r, &v, NULL), rc); /* and it stays that way */
	buf_addc(&b, rc < 0 ? '!' : json_was_cut(r) ? '~' : '.');
	json_reader_free(r);
	input_close(in);
	return buf_steal(&b);
}

static void check_tokens(const char *text, bool lenient, const char *want)
{
	char *got = tokens_of(text, strlen(text), lenient);
	ck_assert_str_eq(got, want);
	free(got);
}

START_TEST(reads_tokens)
{
	static const struct {
		const char *text, *tokens;
	} cases[] = {
		{ "{\"a\": 1, \"b\":[true,false,null],\"c\":{}}",
		  "{ k:a 1 k:b [ true false null ] k:c { } } ." },
		{ " [ ] ", "[ ] ." },
		{ "7", "7 ." },
		{ "\"x\"", "s:x ." },
		{ "\xef\xbb\xbf[1]\r\n", "[ 1 ] ." },
		{ "{\"k\"\n:\t\"v\"}", "{ k:k s:v } ." },
		{ "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[ s:\"\\/\b\f\n\r\t ] ." },
		{ "[\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"]", "[ s:A\u00e9\u20ac\U0001F600 ] ." },
		/* Halves of surrogate pairs. */
		{ "[\"\\ud83dx\",\"\\ude00\",\"\\ud83d\\ud83d\\ude00\",\"\\ud83d\\n\",\"\\ud83d\"]",
		  "[ s:\ufffdx s:\ufffd s:\ufffd\U0001F600 s:\ufffd\n s:\ufffd ] ." },
		{ "[-0,0,-12,1.5,1e3,-2.5E-1,9223372036854775807,-9223372036854775808]",
		  "[ 0 0 -12 1.5 1000 -0.25 9223372036854775807 -9223372036854775808 ] ." },
		{ "[9223372036854775808,1e400,123456789012.0]",
		  "[ 9.2233720368547758e+18 inf 123456789012 ] ." },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		check_tokens(cases[i].text, false, cases[i].tokens);
}
END_TEST

START_TEST(refuses_invalid_json)
{
	static const char *const bad[] = {
		"",           "{",         "[",     "[1",        "[1,]",
		"{\"a\":1,}", "{\"a\"}",   "{a:1}", "{\"a\" 1}", "[1 2]",
		"[1}",        "{\"a\":1]", "[01]",  "[1.]",      "[.5]",
		"[1e]",       "[+1]",      "[--1]", "[tru]",     "[truex]",
		"[nul]",      "[NaN]",     "\"a",   "[\"\\x\"]", "[\"\\u12g4\"]",
		"[1] 2",      "]",         "}",     "\xff",      "[,1]",
		"{,}",        "[\"a\"",
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char *got = tokens_of(bad[i], strlen(bad[i]), false);
		ck_assert_msg(got[strlen(got) - 1] == '!', "%s gave %s", bad[i], got);
		free(got);
	}
}
END_TEST

START_TEST(an_error_has_its_position)
{
	struct input *in;
	struct json_value v;
	struct err err = { 0 };
	ck_assert_int_eq(input_open_memory("[1, x]", 6, &in, NULL), 0);
	struct json_reader *r = json_reader_new(in);
	ck_assert_int_gt(json_next(r, &v, &err), 0);
	ck_assert_int_gt(json_next(r, &v, &err), 0);
	ck_assert_int_eq(json_next(r, &v, &err), -EBADMSG);
	ck_assert_str_eq(err.text, "the data: bad JSON at byte 5: not a value");
	json_reader_free(r);
	input_close(in);
}
END_TEST

START_TEST(lenient_closes_open_values)
{
	check_tokens("[1,2", true, "[ 1 ] ~"); /* the 2 may be half a number */
	check_tokens("[1,2,", true, "[ 1 2 ] ~");
	check_tokens("[{\"a\":", true, "[ { k:a null } ] ~");
	check_tokens("[{\"a\"", true, "[ { } ] ~");
	check_tokens("[{\"a\":\"b", true, "[ { k:a null } ] ~");
	check_tokens("[{\"a\":1},\n{\"a\":2},\n", true, "[ { k:a 1 } { k:a 2 } ] ~");
	check_tokens("[1,]", true, "[ 1 ] .");
	check_tokens("{\"a\":1,}", true, "{ k:a 1 } .");
	check_tokens("[1}", true, "[ 1 !");
	check_tokens("", true, "!");
}
END_TEST

/* A text cut anywhere: strict refuses it, lenient reads the complete tokens. */
START_TEST(every_cut)
{
	static const char text[] =
		"{\"a\":[1,{\"b\\n\":\"c\\u20ac\",\"d\":-1.5e3},true],\"e\":null}";
	char *all = tokens_of(text, strlen(text), true);
	for (size_t n = 1; n < strlen(text); n++) {
		char *strict = tokens_of(text, n, false), *cut = tokens_of(text, n, true);
		size_t same = 0;
		ck_assert_int_eq(strict[strlen(strict) - 1], '!');
		ck_assert_int_eq(cut[strlen(cut) - 1], '~');
		while (strict[same] && strict[same] != '!')
			same++;
		ck_assert_int_eq(strncmp(strict, all, same), 0);
		ck_assert_int_eq(strncmp(strict, cut, same), 0);
		free(strict);
		free(cut);
	}
	free(all);
}
END_TEST

/* The reader's chunks are 16 KiB: a text reads the same wherever their boundaries fall. */
START_TEST(chunks_do_not_show)
{
	static const char text[] =
		"{\"key\":[12345,\"plain "
		"text\",\"esc\\u20ac\\ud83d\\ude00\\n\",true,-1.25e2],\"k2\" : {\"\":null}}";
	enum { CHUNK = 16384 };
	char *want = tokens_of(text, strlen(text), false);
	char *far = malloc(CHUNK + sizeof text);
	for (size_t back = 0; back <= strlen(text); back++) {
		memset(far, ' ', CHUNK);
		memcpy(far + CHUNK - back, text, strlen(text));
		char *got = tokens_of(far, CHUNK - back + strlen(text), false);
		ck_assert_str_eq(got, want);
		free(got);
	}
	free(far);
	free(want);
}
END_TEST

START_TEST(limits)
{
	struct buf b = { 0 };
	for (int i = 0; i < JSON_MAX_NESTING; i++)
		buf_addc(&b, '[');
	for (int i = 0; i < JSON_MAX_NESTING; i++)
		buf_addc(&b, ']');
	char *fits = tokens_of(b.data, b.len, false);
	ck_assert_int_eq(fits[strlen(fits) - 1], '.');
	buf_clear(&b);
	for (int i = 0; i < 1000000; i++)
		buf_addc(&b, '[');
	char *deep = tokens_of(b.data, b.len, true);
	ck_assert_int_eq(deep[strlen(deep) - 1], '!');
	ck_assert_uint_eq(strlen(deep), 2 * JSON_MAX_NESTING + 1);
	buf_clear(&b);
	buf_addc(&b, '"');
	for (int i = 0; i < JSON_MAX_STRING; i++)
		buf_addc(&b, 'x');
	buf_adds(&b, "\"");
	char *longest = tokens_of(b.data, b.len, false);
	ck_assert_int_eq(longest[strlen(longest) - 1], '.');
	b.len--;
	buf_adds(&b, "x\"");
	char *longer = tokens_of(b.data, b.len, false);
	ck_assert_str_eq(longer, "!");
	free(fits);
	free(deep);
	free(longest);
	free(longer);
	buf_done(&b);
}
END_TEST

START_TEST(walks_the_expected_keys)
{
	static const char text[] =
		"{\"skip\":{\"deep\":[1,[2]]},\"name\":\"n\",\"list\":[1,\"two\",[3],{\"x\":4}],"
		"\"odd\":[5],\"end\":6}";
	struct input *in;
	struct json_value key, v;
	int scalars = 0, others = 0;
	ck_assert_int_eq(input_open_memory(text, strlen(text), &in, NULL), 0);
	struct json_reader *r = json_reader_new(in);
	ck_assert_int_eq(json_enter(r, JSON_OBJECT, NULL), 1);
	ck_assert_int_eq(json_key_next(r, &key, NULL), 1);
	ck_assert(json_is(&key, "skip"));
	ck_assert_int_eq(json_skip(r, NULL), 1);
	ck_assert_int_eq(json_key_next(r, &key, NULL), 1);
	ck_assert_int_eq(json_scalar(r, &v, NULL), 1);
	ck_assert(json_is(&v, "n"));
	ck_assert_int_eq(json_key_next(r, &key, NULL), 1);
	ck_assert_int_eq(json_enter(r, JSON_ARRAY, NULL), 1);
	while (json_item_next(r, NULL) > 0)
		json_scalar(r, &v, NULL) > 0 ? scalars++ : others++;
	ck_assert_int_eq(scalars, 2);
	ck_assert_int_eq(others, 2);
	ck_assert_int_eq(json_key_next(r, &key, NULL), 1);
	ck_assert(json_is(&key, "odd"));
	ck_assert_int_eq(json_enter(r, JSON_OBJECT, NULL), 0); /* an array: it is skipped */
	ck_assert_int_eq(json_key_next(r, &key, NULL), 1);
	ck_assert(json_is(&key, "end"));
	ck_assert_int_eq(json_depth(r), 1);
	ck_assert_int_eq(json_skip(r, NULL), 1);
	ck_assert_int_eq(json_key_next(r, &key, NULL), 0);
	ck_assert_int_eq(json_next(r, &v, NULL), 0);
	json_reader_free(r);
	input_close(in);
}
END_TEST

static bool note_key(void *ctx, const struct json_value *key, const struct json_value *value,
		     int depth)
{
	buf_addf(ctx, "%d:%s:%d ", depth, key->text, value->token);
	return !json_is(key, "stop");
}

START_TEST(peeks_at_the_keys)
{
	static const struct {
		const char *text, *keys;
		bool is_json;
	} cases[] = {
		{ "{\"a\":1,\"b\":{\"inner\":2},\"c\":[{\"x\":1}],\"cut\":[1,",
		  "1:a:7 1:b:1 1:c:3 1:cut:3 ", true },
		{ "[{\"ph\":\"X\",\"ts\":1},{\"later\":1}]", "2:ph:6 2:ts:7 ", true },
		{ "{\"a\":1,\"stop\":1,\"b\":1}", "1:a:7 1:stop:7 ", true },
		{ "[1,2]", "", true },
		{ "main;work 5", "", false },
		{ "", "", false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf b = { 0 };
		ck_assert_int_eq(json_peek_keys(cases[i].text, strlen(cases[i].text), note_key, &b),
				 cases[i].is_json);
		ck_assert_str_eq(buf_cstr(&b), cases[i].keys);
		buf_done(&b);
	}
}
END_TEST

/* A bad text ends with its line. The texts after it are read. */
START_TEST(texts_in_a_row)
{
	static const char text[] =
		"{\"a\":1}\n\n {\"a\":[1,2\n{\"a\":2} nonsense\n{\"a\": 3}{\"a\":4}\n 7\n{\"a\":";
	struct input *in;
	struct json_value key, v;
	int64_t sum = 0;
	int bad = 0, rc;
	ck_assert_int_eq(input_open_memory(text, strlen(text), &in, NULL), 0);
	struct json_reader *r = json_reader_new(in);
	while (json_next_text(r, NULL) > 0) {
		rc = json_enter(r, JSON_OBJECT, NULL);
		while (rc > 0 && (rc = json_key_next(r, &key, NULL)) > 0) {
			rc = json_scalar(r, &v, NULL);
			if (rc > 0 && v.token == JSON_NUMBER)
				sum = 10 * sum + v.integer;
			rc = rc < 0 ? rc : 1;
		}
		bad += rc < 0;
	}
	ck_assert_int_eq(sum, 134);
	ck_assert_int_eq(bad, 2);
	json_reader_free(r);
	input_close(in);
}
END_TEST

UNIT_MAIN("json_read", texts_in_a_row, reads_tokens, refuses_invalid_json,
	  an_error_has_its_position, lenient_closes_open_values, every_cut, chunks_do_not_show,
	  limits, walks_the_expected_keys, peeks_at_the_keys)
