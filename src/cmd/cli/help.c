#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/cli/cmd.h"
#include "format/common/format.h"
#include "format/formats.h"

#include <errno.h>
#include <string.h>

/* --- the documented cresset.yaml, made from the tables --- */

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

/* Each key is commented out, with its default, or the kind of value if it has none. */
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

/* cresset.yaml with every key of every command, each commented out with its default. */
static void config_text(struct buf *b, const struct cmd *const *all)
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

/* Longer entries of the left column put their text on the next line. */
enum { OPTION_COLUMN = 28, FORMAT_COLUMN = 14, COMMAND_COLUMN = 14 };

static void pad_to(struct buf *b, size_t line_start, size_t column)
{
	do
		buf_addc(b, ' ');
	while (b->len - line_start < column);
}

/* Appends text word by word, with lines of at most HELP_WIDTH; the first line began at line_start,
 * further ones are indented. */
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
	size_t head = b->len;
	for (const struct cmd_opt *o = cmd->options; o && o->name; o++) {
		if (!o->basic)
			continue;
		if (b->len == head)
			buf_addc(b, '\n');
		option_line(b, o);
	}
	buf_addf(b, "\ncresset %s --help-all lists every option.\n", cmd->name);
}

/* The options of a group are adjacent in the table. */
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
	for (const char *about = cmd->about; about && *about;) {
		size_t len = strcspn(about, "\n");
		char *paragraph = xstrndup(about, len);
		buf_addc(b, '\n');
		wrap(b, b->len, 0, paragraph);
		free(paragraph);
		about += len + (about[len] == '\n');
	}
	help_groups(b, cmd->options, "");
	help_groups(b, global_options, cmd->has_json ? "" : "json");
}

const char *const help_examples[HELP_EXAMPLES] = {
	"cresset record -a -d 10 -o cpu.svg\twhole machine for 10 s, as a flame graph",
	"cresset record -- ./prog --arg\tone program, from its start to its end",
	"cresset report cresset-*.cresset\twhere the time went, as a table",
};

void help_program(struct buf *b, const struct cmd *const *all)
{
	buf_adds(b, "cresset: where every CPU cycle of a machine goes\n\n");
	example_lines(b, help_examples, HELP_EXAMPLES);
	buf_adds(b, "\nusage: cresset COMMAND [OPTIONS]\n\n");
	for (; *all; all++) {
		size_t start = b->len;
		buf_addf(b, "  %s", (*all)->name);
		pad_to(b, start, COMMAND_COLUMN);
		buf_addf(b, "%s\n", (*all)->summary);
	}
	buf_adds(b, "\ncresset COMMAND -h shows examples and the usual options of a command.\n");
}

static void format_lines(struct buf *b, const struct format *f)
{
	struct buf text = { 0 };
	size_t start = b->len;
	buf_addf(b, "  %s", f->name);
	pad_to(b, start, FORMAT_COLUMN);
	buf_adds(&text, f->read && f->write ? "read, written" : f->read ? "read" : "written");
	for (const char *const *e = f->endings; e && *e; e++)
		buf_addf(&text, "%s%s", e == f->endings ? ": " : " ", *e);
	wrap(b, start, FORMAT_COLUMN, buf_cstr(&text));
	start = b->len;
	pad_to(b, start, FORMAT_COLUMN);
	buf_clear(&text);
	buf_addf(&text, "%s%s", f->summary, f->one_type ? "; one type" : "");
	wrap(b, start, FORMAT_COLUMN, buf_cstr(&text));
	buf_done(&text);
}

static void help_formats(struct buf *b)
{
	buf_adds(b, "File formats. What is read is found by content, gzip, zstd and xz unpacked;\n"
		    "--from says it where that fails. What is written is chosen by the ending of\n"
		    "the name, or by --format (also --to).\n\n");
	for (const struct format *const *f = formats; *f; f++)
		format_lines(b, *f);
	buf_adds(b, "\ncresset help --man formats | man -l -   says what each cannot hold.\n");
}

/* --- cresset help ---------------------------------------------------------------------------- */

struct help_opts {
	bool man, config;
	const char *man_pages;
};

static const struct cmd_opt help_options[] = {
	{ NULL, "man", NULL, "as a manual page, for man -l -", OPT_FLAG, .group = "Manual pages",
	  .offset = offsetof(struct help_opts, man), .basic = true },
	{ NULL, "man-pages", "DIR", "write all manual pages into this directory", OPT_STRING,
	  .group = "Manual pages", .offset = offsetof(struct help_opts, man_pages), .basic = true },
	{ NULL, "config", NULL, "cresset.yaml with every key and its default", OPT_FLAG,
	  .group = "Configuration", .offset = offsetof(struct help_opts, config), .basic = true },
	{ 0 },
};

static void add_text(struct buf *b, const struct cmd *const *all, const struct cmd *cmd, bool man)
{
	if (man && cmd)
		man_command(b, all, cmd);
	else if (man)
		man_formats(b);
	else if (cmd)
		help_all(b, cmd);
	else
		help_formats(b);
}

/* Writes DIR/cresset-NAME.SECTION, or DIR/cresset.1, and frees the text. */
static int write_page(const char *dir, const char *name, int section, struct buf *text)
{
	struct err err = { 0 };
	struct out out;
	char *path = xasprintf("%s/cresset%s%s.%d", dir, *name ? "-" : "", name, section);
	int rc = out_open(&out, path, &err);
	if (rc == 0 && (rc = out_write(&out, text->data, text->len, &err)) < 0)
		out_abort(&out);
	if (rc == 0)
		rc = out_commit(&out, &err);
	free(path);
	buf_done(text);
	return rc < 0 ? cmd_fail(CMD_NO_OUTPUT, &err) : CMD_OK;
}

static int write_pages(const char *dir, const struct cmd *const *all)
{
	struct buf b = { 0 };
	man_program(&b, all);
	int status = write_page(dir, "", 1, &b);
	for (const struct cmd *const *cmd = all; *cmd && status == CMD_OK; cmd++) {
		man_command(&b, all, *cmd);
		status = write_page(dir, (*cmd)->name, 1, &b);
	}
	if (status != CMD_OK)
		return status;
	man_formats(&b);
	return write_page(dir, HELP_TOPIC, 5, &b);
}

static int help_run(struct cmd_line *line, const void *opts)
{
	const struct help_opts *o = opts;
	const char *name = line->args.n ? line->args.v[0] : NULL;
	const struct cmd *cmd = NULL;
	struct err err = { 0 };
	struct buf b = { 0 };
	if (o->man_pages)
		return write_pages(o->man_pages, line->all);
	if (name && strcmp(name, HELP_TOPIC) != 0 && !(cmd = cmd_find(line->all, name, &err))) {
		if (str_nearest(name, (const char *const[]){ HELP_TOPIC }, 1))
			err_hint(&err, "did you mean 'cresset help " HELP_TOPIC "'?");
		return cmd_fail(CMD_USAGE, &err);
	}
	if (o->config)
		config_text(&b, line->all);
	else if (name)
		add_text(&b, line->all, cmd, o->man);
	else if (o->man)
		man_program(&b, line->all);
	else
		help_program(&b, line->all);
	return cmd_print(&b);
}

const struct cmd cmd_help = {
	.name = "help",
	.summary = "all about a command, or about file formats",
	.usage = "[COMMAND | " HELP_TOPIC "] [OPTIONS]",
	.examples = { "cresset help record\tevery option of record",
		      "cresset help formats\twhat can be read and written",
		      "cresset help --man record\ta manual page, for man -l -" },
	.options = help_options,
	.opts_size = sizeof(struct help_opts),
	.max_args = 1,
	.arg_name = "COMMAND",
	.run = help_run,
};
