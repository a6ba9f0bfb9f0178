/* tools/mkassets/bundle.h: modules joined into one script, for a page that is one file.
 *
 * Each module becomes a function, called once, those that it imports before it; what it exports is the object that it returns. So names stay
 * apart. import() of a path gives the same object, later. What this cannot say truly is refused: modules that import each other, exports that
 * change (let), of what has no name, or of everything of another; import.meta; await outside of functions (the script does not parse then). */
#ifndef CRESSET_TOOLS_BUNDLE_H
#define CRESSET_TOOLS_BUNDLE_H

#include "base/buf.h"

/* Appends the script. -1: what is wrong is on standard error. */
int bundle(const char *entry, bool keep_names, struct buf *out);

#endif
