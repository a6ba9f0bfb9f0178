#include "cmd/relabel_rules.h"

#include "base/str.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

const char relabel_example[] = "#relabel:\n"
			       "#  - action: drop              # what cron starts is not kept\n"
			       "#    source_labels: [process]\n"
			       "#    regex: cron|anacron\n"
			       "#  - source_labels: [host]     # web-7.example.org: role=web\n"
			       "#    regex: ([a-z]+)-[0-9]+\\..*\n"
			       "#    target_label: role\n"
			       "#    replacement: $1           # the default\n";

/* A rule being read. */
struct reading {
	const char *file;
	struct relabel_rule rule;
	VEC(const char *) sources;
	struct err *err;
};

enum key { KEY_ACTION, KEY_SOURCES, KEY_SEPARATOR, KEY_REGEX, KEY_TARGET, KEY_REPLACEMENT, KEYS };
static const char *const keys[KEYS] = {
	"action", "source_labels", "separator", "regex", "target_label", "replacement",
};

static int refuse(struct reading *r, const struct yaml *y, const char *why)
{
	return err_set(r->err, EINVAL, "%s:%u: %s %s", r->file, y->line,
		       y->key ? y->key : "relabel", why);
}

static int unknown(struct reading *r, const struct yaml *y, const char *what, const char *word,
		   const char *const *known, size_t n)
{
	const char *near = str_nearest(word, known, n);
	struct buf all = { 0 };

	for (size_t i = 0; i < n; i++)
		buf_addf(&all, "%s%s", i ? ", " : "", known[i]);
	err_set(r->err, EINVAL, "%s:%u: relabel: unknown %s '%s'", r->file, y->line, what, word);
	if (near)
		err_hint(r->err, "did you mean %s?\nknown: %s", near, buf_cstr(&all));
	else
		err_hint(r->err, "known: %s", buf_cstr(&all));
	buf_done(&all);
	return -EINVAL;
}

static int take_action(struct reading *r, const struct yaml *y)
{
	for (int i = 0; i < RELABEL_ACTIONS; i++)
		if (strcmp(relabel_actions[i], y->text) == 0) {
			r->rule.action = (enum relabel_action)i;
			return 0;
		}
	return unknown(r, y, "action", y->text, relabel_actions, RELABEL_ACTIONS);
}

static int take_sources(struct reading *r, const struct yaml *y)
{
	if (y->kind != YAML_LIST)
		return refuse(r, y, "is a list: [a, b]");
	for (const struct yaml *kid = y->kids; kid; kid = kid->next) {
		if (kid->kind != YAML_TEXT || !*kid->text)
			return refuse(r, y, "is a list of names");
		vec_push(&r->sources, kid->text);
	}
	r->rule.source_labels = r->sources.v;
	r->rule.n_sources = r->sources.n;
	return 0;
}

static int take(struct reading *r, const struct yaml *y)
{
	size_t key = 0;

	while (key < KEYS && strcmp(keys[key], y->key) != 0)
		key++;
	if (key == KEYS)
		return unknown(r, y, "key", y->key, keys, KEYS);
	if (key == KEY_SOURCES)
		return take_sources(r, y);
	if (y->kind != YAML_TEXT || y->is_null)
		return refuse(r, y, "has to be a text; an empty one is ''");
	if (key == KEY_ACTION)
		return take_action(r, y);
	const char **texts[KEYS] = {
		[KEY_SEPARATOR] = &r->rule.separator,
		[KEY_REGEX] = &r->rule.regex,
		[KEY_TARGET] = &r->rule.target_label,
		[KEY_REPLACEMENT] = &r->rule.replacement,
	};
	*texts[key] = y->text;
	return 0;
}

static int read_rule(const struct yaml *y, const char *file, struct relabel *to, struct err *err)
{
	struct reading r = { .file = file, .err = err };
	int rc = y->kind == YAML_MAPPING ? 0 : refuse(&r, y, "rules are keys and values");

	for (const struct yaml *kid = y->kids; kid && !rc; kid = kid->next)
		rc = take(&r, kid);
	if (!rc) {
		rc = relabel_add(to, &r.rule, err);
		if (rc)
			err_prefix(err, "%s:%u: relabel", file, y->line);
	}
	vec_done(&r.sources);
	return rc;
}

int relabel_read(const struct yaml *y, const char *file, struct relabel **out, struct err *err)
{
	int rc = 0;

	*out = NULL;
	if (!y)
		return 0;
	if (y->kind != YAML_LIST)
		return err_set(err, EINVAL, "%s:%u: relabel is a list of rules", file, y->line);
	struct relabel *r = relabel_new();
	for (const struct yaml *kid = y->kids; kid && !rc; kid = kid->next)
		rc = read_rule(kid, file, r, err);
	if (rc)
		relabel_free(r);
	else
		*out = r;
	return rc;
}
