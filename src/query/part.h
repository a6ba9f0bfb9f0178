/* query/part.h: the answer as a profile of its own, as files and heatmaps want it. */
#ifndef CRESSET_QUERY_PART_H
#define CRESSET_QUERY_PART_H

#include "query/plan.h"

/* q->tree, with the labels of q->by as root frames, of which files know fewer (tree_by_names). -EINVAL with words. */
int query_root_frames(const struct query *q, struct tree_opts *out, struct err *err);

/* The names of threads, where they are known: what pictures and folded stacks have in front when nobody says otherwise. */
void query_default_frames(const struct profile *p, struct tree_opts *out);

/* query_profile of what passes the filters of tree, whose root frames are then frames of the stacks. */
int query_part(const struct query *q, const struct tree_opts *tree, bool with_times,
	       struct profile **out, bool *ids_missing, struct err *err);

#endif
