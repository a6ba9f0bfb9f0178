#include "base/str.h"
#include "cmd/cmd.h"

#include <errno.h>

/* Longer left columns put their text on the next line. */
enum { OPTION_COLUMN = 28 };

static void pad_to(struct buf *b, size_t line_start, size_t column)
{
	do
		buf_addc(b, ' ');
	while (b->len - line_start < column);
}

/* Appends text word by word; the line that starts at line_start may be HELP_WIDTH wide, further ones are indented. */
static void wrap(struct buf *b, size_t line_start, size_t indent, const char *text)
{
	bool first = true;
	while (*text) {
		size_t len = strcspn(text, " ");
		if (!first && b->len - line_start + 1 + len > HELP_WIDTH) {
			buf_addc(b, '\n');
			line_start = b->len;
			for (size_t i = 0; i < indent; i++)
				buf_addc(b, ' ');
		} else if (!first) {
			buf_addc(b, ' ');
		}
		buf_add(b, text, len);
		first = false;
		text += len + (text[len] == ' ');
	}
	buf_addc(b, '\n');
}

/* "  -F, -f, --freq HZ" */
static void option_left(struct buf *b, const struct cmd_opt *o)
{
	buf_adds(b, "  ");
	for (const char *c = o->shorts; c && *c; c++)
		buf_addf(b, "-%c, ", *c);
	if (!o->shorts)
		buf_adds(b, "    ");
	buf_addf(b, "--%s", o->name);
	if (o->arg && o->bare)
		buf_addf(b, "[=%s]", o->arg);
	else if (o->arg)
		buf_addf(b, " %s", o->arg);
}

static void option_line(struct buf *b, const struct cmd_opt *o)
{
	size_t start = b->len;
	option_left(b, o);
	if (b->len - start + 2 > OPTION_COLUMN) {
		buf_addc(b, '\n');
		start = b->len;
	}
	pad_to(b, start, OPTION_COLUMN);
	struct buf text = { 0 };
	buf_adds(&text, o->help);
	if (o->def)
		buf_addf(&text, " (default %s)", o->def);
	wrap(b, start, OPTION_COLUMN, buf_cstr(&text));
	buf_done(&text);
}

static void example_lines(struct buf *b, const char *const *examples, size_t n)
{
	size_t column = 0;
	for (size_t i = 0; i < n && examples[i]; i++) {
		size_t len = strcspn(examples[i], "\t") + 4;
		column = len > column ? len : column;
	}
	for (size_t i = 0; i < n && examples[i]; i++) {
		size_t start = b->len, len = strcspn(examples[i], "\t");
		buf_adds(b, "  ");
		buf_add(b, examples[i], len);
		pad_to(b, start, column);
		buf_addf(b, "%s\n", examples[i] + len + 1);
	}
}

static void help_head(struct buf *b, const struct cmd *cmd)
{
	buf_addf(b, "cresset %s: %s\n\n", cmd->name, cmd->summary);
	example_lines(b, cmd->examples, sizeof cmd->examples / sizeof *cmd->examples);
	size_t start = b->len + 1;
	buf_addf(b, "\nusage: cresset %s ", cmd->name);
	wrap(b, start, strlen("usage: cresset  ") + strlen(cmd->name), cmd->usage);
}

void help_basic(struct buf *b, const struct cmd *cmd)
{
	help_head(b, cmd);
	buf_addc(b, '\n');
	for (const struct cmd_opt *o = cmd->options; o && o->name; o++)
		if (o->basic)
			option_line(b, o);
	buf_addf(b, "\ncresset %s --help-all lists every option.\n", cmd->name);
}

/* A table keeps the options of a group together. */
static void help_groups(struct buf *b, const struct cmd_opt *table, const char *except)
{
	const char *group = "";
	for (const struct cmd_opt *o = table; o && o->name; o++) {
		if (strcmp(o->name, except) == 0)
			continue;
		if (strcmp(o->group, group) != 0)
			buf_addf(b, "\n%s\n", o->group);
		group = o->group;
		option_line(b, o);
	}
}

void help_all(struct buf *b, const struct cmd *cmd)
{
	help_head(b, cmd);
	help_groups(b, cmd->options, "");
	help_groups(b, global_options, cmd->has_json ? "" : "json");
}

void help_program(struct buf *b, const struct cmd *const *all)
{
	static const char *const examples[] = {
		"cresset record -a -d 10 -o cpu.svg\twhole machine for 10 s, as a flame graph",
		"cresset record -- ./prog --arg\tone program, from its start to its end",
		"cresset report cresset-*.cresset\twhere the time went, as a table",
	};
	buf_adds(b, "cresset: where every CPU cycle of a machine goes\n\n");
	example_lines(b, examples, sizeof examples / sizeof *examples);
	buf_adds(b, "\nusage: cresset COMMAND [OPTIONS]\n\n");
	for (; *all; all++) {
		size_t start = b->len;
		buf_addf(b, "  %s", (*all)->name);
		pad_to(b, start, 12);
		buf_addf(b, "%s\n", (*all)->summary);
	}
	buf_adds(b, "\ncresset COMMAND -h shows examples and the usual options of a command.\n");
}

/* cresset help [COMMAND] */
static int help_run(struct cmd_line *line, const void *opts)
{
	(void)opts;
	struct buf b = { 0 };
	if (!line->args.n) {
		help_program(&b, line->all);
		return cmd_print(&b);
	}
	struct err err = { 0 };
	const struct cmd *cmd = cmd_find(line->all, line->args.v[0], &err);
	if (!cmd)
		return cmd_fail(CMD_USAGE, &err);
	help_all(&b, cmd);
	return cmd_print(&b);
}

const struct cmd cmd_help = {
	.name = "help",
	.summary = "what a command does and all its options",
	.usage = "[COMMAND]",
	.examples = { "cresset help record\tevery option of record" },
	.max_args = 1,
	.arg_name = "COMMAND",
	.run = help_run,
};
