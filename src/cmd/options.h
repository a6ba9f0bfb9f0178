/* cmd/options.h: the inside of the option parser, for the two files it is in: options.c (what is typed) and config.c (what
 * a file says). */
#ifndef CRESSET_CMD_OPTIONS_H
#define CRESSET_CMD_OPTIONS_H

#include "cmd/cmd.h"

/* More rows than any table has. */
enum { OPTIONS_MAX = 96 };

struct parser {
	struct cmd_line *line;
	void *opts;
	char **argv;
	int argc, next; /* next: index in argv of what was not looked at yet */
	bool seen[OPTIONS_MAX];
	const char *place; /* of the value, "cresset.yaml:7"; NULL: it was typed */
	struct err *err;
};

/* Stores a value where the row says, in base. -EINVAL with words. */
int opt_store(struct parser *p, const struct cmd_opt *o, void *base, const char *value);

#endif
