/* Generates the bash completion script from the option tables. */
#include "cmd/cli/completion.h"

#include "base/buf.h"
#include "cmd/cli/cmd.h"

/* Bash splits words at = and calls _cresset with them in COMP_WORDS. In the functions, $cur is the
 * word to complete. */
/* clang-format off */
static const char head[] =
	"# Completion of cresset for bash: source <(cresset completion bash)\n"
	"_cresset_words() { # WORDS [,]: with a comma the last part of a list is completed\n"
	"\tlocal before=''\n"
	"\tif [[ ${2-} == , && $cur == *,* ]]; then before=${cur%,*},; fi\n"
	"\tmapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$1\" -- \"${cur#\"$before\"}\")\n"
	"\tif [[ ${2-} == , ]]; then compopt -o nospace 2>/dev/null; fi\n"
	"}\n"
	"_cresset_files() { # [ENDING...]: files that end so and directories; if there are none, "
	"all files\n"
	"\tlocal ending\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\tmapfile -t COMPREPLY < <(for ending; do compgen -f -X \"!*$ending\" -- \"$cur\"; done"
	" | sort -u)\n"
	"\tif [[ ${#COMPREPLY[@]} -gt 0 ]]; then\n"
	"\t\tmapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- \"$cur\")\n"
	"\telse\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	"\tfi\n"
	"}\n"
	"_cresset_directories() {\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\tmapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n"
	"}\n"
	"_cresset_ids() { # PATTERN: the last part of what matches\n"
	"\tlocal path\n"
	"\tfor path in $1; do echo \"${path##*/}\"; done\n"
	"}\n"
	"_cresset() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command='' "
	"attached='' i word\n"
	"\tCOMPREPLY=()\n"
	"\tif [[ $cur == = ]]; then\n"
	"\t\tcur='' attached=1\n"
	"\telif [[ $prev == = ]]; then\n"
	"\t\tprev=${COMP_WORDS[COMP_CWORD-2]} attached=1\n"
	"\tfi\n"
	"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	"\t\tword=${COMP_WORDS[i]}\n"
	"\t\tcase $word:${COMP_WORDS[i-1]} in\n"
	"\t\t--:*) break ;;\n"
	"\t\t-* | =:* | *:= | *:--color) ;;\n"
	"\t\t*) if [[ -z $command ]]; then command=$word; fi ;;\n"
	"\t\tesac\n"
	"\tdone\n";

static const char tail[] =
	"\tesac\n"
	"}\n"
	"complete -F _cresset cresset\n";
/* clang-format on */

static void value(struct buf *b, const struct cmd_opt *o)
{
	const char *comma = completes_list(o) ? " ," : "";
	switch (completes_for(o)) {
	case COMPLETES_WORDS:
		buf_adds(b, "_cresset_words '");
		complete_words(b, o);
		buf_addf(b, "'%s; ", comma);
		break;
	case COMPLETES_FILES:
		buf_adds(b, "_cresset_files; ");
		break;
	case COMPLETES_DIRECTORIES:
		buf_adds(b, "_cresset_directories; ");
		break;
	case COMPLETES_PIDS:
		buf_addf(b, "_cresset_words \"$(_cresset_ids '/proc/[0-9]*')\"%s; ", comma);
		break;
	case COMPLETES_TIDS:
		buf_addf(b, "_cresset_words \"$(_cresset_ids '/proc/[0-9]*/task/*')\"%s; ", comma);
		break;
	case COMPLETES_NOTHING:
		break;
	}
}

/* Arguments of options: "record:-e | record:--event) …; return ;;" */
static void values(struct buf *b, const struct cmd *cmd, const struct cmd_opt *table)
{
	for (const struct cmd_opt *o = table; o && o->name; o++) {
		if (!o->arg)
			continue;
		const char *command = cmd ? cmd->name : "*";
		buf_adds(b, "\t");
		for (const char *c = o->shorts; c && *c; c++)
			buf_addf(b, "%s:-%c | ", command, *c);
		buf_addf(b, "%s:--%s) ", command, o->name);
		if (o->bare)
			buf_adds(b, "if [[ -n $attached ]]; then ");
		value(b, o);
		buf_adds(b, o->bare ? "return; fi ;;\n" : "return ;;\n");
	}
}

static void names(struct buf *b, const struct cmd_opt *table, const char *except)
{
	for (const struct cmd_opt *o = table; o && o->name; o++) {
		if (strcmp(o->name, except) == 0)
			continue;
		for (const char *c = o->shorts; c && *c; c++)
			buf_addf(b, " -%c", *c);
		buf_addf(b, " --%s", o->name);
	}
}

static void args(struct buf *b, const struct cmd *cmd, const struct cmd *const *all)
{
	buf_addf(b, "\t%s:*) ", cmd->name);
	if (completes_args(cmd) == COMPLETES_FILES) {
		buf_adds(b, "_cresset_files");
		complete_endings(b, " ", "");
	} else if (completes_args(cmd) == COMPLETES_WORDS) {
		buf_adds(b, "_cresset_words '");
		complete_args_words(b, cmd, all);
		buf_addc(b, '\'');
	}
	buf_adds(b, " ;;\n");
}

void completion_bash(struct buf *b, const struct cmd *const *all)
{
	buf_adds(b, head);
	/* After --: the program, then files. */
	buf_adds(b, "\tif [[ $word == -- && $i -lt $COMP_CWORD ]]; then\n\t\tcase $command in\n");
	for (const struct cmd *const *cmd = all; *cmd; cmd++)
		if ((*cmd)->runs_command)
			buf_addf(b,
				 "\t\t%s) if ((i + 1 == COMP_CWORD)); then mapfile -t COMPREPLY < "
				 "<(compgen -c -- \"$cur\"); else _cresset_files; fi ;;\n",
				 (*cmd)->name);
	buf_adds(b, "\t\tesac\n\t\treturn\n\tfi\n");
	buf_adds(b, "\tcase $command:$prev in\n");
	for (const struct cmd *const *cmd = all; *cmd; cmd++)
		values(b, *cmd, (*cmd)->options);
	values(b, NULL, global_options);
	buf_adds(b, "\tesac\n\tcase $command:$cur in\n\t:-*) _cresset_words '");
	names(b, global_options, "json");
	buf_adds(b, "' ;;\n\t:*) _cresset_words '");
	for (const struct cmd *const *cmd = all; *cmd; cmd++)
		buf_addf(b, "%s ", (*cmd)->name);
	buf_adds(b, "' ;;\n");
	for (const struct cmd *const *cmd = all; *cmd; cmd++) {
		buf_addf(b, "\t%s:-*) _cresset_words '", (*cmd)->name);
		names(b, (*cmd)->options, "");
		names(b, global_options, (*cmd)->has_json ? "" : "json");
		buf_adds(b, "' ;;\n");
		args(b, *cmd, all);
	}
	buf_adds(b, tail);
}
