/* cmd/load_file.h: one file read into a profile, with names from this machine where its format has
 * none. */
#ifndef CRESSET_CMD_LOAD_FILE_H
#define CRESSET_CMD_LOAD_FILE_H

#include "format/format.h"

/* as: the format, NULL: found by content. What could not be named, and why, is said on standard
 * error. Errors are those of format_read_file. */
int load_file(const char *path, const struct format *as, struct profile *p, struct err *err);

#endif
