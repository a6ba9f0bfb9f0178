/* query/column_error.h: what is wrong with a text that somebody typed, and where. */
#ifndef CRESSET_QUERY_COLUMN_ERROR_H
#define CRESSET_QUERY_COLUMN_ERROR_H

#include "base/err.h"

/* "selector, column 5: WHAT" (from 1, in bytes; from the second line on "SQL, line 2, column 5: …"), and in the hint the line around the place with a mark under it. where points into text.
 * -EINVAL. */
int column_error(struct err *err, const char *of, const char *text, const char *where,
		 const char *what);

#endif
