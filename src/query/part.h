/* query/part.h: the response as a profile, for files and heatmaps. */
#ifndef CRESSET_QUERY_PART_H
#define CRESSET_QUERY_PART_H

#include <stdbool.h>

struct err;
struct profile;
struct query;
struct tree_opts;

/* Sets *out to q->tree with the labels of q->by as root frames. -EINVAL: files support only the
 * labels in tree_by_names. */
int query_root_frames(const struct query *q, struct tree_opts *out, struct err *err);

/* Sets the default root frames of graphs and folded stacks: thread names, if known. */
void query_default_frames(const struct profile *p, struct tree_opts *out);

/* Like query_profile, but applies the filters of tree and adds its root frames to the stacks. */
int query_part(const struct query *q, const struct tree_opts *tree, bool with_times,
	       struct profile **out, bool *ids_missing, struct err *err);

#endif
