/* query/page.h: the answer to a question for a page in one file (format/html.h): with a timeline where there can be one. */
#ifndef CRESSET_QUERY_PAGE_H
#define CRESSET_QUERY_PAGE_H

#include "query/plan.h"

enum { PAGE_SAMPLES = 1 << 21 }; /* of a type, for a timeline of a store */

/* query_part (query/part.h) with what query_gpu_tracks adds: of a file always, of a store where all times are exact, of at most PAGE_SAMPLES, and within the
 * limits of memory. Else without times, and why says so in words; why->text is "" otherwise. Of snapshots query_part alone. ids_missing: as its own. */
int query_page(const struct query *q, const struct tree_opts *tree, bool is_file,
	       struct profile **out, bool *ids_missing, struct err *why, struct err *err);

#endif
