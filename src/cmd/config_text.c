/* The documented cresset.yaml, made of the tables. */
#include "base/escape.h"
#include "cmd/config.h"

#include <string.h>

enum { COLUMNS = 100 };

/* "# words words" */
static void comment(struct buf *b, const char *text)
{
	size_t start = b->len;

	buf_addc(b, '#');
	while (*text) {
		size_t len = strcspn(text, " ");

		if (b->len - start + 1 + len > COLUMNS) {
			buf_adds(b, "\n#");
			start = b->len - 1;
		}
		buf_addc(b, ' ');
		buf_add(b, text, len);
		text += len + (text[len] == ' ');
	}
	buf_addc(b, '\n');
}

static const char *kind_words(const struct cmd_opt *o)
{
	switch (o->kind) {
	case OPT_FLAG:
		return "true or false";
	case OPT_SIZE:
		return "a size: 64K, 16M, 2G";
	case OPT_DURATION:
		return "a time: 500ms, 10s, 15m, 7d";
	case OPT_COMMA:
	case OPT_CHOICES:
		return "a list: [a, b]";
	case OPT_STRINGS:
		return "a list: [a, b]; of labels a mapping: {a: b}";
	default:
		return NULL;
	}
}

/* Each commented out, with its default; without one, with what kind of thing it is. */
static void key_lines(struct buf *b, const struct cmd_opt *o)
{
	const char *words = kind_words(o);
	struct buf text = { 0 };

	buf_adds(&text, o->help);
	if (words)
		buf_addf(&text, " (%s)", words);
	if (o->kind == OPT_U64 && o->max)
		buf_addf(&text, " (%llu to %llu)", (unsigned long long)o->min,
			 (unsigned long long)o->max);
	comment(b, buf_cstr(&text));
	buf_done(&text);
	if (o->kind == OPT_TREE)
		buf_addf(b, "%s\n", o->bare);
	else if (o->kind == OPT_FLAG)
		buf_addf(b, "#%s: false\n\n", o->name);
	else if (o->def && (o->kind == OPT_COMMA || o->kind == OPT_CHOICES))
		buf_addf(b, "#%s: [%s]\n\n", o->name, o->def);
	else if (o->def)
		buf_addf(b, "#%s: %s\n\n", o->name, o->def);
	else
		buf_addf(b, "#%s: %s  # by default none\n\n", o->name, o->arg);
}

static void group_lines(struct buf *b, const struct cmd_opt *table, const char **group)
{
	for (const struct cmd_opt *o = table; o && o->name; o++) {
		if (o->kind == OPT_CONFIG || o->kind == OPT_COUNT)
			continue;
		if (strcmp(*group, o->group) != 0)
			buf_addf(b, "# %s\n#\n", o->group);
		*group = o->group;
		key_lines(b, o);
	}
}

static bool has_config(const struct cmd *cmd)
{
	for (const struct cmd_opt *o = cmd->options; o && o->name; o++)
		if (o->kind == OPT_CONFIG)
			return true;
	return false;
}

static const char head[] =
	"# cresset.yaml: every key and its default. Made by  cresset help --config\n"
	"#\n"
	"# A command is given a file by --config FILE, and reads the keys of its own part below; a "
	"key that it does not know is\n"
	"# an error. A key is the long name of an option. What is typed wins over the file, the "
	"file over the default. After a\n"
	"# change, SIGHUP (systemctl reload) makes the command read it again: it says what took "
	"effect and what waits for a\n"
	"# restart, and a file with a mistake changes nothing.\n"
	"#\n"
	"# Times and sizes are written as on the command line: 10s, 15m, 14d; 64K, 256M, 10G. "
	"Anchors, aliases and tags of YAML\n"
	"# are refused.\n";

void config_text(struct buf *b, const struct cmd *const *all)
{
	buf_adds(b, head);
	for (const struct cmd *const *cmd = all; *cmd; cmd++) {
		const char *group = "";

		if (!has_config(*cmd))
			continue;
		if (b->data[b->len - 2] != '\n')
			buf_addc(b, '\n');
		buf_addf(b, "# ----- cresset %s: %s -----\n\n", (*cmd)->name, (*cmd)->summary);
		group_lines(b, (*cmd)->options, &group);
		group_lines(b, (*cmd)->config_only, &group);
	}
	while (b->len > 1 && b->data[b->len - 2] == '\n')
		b->len--;
}
