/* tools/mkassets/read.h: whole files. */
#ifndef CRESSET_TOOLS_READ_H
#define CRESSET_TOOLS_READ_H

#include "base/buf.h"

/* -1: what is wrong is on standard error. */
int read_file(const char *path, struct buf *out);
int write_file(const char *path, const void *data, size_t len);

#endif
