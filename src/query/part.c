/* Copies selected samples to a new profile. */
#include "query/part.h"

#include "base/err.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/tree/select.h"
#include "query/plan.h"
#include "query/query.h"

#include <errno.h>
#include <string.h>

int query_root_frames(const struct query *q, struct tree_opts *out, struct err *err)
{
	struct tree_opts tree = q->tree;
	tree.n_by = 0;
	for (uint32_t i = 0; i < q->n_by; i++) {
		int key = BY_NONE + 1;
		while (key < BY_KEYS && strcmp(tree_by_names[key], q->by[i]) != 0)
			key++;
		if (key == BY_KEYS || tree.n_by == TREE_BY_MAX)
			return err_set(err, EINVAL,
				       "root frames in a file are: comm pid tid process cpu "
				       "container pod namespace unit user executable service, at "
				       "most %d; not '%s'",
				       TREE_BY_MAX, q->by[i]);
		tree.by[tree.n_by++] = key;
	}
	*out = tree;
	return 0;
}

void query_default_frames(const struct profile *p, struct tree_opts *out)
{
	uint32_t comm = strtab_find(&p->strings, "comm");
	for (size_t i = 0; comm != UINT32_MAX && i < p->series.series.n; i++) {
		if (!label_find(&p->series, p->series.series.v[i].labels, comm))
			continue;
		out->by[0] = BY_COMM;
		out->n_by = 1;
		return;
	}
}

static bool has_filters(const struct tree_opts *t)
{
	return t->focus || t->ignore || t->hide || t->no_kernel || t->no_user || t->n_by;
}

int query_part(const struct query *q, const struct tree_opts *tree, bool with_times,
	       struct profile **out, bool *ids_missing, struct err *err)
{
	struct select_opts select = { .tree = *tree };
	struct profile *whole;
	int rc = query_profile(q, with_times, &whole, ids_missing, err);
	if (rc < 0)
		return rc;
	if (!has_filters(tree)) {
		*out = whole;
		return 0;
	}
	rc = profile_select(whole, &select, out, err);
	profile_free(whole);
	return rc;
}
