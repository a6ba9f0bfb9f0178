/* tools/mkassets/strip.h: text without comments, indentation, empty lines, and of JavaScript blanks that say nothing. A comment that begins with an exclamation mark stays, as a licence does. */
#ifndef CRESSET_TOOLS_STRIP_H
#define CRESSET_TOOLS_STRIP_H

#include "base/buf.h"

/* By the ending of name: .js, .css, .html; others come out as they are. Appends to out. What is wrong, or NULL. */
const char *strip(const char *name, const char *text, size_t len, struct buf *out);

#endif
