/* cmd/cli/config.h: options in a file: --config FILE.
 *
 * A command with a row of kind OPT_CONFIG also takes its options from a YAML file: a mapping of
 * long names to values, read by the same table. The command line overrides the file, and the file
 * overrides the defaults. Keys that are no options are rows of struct cmd's config_only. The table,
 * not YAML, parses numbers, sizes and times. */
#ifndef CRESSET_CMD_CLI_CONFIG_H
#define CRESSET_CMD_CLI_CONFIG_H

#include "cmd/cli/cmd.h"

#include <stdbool.h>

struct err;
struct parser;

/* Applies the file's values for options that are not on the command line; nothing without --config.
 * Returns -EINVAL, or the error of reading the file, with "FILE:LINE: words". */
int config_apply(struct parser *p);

/* The same command line, with the current content of the file. */
struct config_again {
	struct cmd_line line;
	void *opts;
	struct str_list changed; /* names of the options that differ */
};
/* line, opts: as passed to run(). Call config_again_done() only if this returned 0. */
int config_again(const struct cmd_line *line, const void *opts, struct config_again *out,
		 struct err *err);
void config_again_done(struct config_again *a);

/* --- internals of the option parser: options.c (the command line), config.c (the file) --- */

/* More than the rows of any table. */
enum { OPTIONS_MAX = 96 };

struct parser {
	struct cmd_line *line;
	void *opts;
	char **argv;
	int argc, next; /* next: index in argv of the next word to parse */
	bool seen[OPTIONS_MAX];
	const char *place; /* of the value, "cresset.yaml:7"; NULL: the command line */
	struct err *err;
};

/* Stores a value in base, where the row says. Returns -EINVAL with err set. */
int opt_store(struct parser *p, const struct cmd_opt *o, void *base, const char *value);

#endif
