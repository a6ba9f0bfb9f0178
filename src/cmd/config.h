/* cmd/config.h: options in a file: --config FILE.
 *
 * A command that has a row of kind OPT_CONFIG takes its options from a YAML file, too: a mapping of long names to values, by the same
 * table. What is typed wins over the file, the file over the defaults. Keys that cannot be typed are rows of struct
 * cmd's config_only. Numbers, sizes and times are read by the table, not by YAML. */
#ifndef CRESSET_CMD_CONFIG_H
#define CRESSET_CMD_CONFIG_H

#include "cmd/options.h"

/* Takes what the file says and nobody typed; nothing when there is no --config. -EINVAL, or why the file could not be
 * read, with "FILE:LINE: words". */
int config_apply(struct parser *p);

/* The same command line, with the file as it is now. */
struct config_again {
	struct cmd_line line;
	void *opts;
	struct str_list changed; /* names of the options that differ */
};
/* line, opts: as run() got them. config_again_done() after 0 only. */
int config_again(const struct cmd_line *line, const void *opts, struct config_again *out,
		 struct err *err);
void config_again_done(struct config_again *a);

/* cresset.yaml with every key of every command, each commented out with its default. */
void config_text(struct buf *b, const struct cmd *const *all);

#endif
