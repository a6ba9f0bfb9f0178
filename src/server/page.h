/* server/page.h: the page's files. */
#ifndef CRESSET_SERVER_PAGE_H
#define CRESSET_SERVER_PAGE_H

#include "base/err.h"

#include <stdbool.h>

/* Whether a path may be one of the page's: whether it is there the handler says. */
bool page_has(const char *path);

/* A folder whose files are served in place of those in the program. */
int page_open_dir(const char *dir, int *fd, struct err *err);

#endif
