/* tools/mkassets/pack.h: the modules of a page put together into few files, so that a browser asks for few, and they pack well.
 *
 * A pack is a module at the address of the first of its entries, which exports what that one does. There is one for each group of entries that
 * is asked for, one for each module that import() names beside, and one for each that several of those need; what one pack alone
 * needs is in it. A pack takes modules of another from there, by names made of their paths: of different builds, they do not fit. */
#ifndef CRESSET_TOOLS_PACK_H
#define CRESSET_TOOLS_PACK_H

#include <stdbool.h>

enum { PACKS_MAX = 64 };

/* Below dir, at the paths that they have below web. A group: "page/a.js+page/b.js"; the first entry of the first one starts the page, and what that
 * group needs is in its pack. -1: what is wrong is on standard error. */
int pack(const char *web, const char *dir, char *const *groups, int n, bool keep_names);

#endif
