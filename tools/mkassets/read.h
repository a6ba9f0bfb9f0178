/* tools/mkassets/read.h: reading and writing whole files. */
#ifndef CRESSET_TOOLS_READ_H
#define CRESSET_TOOLS_READ_H

#include "base/buf.h"

/* Both return -1 on failure, with the reason on standard error. */
int read_file(const char *path, struct buf *out);
int write_file(const char *path, const void *data, size_t len);

#endif
