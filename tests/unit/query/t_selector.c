// tier: test
/* Selectors: what they accept, what they refuse and where, and patterns with values. */
#include "unit.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/pattern.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "query/selector.h"

#include <errno.h>

/* Six series with one sample each; each value is a different bit, so that the sum shows which are selected. */
enum { REDIS = 1, NGINX = 2, BASH = 4, HEAP = 8, OBJECTS = 16, NUMBER = 32, ALL = 63 };

static void add(struct profile *p, uint32_t type, const char *labels, int64_t value, uint32_t pid)
{
	struct sink *s = profile_sink(p);
	struct label set[8] = { 0 };
	uint32_t n = 0;
	char *text = strdup(labels), *save = NULL;
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		char *value_text = strchr(w, '=');
		*value_text++ = '\0';
		set[n].key = sink_string(s, w);
		set[n].is_num = *value_text == '#';
		set[n].num = atoi(value_text + 1);
		set[n].str = set[n].is_num ? 0 : sink_string(s, value_text);
		n++;
	}
	free(text);
	struct series series = { .type = type, .labels = s->ops->labels(s, set, n) };
	struct sample sample = { .value = value,
				 .series = s->ops->series(s, &series),
				 .pid = pid,
				 .tid = pid,
				 .cpu = SAMPLE_NO_ID };
	s->ops->sample(s, &sample);
}

static uint32_t add_type(struct profile *p, const char *name, const char *sample, const char *unit,
			 const char *period, const char *period_unit)
{
	struct sink *s = profile_sink(p);
	struct type t = { .name = sink_string(s, name),
			  .sample_type = sink_string(s, sample),
			  .unit = sink_string(s, unit),
			  .period_type = sink_string(s, period),
			  .period_unit = sink_string(s, period_unit) };
	return s->ops->type(s, &t);
}

static struct profile *example(void)
{
	struct profile *p = profile_new();
	uint32_t cpu = add_type(p, "cpu", "samples", "count", "cpu", "nanoseconds");
	uint32_t space = add_type(p, "alloc", "alloc_space", "bytes", "", "");
	uint32_t objects = add_type(p, "alloc", "alloc_objects", "count", "", "");
	add(p, cpu, "comm=redis-server host=web-1", REDIS, 100);
	add(p, cpu, "comm=nginx host=web-2 service.name=front", NGINX, 200);
	add(p, cpu, "comm=bash host=db7 pid=x", BASH, 300);
	add(p, space, "comm=bash host=db7", HEAP, SAMPLE_NO_ID);
	add(p, objects, "", OBJECTS, 100);
	add(p, cpu, "bytes=#4096 comm=two comm=names", NUMBER, 200);
	return p;
}

static int64_t taken_by(const char *text)
{
	struct profile *p = example();
	struct selector *s = NULL;
	struct err err = { 0 };
	ck_assert_msg(selector_parse(text, &s, &err) == 0, "%s: %s", text, err.text);
	size_t n = selector_apply(s, p);
	ck_assert_uint_eq(n, p->samples.n);
	int64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += p->samples.value[i];
	selector_free(s);
	profile_free(p);
	return sum;
}

static const struct {
	const char *text;
	int64_t want;
} answers[] = {
	{ "{}", ALL },
	{ " cpu ", REDIS | NGINX | BASH | NUMBER },
	{ "cpu{}", REDIS | NGINX | BASH | NUMBER },
	{ "alloc", HEAP | OBJECTS },
	{ "alloc_space", HEAP },
	{ "alloc:alloc_objects{}", OBJECTS },
	{ "cpu:samples", REDIS | NGINX | BASH | NUMBER },
	{ "cpu:cpu", REDIS | NGINX | BASH | NUMBER },
	{ "process_cpu:cpu:nanoseconds:cpu:nanoseconds{}", REDIS | NGINX | BASH | NUMBER },
	{ "process_cpu:samples:count:cpu:nanoseconds", REDIS | NGINX | BASH | NUMBER },
	{ "cpu:cpu:bytes:cpu:nanoseconds", 0 },
	{ "alloc:cpu", 0 },
	{ "nothing", 0 },
	{ "\"cpu\"", REDIS | NGINX | BASH | NUMBER },
	{ "cpu{comm=\"redis-server\",host=~\"web.*\"}", REDIS },
	{ "cpu{comm=\"redis-server\",host=~\"web\"}", 0 },
	{ "{host=~\"web-.\"}", REDIS | NGINX },
	{ "{host=~\"web-1|db7\"}", REDIS | BASH | HEAP },
	{ "{comm!=\"bash\"}", REDIS | NGINX | OBJECTS | NUMBER },
	{ "{comm!~\"b.*|r.*\"}", NGINX | OBJECTS | NUMBER },
	{ "{comm=\"\"}", OBJECTS },
	{ "{comm!=\"\"}", ALL - OBJECTS },
	{ "{comm=~\".+\"}", ALL - OBJECTS },
	{ "{comm=~\".*\"}", ALL },
	{ "{\"service.name\"=\"front\"}", NGINX },
	{ "{ \"service.name\" = 'front' , }", NGINX },
	{ "{host=`web-1`}", REDIS },
	{ "{host=\"\\x77eb-\\u0031\"}", REDIS },
	{ "{host=\"\\167eb-1\"}", REDIS },
	{ "{comm=\"two\"}", NUMBER },
	{ "{comm=\"names\"}", NUMBER },
	{ "{comm!=\"two\"}", ALL - NUMBER },
	{ "{bytes=\"4096\"}", NUMBER },
	{ "{bytes=~\"4\\\\d+\"}", NUMBER },
	{ "{pid=\"100\"}", REDIS | OBJECTS },
	{ "{pid!=\"100\"}", NGINX | BASH | HEAP | NUMBER },
	{ "{pid=\"x\"}", BASH }, /* a label of this name wins over the column */
	{ "{pid=\"300\"}", 0 },
	{ "{tid=\"300\"}", BASH },
	{ "{pid=\"\"}", HEAP },
	{ "{pid=~\"[12]00\",comm!=\"\"}", REDIS | NGINX | NUMBER },
	{ "{cpu=\"\"}", ALL },
	{ "{cpu=\"0\"}", 0 },
};

START_TEST(selectors_select_the_named_series)
{
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		int64_t got = taken_by(answers[i].text);
		ck_assert_msg(got == answers[i].want, "%s: %lld, want %lld", answers[i].text,
			      (long long)got, (long long)answers[i].want);
	}
}
END_TEST

static const struct {
	const char *text;
	int column;
	const char *words;
} refusals[] = {
	{ "", 1, "it is empty" },
	{ "  ", 3, "it is empty" },
	{ "cpu{", 4, "not closed" },
	{ "cpu{comm", 9, "= != =~ !~" },
	{ "cpu{comm=", 10, "in quotes is missing" },
	{ "cpu{comm=redis}", 10, "in quotes is missing" },
	{ "cpu{comm=\"redis}", 10, "this quote is not closed" },
	{ "cpu{comm=\"a\" host=\"b\"}", 14, "a comma or }" },
	{ "cpu{comm=\"a\"", 13, "a comma or }" },
	{ "cpu{,}", 5, "name of a label is missing" },
	{ "cpu{} x", 7, "unexpected text" },
	{ "cpu}", 4, "unexpected text" },
	{ "cpu:", 5, "name of a type is missing" },
	{ "a:b:c", 1, "a type is NAME" },
	{ "a:b:c:d{}", 1, "a type is NAME" },
	{ "a:b:c:d:e:f", 11, "at most five" },
	{ "{service.name=\"x\"}", 2, "needs quotes" },
	{ "{1a=\"x\"}", 2, "needs quotes" },
	{ "{a==\"x\"}", 4, "in quotes is missing" },
	{ "{a=\"\\q\"}", 5, "unknown escape" },
	{ "{a=\"\\xzz\"}", 5, "invalid character" },
	{ "{a=\"\\0\"}", 5, "invalid character" },
	{ "{a=\"\\u0000\"}", 5, "invalid character" },
	{ "{a=\"\\ud800\"}", 5, "invalid character" },
	{ "{a=\"\\U00110000\"}", 5, "invalid character" },
	{ "{a=\"\\", 5, "unknown escape" },
	{ "{a=~\"(\"}", 5, "" },
	{ "{a=~\"x)\"}", 5, "')' closes nothing" },
	{ "{a=~\"[a\"}", 5, "'[' has no ]" },
	{ "{a=~`(?s)x`}", 5, "'(?s' is not supported" },
	{ "{a=~`x(?i)y`}", 5, "'(?i' is not supported" },
	{ "{a=~`(x)\\1`}", 5, "'\\1' is not supported" },
	{ "{a=~`\\pL`}", 5, "'\\p' is not supported" },
	{ "{a=~`x\\`}", 5, "last character" },
	{ "{a=~`((x{99}){99}){99}`}", 5, "too large" },
	{ "{a=~`(((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)`}", 5, "too large" },
	{ "{a=~`x{99999999999999999999}`}", 5, "too large" },
	{ "{a=~`x++`}", 5, "'+' repeats nothing" },
	{ "{a=~`*x`}", 5, "'*' repeats nothing" },
	{ "{a=~`a|+`}", 5, "'+' repeats nothing" },
	{ "{a=~`x{2}{3}`}", 5, "'{3}' repeats nothing" },
	{ "{a=~`x{,3}`}", 5, "is not a repetition" },
	{ "{a=~`x{a}`}", 5, "is not a repetition" },
};

START_TEST(errors_say_where)
{
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
		struct selector *s = NULL;
		struct err err = { 0 };
		char where[32];
		ck_assert_msg(selector_parse(refusals[i].text, &s, &err) == -EINVAL, "%s",
			      refusals[i].text);
		ck_assert_ptr_null(s);
		snprintf(where, sizeof where, "column %d:", refusals[i].column);
		ck_assert_msg(strstr(err.text, where) && strstr(err.text, refusals[i].words),
			      "%s: %s", refusals[i].text, err.text);
	}
}
END_TEST

/* The mark is below the error, in terminal columns. */
START_TEST(the_place_is_marked)
{
	struct selector *s;
	struct err err = { 0 };
	ck_assert_int_eq(selector_parse("cpu{a=\"\xc3\xa4\xe4\xb8\xad\" b}", &s, &err), -EINVAL);
	const char *mark = strchr(err.hint, '\n') + 1;
	ck_assert_uint_eq(strcspn(mark, "^"), strlen("cpu{a=\"") + 1 + 2 + 2);
}
END_TEST

START_TEST(more_than_the_limits_is_refused)
{
	struct buf b = { 0 };
	struct selector *s;
	struct err err = { 0 };
	buf_addc(&b, '{');
	for (int i = 0; i <= SELECTOR_MAX_CONDITIONS; i++)
		buf_adds(&b, "a=\"b\",");
	buf_addc(&b, '}');
	ck_assert_int_eq(selector_parse(buf_cstr(&b), &s, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "too many conditions"));
	buf_clear(&b);
	for (int i = 0; i <= SELECTOR_MAX_LEN; i++)
		buf_addc(&b, 'a');
	ck_assert_int_eq(selector_parse(buf_cstr(&b), &s, &err), -EINVAL);
	buf_clear(&b);
	buf_adds(&b, "{a=~`");
	for (int i = 0; i <= PATTERN_MAX_DEPTH; i++)
		buf_addc(&b, '(');
	buf_adds(&b, "`}");
	ck_assert_int_eq(selector_parse(buf_cstr(&b), &s, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "too deep"));
	buf_done(&b);
}
END_TEST

static const struct {
	const char *pattern, *value;
	bool want;
} matches[] = {
	{ "", "", true },
	{ "", "a", false },
	{ "a|b", "b", true },
	{ "a|b", "ab", false },
	{ "^a$", "a", true },
	{ "\\d+", "123", true },
	{ "\\d+", "12a", false },
	{ "\\D", "7", false },
	{ "[\\d.]+", "1.2", true },
	{ "[\\d.]+", "d\\", false },
	{ "[\\w]+", "a_1", true },
	{ "\\w+\\s\\S", "ab !", true },
	{ "(?:ab)+", "abab", true },
	{ "\\.", ".", true },
	{ "\\.", "x", false },
	{ "\\<a\\>", "<a>", true },
	{ "[]a]+", "]a", true },
	{ "[^]]", "]", false },
	{ "[[:digit:]]", "5", true },
	{ "[[:digit:]]", ":", false },
	{ "[\\\\]", "\\", true },
	{ "a.*?b", "a--b", true },
	{ "a+?b??", "aa", true },
	{ "a{2,}?", "aa", true },
	{ "\\{1", "{1", true },
	{ "a{2,3}", "aaa", true },
	{ "a{2,3}", "a", false },
	{ "[0-9a-f]{64}", "0", false },
	{ "(a|(b))c", "bc", true },
	{ "\\(\\)", "()", true },
	{ "(?i)REDIS|x", "Redis", true },
	{ "REDIS", "Redis", false },
	{ "\\Qa+b(*)\\E|c", "a+b(*)", true },
	{ "\\Qa+b\\E", "aab", false },
	{ "x\\Q[^\\]$", "x[^\\]$", true },
	{ "\\Qab\\E+", "abb", true },
	{ "\\Q\\E", "", true },
};

START_TEST(patterns_match_whole_values)
{
	for (size_t i = 0; i < sizeof matches / sizeof *matches; i++) {
		regex_t regex;
		struct err err = { 0 };
		ck_assert_msg(pattern_compile(matches[i].pattern, &regex, &err) == 0, "%s: %s",
			      matches[i].pattern, err.text);
		bool got = regexec(&regex, matches[i].value, 0, NULL, 0) == 0;
		ck_assert_msg(got == matches[i].want, "%s on %s", matches[i].pattern,
			      matches[i].value);
		regfree(&regex);
	}
}
END_TEST

static const char *get_pair(void *ctx, const char *label)
{
	for (const char *const *pair = ctx; *pair; pair += 2)
		if (strcmp(pair[0], label) == 0)
			return pair[1];
	return NULL;
}

static bool takes(const char *text, const char *type, const char *const *pairs)
{
	struct selector *s = NULL;
	struct err err = { 0 };

	ck_assert_int_eq(selector_parse(text, &s, &err), 0);
	bool suits = selector_suits_labels(s);
	bool takes = suits && selector_takes_labels(s, type, get_pair, (void *)pairs);
	selector_free(s);
	return takes;
}

/* The same answers as for a profile's series, without a profile. */
START_TEST(labels_only)
{
	static const char *const nginx[] = { "unit", "nginx.service", "user", "www", NULL };

	ck_assert(takes("cpu{unit=\"nginx.service\"}", "cpu", nginx));
	ck_assert(!takes("off-cpu{unit=\"nginx.service\"}", "cpu", nginx));
	ck_assert(takes("{unit=~\"nginx.*\",user!=\"root\"}", "off-cpu", nginx));
	ck_assert(!takes("{unit!~\"nginx.*\"}", "cpu", nginx));
	ck_assert(takes("{pod=\"\"}", "cpu", nginx));
	ck_assert(!takes("{pod!=\"\"}", "cpu", nginx));
	ck_assert(takes("{__name__=\"cpu\"}", "cpu", nginx));
	ck_assert(!takes("{__name__!=\"cpu\"}", "cpu", nginx));
	ck_assert(!takes("{pid=\"1\"}", "cpu", nginx));
	ck_assert(!takes("cpu:samples{}", "cpu", nginx));
}
END_TEST

UNIT_MAIN("selector", selectors_select_the_named_series, errors_say_where, the_place_is_marked,
	  more_than_the_limits_is_refused, patterns_match_whole_values, labels_only)
