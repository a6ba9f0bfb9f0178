/* cmd/format_name.h: formats as people name them on a command line, and what there is. */
#ifndef CRESSET_CMD_FORMAT_NAME_H
#define CRESSET_CMD_FORMAT_NAME_H

#include "base/buf.h"
#include "format/format.h"

enum format_use { FORMAT_READS = 1, FORMAT_WRITES = 2 };

/* Whether a format does any of these uses. */
bool format_does(const struct format *f, unsigned uses);

/* The format called name, if it does this. NULL with words, and the nearest name, in err. */
const struct format *format_asked(const char *name, enum format_use use, struct err *err);

/* Appends the names of all that do any of these, with separator between them. */
void format_names(struct buf *b, unsigned uses, const char *separator);

#endif
