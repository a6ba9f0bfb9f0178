/* tools/mkassets/names.h: short names for the variables of a script.
 *
 * A name is replaced wherever it stands, in the whole script where it is declared at the level of a module, else in the statement or
 * the member of a class that declares it; each by another one, that nothing else there has. So nothing need be known of scopes: what was equal stays
 * equal. Properties and what is declared nowhere keep their names. A name that is declared in one place of a statement and is the browser's in
 * another place of it would not: tests/web/mkassets.test.js compares what all names of the page mean. */
#ifndef CRESSET_TOOLS_NAMES_H
#define CRESSET_TOOLS_NAMES_H

#include "base/buf.h"

/* level: so many brackets are around what a module declares. Appends to out. What is wrong, or NULL. */
const char *names_shorten(const char *text, size_t len, unsigned level, struct buf *out);

#endif
