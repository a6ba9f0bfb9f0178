// tier: test
/* Configuration files: their content, errors, and the lines of errors. */
#include "unit.h"

#include "base/buf.h"
#include "base/json/yaml.h"
#include "cmd/daemon/always.h"
#include "profile/relabel.h"

#include <errno.h>

static int read_text(const char *text, size_t len, struct arena *a, const struct yaml **out,
		     struct err *err)
{
	return yaml_read(text, len, "f.yaml", a, out, err);
}

/* {a=1@1,[x@2,y@3]@2}: kinds, keys, texts and lines. */
static void spell(struct buf *b, const struct yaml *y)
{
	const char *marks = y->kind == YAML_LIST ? "[]" : "{}";

	if (y->key)
		buf_addf(b, "%s=", y->key);
	if (y->kind == YAML_TEXT) {
		buf_addf(b, "%s%s@%u", y->is_null ? "~" : "", y->text, y->line);
		return;
	}
	buf_addc(b, marks[0]);
	for (const struct yaml *kid = y->kids; kid; kid = kid->next) {
		spell(b, kid);
		if (kid->next)
			buf_addc(b, ',');
	}
	buf_addf(b, "%c@%u", marks[1], y->line);
}

START_TEST(written_yaml_is_read)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "{}@1" },
		{ "# nothing\n\n", "{}@1" },
		{ "~", "{}@1" },
		{ "a: 10m\nb: '10m'\n", "{a=10m@1,b=10m@2}@1" },
		{ "a: 0x10\nb: yes\nc: 1_000\nd: 12:30\n",
		  "{a=0x10@1,b=yes@2,c=1_000@3,d=12:30@4}@1" },
		{ "a:\nb: ~\nc: null\nd: ''\ne: 'null'\n",
		  "{a=~@1,b=~~@2,c=~null@3,d=@4,e=null@5}@1" },
		{ "l: [x, y]\nm:\n  - p\n  - q\n", "{l=[x@1,y@1]@1,m=[p@3,q@4]@3}@1" },
		{ "m: {k: v, 'k 2': \"\\u20ac\\t\"}\n", "{m={k=v@1,k 2=\xe2\x82\xac\t@1}@1}@1" },
		{ "t: >\n  two\n  lines\n", "{t=two lines\n@1}@1" },
		{ "- a\n- b: c\n", "[a@1,{b=c@2}@2]@1" },
		{ "word", "word@1" },
		{ "---\na: b\n...\n", "{a=b@2}@2" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena a = { 0 };
		struct err err = { 0 };
		struct buf b = { 0 };
		const struct yaml *y;

		ck_assert_msg(read_text(cases[i].text, strlen(cases[i].text), &a, &y, &err) == 0,
			      "%zu: %s", i, err.text);
		spell(&b, y);
		ck_assert_str_eq(buf_cstr(&b), cases[i].want);
		ck_assert(yaml_equal(y, y));
		buf_done(&b);
		arena_done(&a);
	}
}
END_TEST

START_TEST(misplaced_items_are_refused)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "a: &x 1\n", "f.yaml:1: anchors" },
		{ "a: [1]\n\nb: *a\n", "f.yaml:3: anchors" },
		{ "a: &x [1]\nb: [*x, *x]\n", "f.yaml:1: anchors" },
		{ "a: !!int 5\n", "anchors (&), aliases (*) and tags" },
		{ "a: !mine {b: c}\n", "anchors" },
		{ "a: 1\nb: 2\na: 3\n", "f.yaml:3: a is repeated" },
		{ "? [a]\n: b\n", "f.yaml:1: a key must be a word" },
		{ "? {a: b}\n: b\n", "a key must be a word" },
		{ "a: b\n---\nc: d\n", "f.yaml:2: more than one document" },
		{ "a: b\n---\n", "more than one document" },
		{ "a: [[[[[[[[1]]]]]]]]\n", "nested too deep" },
		{ "a: \"x\\0y\"\n", "f.yaml:1: the text contains NUL" },
		{ "a: [1, 2\n", "invalid YAML" },
		{ "a: b: c\n", "f.yaml:1: invalid YAML" },
		{ "a: b\n\tc: d\n", "invalid YAML" },
		{ "a: \xff\xfe\n", "invalid YAML" },
		{ "a: b\n\x01", "invalid YAML" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena a = { 0 };
		struct err err = { 0 };
		const struct yaml *y = NULL;

		ck_assert_msg(read_text(cases[i].text, strlen(cases[i].text), &a, &y, &err) ==
				      -EINVAL,
			      "%zu", i);
		ck_assert_msg(strstr(err.text, cases[i].want) != NULL, "%zu: %s", i, err.text);
		ck_assert_ptr_null(y);
		arena_done(&a);
	}
}
END_TEST

static void refuse_large(struct buf *b, int code)
{
	struct arena a = { 0 };
	struct err err = { 0 };
	const struct yaml *y;

	ck_assert_int_eq(read_text(b->data, b->len, &a, &y, &err), code);
	ck_assert_uint_gt(strlen(err.text), 0);
	arena_done(&a);
	buf_done(b);
}

/* The maximum of each kind. */
START_TEST(large_input_ends_soon)
{
	struct buf b = { 0 };

	for (int i = 0; i <= YAML_MAX_BYTES; i++)
		buf_addc(&b, '#');
	refuse_large(&b, -EFBIG);
	for (int i = 0; i < YAML_MAX_BYTES; i++)
		buf_addc(&b, '[');
	refuse_large(&b, -EINVAL);
	for (int i = 0; i < YAML_MAX_BYTES / 4; i++)
		buf_addf(&b, "- a\n");
	refuse_large(&b, -EINVAL);
	for (int i = 0; i < YAML_MAX_BYTES / 12; i++)
		buf_addf(&b, "k%d: 1\n", i);
	refuse_large(&b, -EINVAL);
	for (int i = 0; i < YAML_MAX_BYTES / 2; i++)
		buf_adds(&b, "? ");
	refuse_large(&b, -EINVAL);
	buf_adds(&b, "a: \"");
	for (int i = 0; i < YAML_MAX_BYTES / 2; i++)
		buf_adds(&b, "\\n");
	refuse_large(&b, b.len > YAML_MAX_BYTES ? -EFBIG : -EINVAL);
}
END_TEST

START_TEST(documents_are_compared)
{
	static const char *const texts[] = {
		"a: 1", "a: 2",   "b: 1",       "a: [1]", "a: {b: 1}",
		"a: ~", "a: '~'", "a: 1\nb: 2", "",       "a: [1, 1]"
	};
	size_t n = sizeof texts / sizeof *texts;

	for (size_t i = 0; i < n * n; i++) {
		struct arena a = { 0 };
		const struct yaml *x, *y;
		struct buf moved = { 0 };

		buf_addf(&moved, "# lower\n\n%s", texts[i / n]);
		ck_assert_int_eq(read_text(moved.data, moved.len, &a, &x, NULL), 0);
		ck_assert_int_eq(read_text(texts[i % n], strlen(texts[i % n]), &a, &y, NULL), 0);
		ck_assert_int_eq(yaml_equal(x, y), i / n == i % n);
		buf_done(&moved);
		arena_done(&a);
	}
	ck_assert(yaml_equal(NULL, NULL));
}
END_TEST

/* --- the key relabel -------------------------------------------------------------------------- */

START_TEST(rules_are_read)
{
	struct arena a = { 0 };
	struct err err = { 0 };
	struct relabel *r;
	const struct yaml *y;
	struct buf b = { 0 };

	for (const char *c = relabel_example; *c; c++) /* the documented one, uncommented */
		if (*c != '#' || (c != relabel_example && c[-1] != '\n'))
			buf_addc(&b, *c);
	ck_assert_msg(read_text(b.data, b.len, &a, &y, &err) == 0, "%s", err.text);
	ck_assert_msg(relabel_read(y->kids, "f.yaml", &r, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(relabel_count(r), 2);
	relabel_free(r);
	ck_assert_int_eq(relabel_read(NULL, "f.yaml", &r, &err), 0);
	ck_assert_ptr_null(r);
	buf_done(&b);
	arena_done(&a);
}
END_TEST

START_TEST(wrong_rules_say_where)
{
	static const struct {
		const char *text, *want, *hint;
	} cases[] = {
		{ "relabel: a\n", "f.yaml:1: relabel is a list of rules", "" },
		{ "relabel:\n- a\n", "f.yaml:2: relabel rules are keys and values", "" },
		{ "relabel:\n- action: replase\n", "f.yaml:2: relabel: unknown action 'replase'",
		  "did you mean replace?" },
		{ "relabel:\n- regexp: a\n", "f.yaml:2: relabel: unknown key 'regexp'",
		  "did you mean regex?" },
		{ "relabel:\n- target_label: a\n  replacement:\n", "f.yaml:3: replacement must be",
		  "" },
		{ "relabel:\n- source_labels: a\n", "f.yaml:2: source_labels is a list", "" },
		{ "relabel:\n- source_labels: [[a]]\n", "source_labels is a list of names", "" },
		{ "relabel:\n\n- {action: keep, source_labels: [a], regex: '('}\n",
		  "f.yaml:3: relabel: regex: ", "" },
		{ "relabel:\n- action: hashmod\n", "unknown action 'hashmod'", "known: replace" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena a = { 0 };
		struct err err = { 0 };
		struct relabel *r;
		const struct yaml *y;

		ck_assert_int_eq(read_text(cases[i].text, strlen(cases[i].text), &a, &y, &err), 0);
		ck_assert_int_eq(relabel_read(y->kids, "f.yaml", &r, &err), -EINVAL);
		ck_assert_msg(strstr(err.text, cases[i].want) != NULL, "%zu: %s", i, err.text);
		ck_assert_msg(strstr(err.hint, cases[i].hint) != NULL, "%zu: %s", i, err.hint);
		ck_assert_ptr_null(r);
		arena_done(&a);
	}
}
END_TEST

UNIT_MAIN("yaml", written_yaml_is_read, misplaced_items_are_refused, large_input_ends_soon,
	  documents_are_compared, rules_are_read, wrong_rules_say_where)
