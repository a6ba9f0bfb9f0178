/* cmd/data.h: what is behind --data: the folder of a store, or any file that can be read. */
#ifndef CRESSET_CMD_DATA_H
#define CRESSET_CMD_DATA_H

#include "cmd/cmd.h"
#include "query/source.h"

/* path may be NULL: that is said. CMD_OK with *source (source_close) and, of a file, *file (profile_free, afterwards; else NULL); or the exit
 * status with the error printed. */
int data_open(const struct cmd_line *line, const char *path, struct profile **file,
	      struct source **source);

/* When all was asked: a warning where files of days were left out. source: NULL is fine. */
void data_say_left_out(struct source *source);

#endif
