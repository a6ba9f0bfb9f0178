/* cmd/top_rows.h: the profile that cresset top collects into, as a source that is made anew each second at no cost.
 *
 * source_of_profile sorts all samples first, so that many questions can be put to it. A picture puts one or two, mostly for all samples of the
 * window: here they are gone through as they lie. Other questions go to a source of the first kind, which is made when there is one. */
#ifndef CRESSET_CMD_TOP_ROWS_H
#define CRESSET_CMD_TOP_ROWS_H

#include "query/source.h"

/* p stays the caller's and must not change. All its samples have times. */
struct source *top_rows_open(struct profile *p);

#endif
