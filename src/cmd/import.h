/* cmd/import.h: files of any format into a folder of the store: cresset convert --data. */
#ifndef CRESSET_CMD_IMPORT_H
#define CRESSET_CMD_IMPORT_H

#include "cmd/cmd.h"

struct import_opts {
	const char *data;
	const char *from;       /* format; NULL: found by content */
	const char *at;         /* when files were recorded that do not say it; NULL: not told */
	struct str_list labels; /* K=V */
};

/* Reads line->args: files, and folders with all that is in them, by name. A file that cannot be read is named and passed over. What was
 * imported before is left as it is: a file is known by its content, with its labels and its time. Returns the exit status: CMD_BAD_INPUT
 * when a file was passed over. */
int import_files(struct cmd_line *line, const struct import_opts *opts);

#endif
