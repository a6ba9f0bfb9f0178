/* cresset completion: prints shell completion scripts, made from the option tables. */
#include "cmd/cli/completion.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "cmd/cli/cmd.h"
#include "format/common/format.h"
#include "format/formats.h"

#include <errno.h>

static const struct shell {
	const char *name;
	void (*script)(struct buf *b, const struct cmd *const *all);
} shells[] = {
	{ "bash", completion_bash },
	{ "zsh", completion_zsh },
	{ "fish", completion_fish },
};
enum { SHELLS = sizeof shells / sizeof *shells };

/* --- completions ----------------------------------------------------------------------------- */

static const struct {
	const char *arg;
	enum completes what;
} by_arg[] = {
	{ "FILE", COMPLETES_FILES },       { "OLD", COMPLETES_FILES },
	{ "PATH", COMPLETES_DIRECTORIES }, { "DIR", COMPLETES_DIRECTORIES },
	{ "PID,...", COMPLETES_PIDS },     { "TID,...", COMPLETES_TIDS },
	{ "FORMAT", COMPLETES_WORDS },
};

enum completes completes_for(const struct cmd_opt *o)
{
	if (o->words)
		return COMPLETES_WORDS;
	for (size_t i = 0; o->arg && i < sizeof by_arg / sizeof *by_arg; i++)
		if (strcmp(o->arg, by_arg[i].arg) == 0)
			return by_arg[i].what;
	return COMPLETES_NOTHING;
}

void complete_words(struct buf *b, const struct cmd_opt *o)
{
	if (!o->words)
		format_names(b, strcmp(o->name, "from") == 0 ? FORMAT_READS : FORMAT_WRITES, " ");
	for (size_t i = 0; o->words && o->words[i]; i++)
		buf_addf(b, "%s%s", i ? " " : "", o->words[i]);
}

bool completes_list(const struct cmd_opt *o)
{
	return o->kind == OPT_COMMA || o->kind == OPT_CHOICES;
}

bool completes_again(const struct cmd_opt *o)
{
	return completes_list(o) || o->kind == OPT_STRINGS || o->kind == OPT_COUNT;
}

enum completes completes_args(const struct cmd *cmd)
{
	if (!cmd->max_args || cmd == &cmd_doctor)
		return COMPLETES_NOTHING;
	bool words = cmd == &cmd_help || cmd == &cmd_completion;
	return words ? COMPLETES_WORDS : COMPLETES_FILES;
}

void complete_args_words(struct buf *b, const struct cmd *cmd, const struct cmd *const *all)
{
	for (int i = 0; cmd == &cmd_completion && i < SHELLS; i++)
		buf_addf(b, "%s%s", i ? " " : "", shells[i].name);
	if (cmd != &cmd_help)
		return;
	for (; *all; all++)
		buf_addf(b, "%s ", (*all)->name);
	buf_adds(b, HELP_TOPIC);
}

void complete_endings(struct buf *b, const char *before, const char *after)
{
	for (const struct format *const *f = formats; *f; f++)
		for (const char *const *e = (*f)->endings; (*f)->read && e && *e; e++)
			buf_addf(b, "%s%s%s", before, *e, after);
	static const char *const packed[] = { ".gz", ".zst", ".xz" };
	for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
		buf_addf(b, "%s%s%s", before, packed[i], after);
}

/* --- the command ----------------------------------------------------------------------------- */

static int unknown_shell(const char *name)
{
	const char *names[SHELLS];
	struct err err = { 0 };
	for (int i = 0; i < SHELLS; i++)
		names[i] = shells[i].name;
	const char *near = str_nearest(name, names, SHELLS);
	err_set(&err, EINVAL, "unsupported shell '%s'", name);
	if (near)
		err_hint(&err, "did you mean '%s'?\nknown: bash, zsh and fish", near);
	else
		err_hint(&err, "known: bash, zsh and fish");
	return cmd_fail(CMD_USAGE, &err);
}

static int completion_run(struct cmd_line *line, const void *opts)
{
	(void)opts;
	struct buf b = { 0 };
	for (int i = 0; i < SHELLS; i++) {
		if (strcmp(shells[i].name, line->args.v[0]) != 0)
			continue;
		shells[i].script(&b, line->all);
		return cmd_print(&b);
	}
	return unknown_shell(line->args.v[0]);
}

const struct cmd cmd_completion = {
	.name = "completion",
	.summary = "completion of command lines for bash, zsh or fish",
	.usage = "bash|zsh|fish",
	.about = "Prints a script for the shell. make install puts it where the shell finds it.",
	.examples = { "cresset completion bash\tfor: source <(cresset completion bash)",
		      "cresset completion zsh\tfor a file _cresset in a directory of $fpath",
		      "cresset completion fish\tfor ~/.config/fish/completions/cresset.fish" },
	.min_args = 1,
	.max_args = 1,
	.arg_name = "bash, zsh or fish",
	.run = completion_run,
};
