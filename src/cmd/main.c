/* The table of commands. Each is in the file of its name. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/cli/cmd.h"
#include "store/sqlite/db.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

static const struct cmd *const commands[] = {
	&cmd_up,     &cmd_agent,   &cmd_top,   &cmd_record,     &cmd_report, &cmd_flame,
	&cmd_diff,   &cmd_convert, &cmd_query, &cmd_sql,        &cmd_serve,  &cmd_token,
	&cmd_doctor, &cmd_gpu,     &cmd_mem,   &cmd_completion, &cmd_help,   NULL,
};

/* Handles -h, --help-all and --version, at any position. Returns true if one was given. */
static bool show_text(const struct cmd_line *line, int *status)
{
	const struct cmd_globals *g = &line->globals;
	struct buf b = { 0 };
	if (!g->version && !g->help && !g->help_all)
		return false;
	if (g->version)
		version_text(&b);
	else if (!line->cmd)
		help_program(&b, line->all);
	else if (g->help_all)
		help_all(&b, line->cmd);
	else
		help_basic(&b, line->cmd);
	*status = cmd_print(&b);
	return true;
}

/* Shows libbpf's messages at debug level only: they repeat errors that we report. A verifier's log
 * is one message of many lines. */
static int on_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *text = NULL;
	if (log_level() < LOG_DEBUG || level == LIBBPF_DEBUG)
		return 0;
	if (vasprintf(&text, fmt, ap) >= 0)
		log_lines(LOG_DEBUG, text);
	free(text);
	return 0;
}

static void settle_globals(struct cmd_line *line)
{
	const struct cmd_globals *g = &line->globals;
	int level = g->quiet ? LOG_QUIET : LOG_NORMAL + g->verbose;
	log_set_level(level > LOG_DEBUG ? LOG_DEBUG : level);
	setlocale(LC_CTYPE, ""); /* texts that are shown without a command are ASCII */
	term_init(&line->term, g->color);
	libbpf_set_print(on_libbpf);
	db_save_memory();
}

static int run_command(struct cmd_line *line, int argc, char **argv)
{
	struct err err = { 0 };
	line->at = line->argc - argc;
	line->cmd = cmd_find(line->all, argv[0], &err);
	if (!line->cmd)
		return cmd_fail(CMD_USAGE, &err);
	void *opts = arena_zalloc(&line->arena, line->cmd->opts_size);
	int status;
	if (options_parse(line, argc, argv, opts, &err) < 0)
		status = cmd_fail(CMD_USAGE, &err);
	else if (!show_text(line, &status)) {
		settle_globals(line);
		status = line->cmd->run(line, opts);
	}
	return status;
}

int main(int argc, char **argv)
{
	struct cmd_line line = { .all = commands, .argc = argc, .argv = argv };
	struct err err = { 0 };
	int at = options_parse_globals(&line, argc, argv, &err);
	int status = CMD_USAGE;
	if (at < 0)
		status = cmd_fail(CMD_USAGE, &err);
	else if (at < argc)
		status = run_command(&line, argc - at, argv + at);
	else if (!show_text(&line, &status)) {
		err_set(&err, EINVAL, "no command given");
		err_hint(&err, "cresset --help lists the commands");
		status = cmd_fail(CMD_USAGE, &err);
	}
	arena_done(&line.arena);
	return status;
}
