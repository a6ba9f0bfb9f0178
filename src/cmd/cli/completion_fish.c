/* Generates the fish completion script from the option tables. */
#include "cmd/cli/completion.h"

#include "base/buf.h"
#include "cmd/cli/cmd.h"

static void quoted(struct buf *b, const char *s)
{
	buf_addc(b, '\'');
	for (; *s; s++) {
		if (*s == '\'' || *s == '\\')
			buf_addc(b, '\\');
		buf_addc(b, *s);
	}
	buf_addc(b, '\'');
}

/* -x: requires an argument that is no file; -r: requires an argument, -F: files. */
static void value(struct buf *b, const struct cmd_opt *o)
{
	const char *list = completes_list(o) ? "__fish_append , " : "";
	switch (completes_for(o)) {
	case COMPLETES_WORDS:
		buf_addf(b, " -%s -a '%s%s", o->bare ? "f" : "x", *list ? "(" : "", list);
		complete_words(b, o);
		buf_adds(b, *list ? ")'" : "'");
		break;
	case COMPLETES_FILES:
		buf_adds(b, " -r -F");
		break;
	case COMPLETES_DIRECTORIES:
		buf_adds(b, " -x -a '(__fish_complete_directories)'");
		break;
	case COMPLETES_PIDS:
		buf_adds(b, " -x -a '(__fish_complete_list , __fish_complete_pids)'");
		break;
	case COMPLETES_TIDS:
	case COMPLETES_NOTHING:
		buf_adds(b, " -x");
		break;
	}
}

static void options(struct buf *b, const char *condition, const struct cmd_opt *table,
		    const char *except)
{
	for (const struct cmd_opt *o = table; o && o->name; o++) {
		if (strcmp(o->name, except) == 0)
			continue;
		buf_addf(b, "complete -c cresset -n '%s'", condition);
		for (const char *c = o->shorts; c && *c; c++)
			buf_addf(b, " -s %c", *c);
		buf_addf(b, " -l %s", o->name);
		if (o->arg)
			value(b, o);
		buf_adds(b, " -d ");
		quoted(b, o->help);
		buf_addc(b, '\n');
	}
}

static void args(struct buf *b, const char *condition, const struct cmd *cmd,
		 const struct cmd *const *all)
{
	if (completes_args(cmd) == COMPLETES_NOTHING && !cmd->runs_command)
		return;
	buf_addf(b, "complete -c cresset -n '%s' -a '", condition);
	if (cmd->runs_command) {
		buf_adds(b, "(__fish_complete_subcommand --fcs-skip=2)");
	} else if (completes_args(cmd) == COMPLETES_FILES) {
		buf_adds(b, "(__fish_complete_suffix");
		complete_endings(b, " ", "");
		buf_addc(b, ')');
	} else {
		complete_args_words(b, cmd, all);
	}
	buf_adds(b, "'\n");
}

void completion_fish(struct buf *b, const struct cmd *const *all)
{
	buf_adds(b, "# Completion of cresset for fish: cresset completion fish "
		    ">~/.config/fish/completions/cresset.fish\n"
		    "complete -c cresset -f\n");
	for (const struct cmd *const *cmd = all; *cmd; cmd++) {
		buf_addf(b, "complete -c cresset -n __fish_use_subcommand -a %s -d ", (*cmd)->name);
		quoted(b, (*cmd)->summary);
		buf_addc(b, '\n');
	}
	options(b, "__fish_use_subcommand", global_options, "json");
	for (const struct cmd *const *cmd = all; *cmd; cmd++) {
		char condition[128];
		snprintf(condition, sizeof condition, "__fish_seen_subcommand_from %s",
			 (*cmd)->name);
		options(b, condition, (*cmd)->options, "");
		options(b, condition, global_options, (*cmd)->has_json ? "" : "json");
		args(b, condition, *cmd, all);
	}
}
