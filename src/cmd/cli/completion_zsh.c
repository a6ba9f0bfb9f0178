/* Generates the zsh completion script from the option tables. */
#include "cmd/cli/completion.h"

#include "base/buf.h"
#include "cmd/cli/cmd.h"

/* Text in a spec of _arguments, inside single quotes. */
static void spec_text(struct buf *b, const char *s)
{
	for (; *s; s++) {
		if (*s == '\'')
			buf_adds(b, "'\\'");
		else if (strchr("[]:\\", *s))
			buf_addc(b, '\\');
		buf_addc(b, *s);
	}
}

static void action(struct buf *b, const struct cmd_opt *o)
{
	const char *list = completes_list(o) ? "_sequence " : "";
	switch (completes_for(o)) {
	case COMPLETES_WORDS:
		buf_adds(b, *list ? "_sequence compadd - " : "(");
		complete_words(b, o);
		buf_adds(b, *list ? "" : ")");
		break;
	case COMPLETES_FILES:
		buf_adds(b, "_files");
		break;
	case COMPLETES_DIRECTORIES:
		buf_adds(b, "_files -/");
		break;
	case COMPLETES_PIDS:
		buf_addf(b, "%s_cresset_pids", list);
		break;
	case COMPLETES_TIDS:
		buf_addf(b, "%s_cresset_tids", list);
		break;
	case COMPLETES_NOTHING:
		buf_addc(b, ' ');
		break;
	}
}

/* Writes one 'spec' per spelling: (-F -f --freq)-F+[samples per second]:HZ: */
static void spelling(struct buf *b, const struct cmd_opt *o, const char *dashes, const char *name,
		     const char *join)
{
	buf_adds(b, "\t\t'");
	if (completes_again(o)) {
		buf_addc(b, '*');
	} else {
		buf_addc(b, '(');
		for (const char *c = o->shorts; c && *c; c++)
			buf_addf(b, "-%c ", *c);
		buf_addf(b, "--%s)", o->name);
	}
	buf_addf(b, "%s%s%s[", dashes, name, o->arg ? join : "");
	spec_text(b, o->help);
	buf_addc(b, ']');
	if (o->arg) {
		buf_adds(b, o->bare ? "::" : ":");
		spec_text(b, o->arg);
		buf_addc(b, ':');
		action(b, o);
	}
	buf_adds(b, "' \\\n");
}

static void specs(struct buf *b, const struct cmd_opt *table, const char *except)
{
	for (const struct cmd_opt *o = table; o && o->name; o++) {
		if (strcmp(o->name, except) == 0)
			continue;
		for (const char *c = o->shorts; c && *c; c++)
			spelling(b, o, "-", (char[]){ *c, '\0' }, o->bare ? "-" : "+");
		spelling(b, o, "--", o->name, o->bare ? "=-" : "=");
	}
}

static void args(struct buf *b, const struct cmd *cmd, const struct cmd *const *all)
{
	const char *many = cmd->max_args > 1 ? "*" : "1";
	if (cmd->runs_command) {
		buf_adds(b, "\t\t'*::command: _normal'");
	} else if (completes_args(cmd) == COMPLETES_FILES) {
		buf_addf(b, "\t\t'%s:FILE:_files -g \"*(", many);
		complete_endings(b, "", "|");
		b->len--; /* the last | */
		buf_adds(b, ")(-.)\"'");
	} else if (completes_args(cmd) == COMPLETES_WORDS) {
		buf_addf(b, "\t\t'%s: :(", many);
		complete_args_words(b, cmd, all);
		buf_adds(b, ")'");
	} else {
		buf_adds(b, "\t\t'*: :'");
	}
	buf_addc(b, '\n');
}

void completion_zsh(struct buf *b, const struct cmd *const *all)
{
	buf_adds(b, "#compdef cresset\n"
		    "# Completion of cresset for zsh: cresset completion zsh >_cresset, in a "
		    "directory of $fpath\n"
		    "_cresset_pids() { compadd \"$@\" -- /proc/<->(N:t) }\n"
		    "_cresset_tids() { compadd \"$@\" -- /proc/<->/task/<->(N:t) }\n"
		    "_cresset_commands() {\n\tlocal -a commands=(\n");
	for (const struct cmd *const *cmd = all; *cmd; cmd++) {
		buf_addf(b, "\t\t'%s:", (*cmd)->name);
		spec_text(b, (*cmd)->summary);
		buf_adds(b, "'\n");
	}
	buf_adds(b, "\t)\n\t_describe -t commands command commands\n}\n"
		    "_cresset() {\n"
		    "\tlocal curcontext=$curcontext state line\n"
		    "\ttypeset -A opt_args\n"
		    "\t_arguments -C -s -S \\\n");
	specs(b, global_options, "json");
	buf_adds(b, "\t\t'1: :_cresset_commands' \\\n\t\t'*:: :->command' && return\n"
		    "\tcase $line[1] in\n");
	for (const struct cmd *const *cmd = all; *cmd; cmd++) {
		buf_addf(b, "\t%s) _arguments -s -S \\\n", (*cmd)->name);
		specs(b, (*cmd)->options, "");
		specs(b, global_options, (*cmd)->has_json ? "" : "json");
		args(b, *cmd, all);
		buf_adds(b, "\t\t;;\n");
	}
	buf_adds(b, "\tesac\n}\n"
		    "if [[ $funcstack[1] == _cresset ]]; then _cresset \"$@\"; else compdef "
		    "_cresset cresset; fi\n");
}
