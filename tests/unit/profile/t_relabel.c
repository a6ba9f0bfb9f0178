// tier: test
/* Label rules: as in Prometheus's documentation, and Go's Regexp.Expand for $. */
#include "unit.h"

#include "base/buf.h"
#include "base/err.h"
#include "profile/profile.h"
#include "profile/relabel.h"

#include <errno.h>

enum { LABELS = 12 };

#define FROM(...) \
	.source_labels = (const char *const[]){ __VA_ARGS__ }, \
	.n_sources = sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)

static struct relabel *rules_of(const struct relabel_rule *rules)
{
	struct relabel *r = relabel_new();
	struct err err = { 0 };

	for (; rules->regex || rules->action || rules->target_label; rules++)
		ck_assert_msg(relabel_add(r, rules, &err) == 0, "%s", err.text);
	return r;
}

static int by_spelling(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "a=b c=d" by name, or "dropped". */
static char *relabeled(const struct relabel_rule *rules, const struct label_text *labels)
{
	struct profile *p = profile_new();
	struct relabel *r = rules_of(rules);
	struct buf b = { 0 };
	uint32_t set;
	size_t n = 0;

	while (labels[n].key)
		n++;
	if (!relabel_labels(r, profile_sink(p), labels, n, &set)) {
		buf_adds(&b, "dropped");
	} else {
		struct label_set s = p->series.sets.v[set];
		const char *words[LABELS];
		for (uint32_t i = 0; i < s.n; i++) {
			struct label l = p->series.labels.v[s.first + i];
			struct buf word = { 0 };
			buf_addf(&word, "%s=%s", strtab_get(&p->strings, l.key),
				 strtab_get(&p->strings, l.str));
			words[i] = buf_cstr(&word);
		}
		qsort(words, s.n, sizeof *words, by_spelling);
		for (uint32_t i = 0; i < s.n; i++) {
			buf_addf(&b, "%s%s", i ? " " : "", words[i]);
			free((char *)words[i]);
		}
	}
	relabel_free(r);
	profile_free(p);
	buf_addc(&b, '\0');
	return buf_steal(&b);
}

static const struct label_text plain[LABELS] = {
	{ "comm", "nginx" },    { "host", "web-1.example.org" },
	{ "pod", "shop-7d9f" }, { "__address", "10.0.0.1:80" },
	{ NULL, NULL },
};

static const struct {
	struct relabel_rule rules[4];
	const char *want;
} cases[] = {
	/* keep and drop: the regex must match the whole value. */
	{ { { RELABEL_KEEP, FROM("comm"), .regex = "nginx" } },
	  "comm=nginx host=web-1.example.org pod=shop-7d9f" },
	{ { { RELABEL_KEEP, FROM("comm"), .regex = "ngin" } }, "dropped" },
	{ { { RELABEL_DROP, FROM("comm"), .regex = "ngin" } },
	  "comm=nginx host=web-1.example.org pod=shop-7d9f" },
	{ { { RELABEL_DROP, FROM("comm"), .regex = "redis|nginx" } }, "dropped" },
	/* An absent label is empty. */
	{ { { RELABEL_DROP, FROM("namespace"), .regex = "" } }, "dropped" },
	{ { { RELABEL_KEEP, FROM("namespace"), .regex = ".+" } }, "dropped" },
	/* The separator, and its default. */
	{ { { RELABEL_DROP, FROM("comm", "pod"), .regex = "nginx;shop-.*" } }, "dropped" },
	{ { { RELABEL_DROP, FROM("comm", "none", "pod"), .separator = "/",
	      .regex = "nginx//shop-.*" } },
	  "dropped" },
	/* replace: by default the whole value. */
	{ { { .target_label = "job", FROM("comm") } },
	  "comm=nginx host=web-1.example.org job=nginx pod=shop-7d9f" },
	{ { { .target_label = "job",
	      FROM("host"),
	      .regex = "([^.]*)\\.(.*)",
	      .replacement = "$2/${1}" } },
	  "comm=nginx host=web-1.example.org job=example.org/web-1 pod=shop-7d9f" },
	/* No match: nothing is replaced. */
	{ { { .target_label = "comm", FROM("host"), .regex = "db-.*", .replacement = "x" } },
	  "comm=nginx host=web-1.example.org pod=shop-7d9f" },
	/* A constant. */
	{ { { .target_label = "env", .replacement = "prod" } },
	  "comm=nginx env=prod host=web-1.example.org pod=shop-7d9f" },
	/* A label replaced by nothing is removed. */
	{ { { .target_label = "pod", .replacement = "" } }, "comm=nginx host=web-1.example.org" },
	{ { { .target_label = "pod", FROM("none") } }, "comm=nginx host=web-1.example.org" },
	/* Named groups, and groups that capture nothing or do not exist. */
	{ { { .target_label = "app",
	      FROM("pod"),
	      .regex = "(?P<app>[a-z]+)-(?:7d|8e)(..)",
	      .replacement = "${app}:$app:$2:$3:$" } },
	  "app=shop:shop:9f::$ comm=nginx host=web-1.example.org pod=shop-7d9f" },
	{ { { .target_label = "x",
	      FROM("comm"),
	      .regex = "(a)?(.*)",
	      .replacement = "[$1][$2][$0]" } },
	  "comm=nginx host=web-1.example.org pod=shop-7d9f x=[][nginx][nginx]" },
	/* $1x is ${1x}; $$ is $; other text is literal. */
	{ { { .target_label = "x", FROM("comm"), .replacement = "$1x|${1}x|$$1|${1|$-" } },
	  "comm=nginx host=web-1.example.org pod=shop-7d9f x=|nginxx|$1|${1|$-" },
	/* The target, too. */
	{ { { .target_label = "is_$1", FROM("comm"), .replacement = "yes" } },
	  "comm=nginx host=web-1.example.org is_nginx=yes pod=shop-7d9f" },
	/* labelmap, with conflicting labels. */
	{ { { RELABEL_LABELMAP, .regex = "__(.*)" } },
	  "address=10.0.0.1:80 comm=nginx host=web-1.example.org pod=shop-7d9f" },
	{ { { RELABEL_LABELMAP, .regex = "(co)mm|ho(st)", .replacement = "k_$1$2" } },
	  "comm=nginx host=web-1.example.org k_co=nginx k_st=web-1.example.org pod=shop-7d9f" },
	{ { { RELABEL_LABELMAP, .regex = "comm", .replacement = "pod" } },
	  "comm=nginx host=web-1.example.org pod=nginx" },
	{ { { RELABEL_LABELDROP, .regex = "p.*|host" } }, "comm=nginx" },
	{ { { RELABEL_LABELKEEP, .regex = "p.*|host" } }, "host=web-1.example.org pod=shop-7d9f" },
	/* Rules in sequence; temporary labels are removed. */
	{ { { .target_label = "__tmp", FROM("comm", "pod"), .separator = "@" },
	    { .target_label = "who", FROM("__tmp"), .regex = "(.*)-.*" },
	    { RELABEL_KEEP, FROM("who"), .regex = "nginx@shop" } },
	  "comm=nginx host=web-1.example.org pod=shop-7d9f who=nginx@shop" },
	/* The longest match, from the left. */
	{ { { .target_label = "x", FROM("host"), .regex = "(.*)\\.(.*)", .replacement = "$1" } },
	  "comm=nginx host=web-1.example.org pod=shop-7d9f x=web-1.example" },
};

START_TEST(rules_work_as_documented)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *got = relabeled(cases[i].rules, plain);

		ck_assert_msg(strcmp(got, cases[i].want) == 0, "case %zu: %s, not %s", i, got,
			      cases[i].want);
		free(got);
	}
}
END_TEST

START_TEST(without_rules_nothing_changes)
{
	struct profile *p = profile_new();
	struct relabel *none = relabel_new();
	uint32_t with, without;

	ck_assert(relabel_labels(none, profile_sink(p), plain, 3, &with));
	ck_assert(relabel_labels(NULL, profile_sink(p), plain, 3, &without));
	ck_assert_uint_eq(with, without);
	ck_assert_uint_eq(p->series.sets.v[with].n, 3);
	ck_assert_uint_eq(relabel_count(NULL), 0);
	relabel_free(none);
	profile_free(p);
}
END_TEST

START_TEST(meaningless_rules_are_refused)
{
	const struct {
		struct relabel_rule rule;
		const char *why;
	} bad[] = {
		{ { RELABEL_REPLACE, FROM("a") }, "needs a target_label" },
		{ { RELABEL_KEEP, .regex = "a" }, "needs source_labels" },
		{ { RELABEL_DROP, FROM("a"), .target_label = "b" }, "takes no target_label" },
		{ { RELABEL_DROP, FROM("a"), .replacement = "b" }, "takes no replacement" },
		{ { RELABEL_LABELMAP, FROM("a") }, "takes no source_labels" },
		{ { RELABEL_LABELDROP, .regex = "a", .separator = "/" }, "takes no source_labels" },
		{ { RELABEL_KEEP, FROM("a"), .regex = "(" }, "regex: " },
		{ { RELABEL_KEEP, FROM("a"), .regex = "(?!x)" }, "is not supported" },
		{ { RELABEL_KEEP, FROM("a"), .regex = "(?P<x)" }, "is not supported" },
		{ { RELABEL_KEEP, FROM("a"), .regex = "(.*?)-.*" }, "is non-greedy" },
		{ { RELABEL_KEEP, FROM("a"), .regex = "(a)\\1" }, "is not supported" },
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct relabel *r = relabel_new();
		struct err err = { 0 };

		ck_assert_int_eq(relabel_add(r, &bad[i].rule, &err), -EINVAL);
		ck_assert_msg(strstr(err.text, bad[i].why) != NULL, "%zu: %s", i, err.text);
		ck_assert_uint_eq(relabel_count(r), 0);
		relabel_free(r);
	}
}
END_TEST

/* Values that double, and labels that do: the rules' output stays bounded. */
START_TEST(growing_results_are_bounded)
{
	struct relabel *r = relabel_new();
	struct profile *p = profile_new();
	struct err err = { 0 };
	uint32_t set;

	for (int i = 0; i < RELABEL_MAX_RULES / 2; i++) {
		const struct relabel_rule longer = { .target_label = "comm",
						     FROM("comm"),
						     .replacement = "$1$1" },
					  more = { RELABEL_LABELMAP, .replacement = "a$1" };
		ck_assert_int_eq(relabel_add(r, &longer, &err), 0);
		ck_assert_int_eq(relabel_add(r, &more, &err), 0);
	}
	ck_assert_int_eq(relabel_add(r, &(struct relabel_rule){ .target_label = "x" }, &err),
			 -E2BIG);
	ck_assert(relabel_labels(r, profile_sink(p), plain, 3, &set));
	struct label_set s = p->series.sets.v[set];
	ck_assert_uint_eq(s.n, RELABEL_MAX_LABELS);
	for (uint32_t i = 0; i < s.n; i++) {
		const struct label *l = &p->series.labels.v[s.first + i];
		ck_assert_uint_le(strtab_len(&p->strings, l->key), RELABEL_MAX_BYTES);
		ck_assert_uint_le(strtab_len(&p->strings, l->str), RELABEL_MAX_BYTES);
	}
	relabel_free(r);
	profile_free(p);
}
END_TEST

/* A value is truncated between characters. */
START_TEST(cut_values_are_text)
{
	struct profile *p = profile_new();
	struct relabel *r = relabel_new();
	struct err err = { 0 };
	char value[3 * RELABEL_MAX_BYTES + 1] = "";
	uint32_t set;

	for (size_t i = 0; i + 1 < sizeof value; i += 3)
		memcpy(value + i, "\xe2\x82\xac", 3);
	const struct label_text label = { "a", value };
	ck_assert_int_eq(
		relabel_add(r, &(struct relabel_rule){ .target_label = "a", FROM("a") }, &err), 0);
	ck_assert(relabel_labels(r, profile_sink(p), &label, 1, &set));
	const struct label *l = &p->series.labels.v[p->series.sets.v[set].first];
	ck_assert_uint_eq(strtab_len(&p->strings, l->str), RELABEL_MAX_BYTES / 3 * 3);
	relabel_free(r);
	profile_free(p);
}
END_TEST

UNIT_MAIN("relabel", rules_work_as_documented, without_rules_nothing_changes,
	  meaningless_rules_are_refused, growing_results_are_bounded, cut_values_are_text)
