/* Finds and runs a command of a command. */
#include "base/buf.h"
#include "base/parse.h"
#include "cmd/cli/cmd.h"

#include <string.h>

static bool takes(const struct subcommand *s, size_t args)
{
	return s->args == SUB_SOME ? args >= 1 : s->args == SUB_MAYBE ? args <= 1 : args == s->args;
}

int subcommand_run(const struct cmd_line *line, const struct subcommand *table, const void *opts)
{
	const char *what = line->args.v[0];
	struct buf names = { 0 };

	for (const struct subcommand *s = table; s->name; s++) {
		buf_addf(&names, "%s%s", s == table ? "" : ", ", s->name);
		if (strcmp(what, s->name) != 0)
			continue;
		buf_done(&names);
		if (!takes(s, line->args.n - 1))
			return cmd_usage(line, s->args ? "%s takes %s" : "%s takes no argument",
					 s->name, s->takes);
		return s->run(line, opts);
	}
	int status = cmd_usage(line, "'%s' is not one of: %s", what, buf_cstr(&names));
	buf_done(&names);
	return status;
}

int cmd_pid(const struct cmd_line *line, const char *arg, uint32_t *pid)
{
	uint64_t v;

	if (parse_u64(arg, &v) < 0 || v == 0 || v > INT32_MAX)
		return cmd_usage(line, "'%s' is not a process id", arg);
	*pid = v;
	return CMD_OK;
}
